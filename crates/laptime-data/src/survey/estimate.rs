//! An estimate with its interval, and how far it can be trusted.

use serde::Serialize;

/// The level of every interval a survey gives.
pub(crate) const LEVEL: f64 = 0.95;

/// How many standard errors the interval reaches to both sides, at [`LEVEL`] and from many draws.
pub(crate) const REACH: f64 = 1.96;

/// A number that is known exactly or estimated, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The expected value.
    pub mean: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The share of such intervals that hold the truth.
    pub level: f64,
    /// Whether it was counted and not estimated; its interval has no width then.
    pub exact: bool,
}

impl Estimate {
    /// A number that was counted.
    pub(crate) fn counted(number: u64) -> Self {
        let mean = number as f64;
        Self { mean, low: mean, high: mean, level: LEVEL, exact: true }
    }

    /// A number with its standard error, never below `least`.
    pub(crate) fn with_error(mean: f64, standard_error: f64, least: f64) -> Self {
        let reach = REACH * standard_error;
        let low = (mean - reach).max(least);
        Self { mean: mean.max(low), low, high: (mean + reach).max(low), level: LEVEL, exact: false }
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, low: self.low * factor, high: self.high * factor, ..self }
    }

    /// What a number must be divided by this one give: a time from a rate.
    pub(crate) fn dividing(self, number: f64) -> Self {
        Self { mean: number / self.mean, low: number / self.high, high: number / self.low, ..self }
    }

    /// Both together; their errors are independent.
    pub(crate) fn plus(self, other: Self) -> Self {
        let reach = |of: fn(&Self) -> f64| of(&self).hypot(of(&other));
        let mean = self.mean + other.mean;
        Self {
            mean,
            low: mean - reach(|estimate| estimate.mean - estimate.low),
            high: mean + reach(|estimate| estimate.high - estimate.mean),
            level: self.level,
            exact: self.exact && other.exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_errors_add_up_as_squares() {
        let (a, b) = (Estimate::with_error(100.0, 3.0, 0.0), Estimate::with_error(50.0, 4.0, 0.0));
        let sum = a.plus(b);
        assert_eq!(sum.mean, 150.0);
        assert!((sum.high - (150.0 + REACH * 5.0)).abs() < 1e-9, "{sum:?}");
        assert!(!sum.exact && Estimate::counted(1).plus(Estimate::counted(2)).exact);
    }

    #[test]
    fn what_was_seen_is_the_least_that_there_is() {
        let estimate = Estimate::with_error(10.0, 8.0, 7.0);
        assert_eq!(estimate.low, 7.0);
    }

    #[test]
    fn a_time_from_a_rate_turns_the_interval_around() {
        let rate = Estimate { mean: 10.0, low: 5.0, high: 20.0, level: LEVEL, exact: false };
        let time = rate.dividing(100.0);
        assert_eq!((time.low, time.mean, time.high), (5.0, 10.0, 20.0));
    }
}
