//! When to read the probes again.

use std::time::{Duration, Instant};

/// How often the probes are read.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// When to read the probes again.
pub(crate) struct Timer {
    due: Instant,
}

impl Timer {
    /// In a second.
    pub(crate) fn every_second() -> Self {
        Self { due: Instant::now() + SAMPLE_EVERY }
    }

    /// How long it is until then.
    pub(crate) fn left(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Whether it is time, which it then is again a second later.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.left().is_zero();
        if due {
            *self = Self::every_second();
        }
        due
    }
}
