//! Estimates: numbers that are expected rather than known.

use serde::Serialize;

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The expected value.
    pub mean: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The share of such intervals that hold the truth, such as 0.95.
    pub level: f64,
}
