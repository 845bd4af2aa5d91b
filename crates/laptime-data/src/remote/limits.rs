//! How long a place may take before it is given up.

use std::time::Duration;

/// How long a place may take before it is given up. Nothing waits longer than these, whatever the other side does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a connection to stand, and again for encryption and for logging in.
    pub connect: Duration,
    /// Without a single byte.
    pub silence: Duration,
    /// For an answer, besides a second for each [`Limits::SLOWEST`] bytes of it.
    pub answer: Duration,
}

impl Limits {
    /// Bytes a second below which an answer is given up: a byte a second is a server that wants us to wait.
    pub const SLOWEST: u64 = 8 << 10;

    /// How long an answer of so many bytes may take.
    pub(crate) fn for_bytes(&self, bytes: u64) -> Duration {
        self.answer + Duration::from_secs(bytes / Self::SLOWEST)
    }
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), silence: seconds(15), answer: seconds(30) }
    }
}
