//! The link to a place: how long it takes to answer, and how fast it delivers on how many streams.

mod curve;
mod passing;
mod probe;
mod round;
mod streams;

use serde::Serialize;

use crate::survey::Amount;

pub use passing::Passing;
pub use probe::{ProbeLimits, probe};
pub use streams::StreamRate;

/// What a link does, measured with the place's own objects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkLink {
    /// As in a URL.
    pub protocol: &'static str,
    /// Until a connection stands, the median.
    pub connect_s: f64,
    /// Agreeing on encryption, the median; `None` without any.
    pub tls_s: Option<f64>,
    /// Logging in, the median; `None` where the protocol has none.
    pub login_s: Option<f64>,
    /// From a request until the first byte of its answer, the median.
    pub first_byte_s: f64,
    /// What an object takes besides its bytes, the median.
    pub object_s: f64,
    /// Rates by streams, the fewest first.
    pub rates: Vec<StreamRate>,
    /// Streams beyond which more gain nothing that could be measured.
    pub streams: u32,
    /// Whether rates still rose when the limits of measuring were reached: there is more than was seen.
    pub ramping: bool,
    /// Bytes that were fetched to find out.
    pub measured_bytes: u64,
    /// Time that it took to find out.
    pub measured_s: f64,
    /// How much smaller its bytes become with deflate, from a mebibyte of them; `None` of an empty place.
    pub deflated_share: Option<f64>,
}

impl NetworkLink {
    /// The rate on the proposed number of streams.
    #[must_use]
    pub fn best(&self) -> Option<&StreamRate> {
        self.rates.iter().find(|rate| rate.streams == self.streams)
    }

    /// The rate of the fastest number of streams: all that the link gives.
    #[must_use]
    pub fn most_bytes_per_s(&self) -> Option<Amount> {
        self.rates.iter().map(|rate| rate.bytes_per_s).max_by(|a, b| a.mean.total_cmp(&b.mean))
    }
}
