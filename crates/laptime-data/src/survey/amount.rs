//! Amount: an estimate of how much there is, or the count itself.

use std::ops::Deref;

use laptime_core::Estimate;
use serde::Serialize;

/// The level of every interval a survey gives.
pub(crate) const LEVEL: f64 = 0.95;

/// How many standard errors the interval reaches to both sides, at [`LEVEL`] and from many draws.
pub(crate) const REACH: f64 = 1.96;

/// How much there is, counted or estimated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Amount {
    /// The number with its interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Whether it was counted and not estimated; its interval has no width then.
    pub exact: bool,
}

impl Deref for Amount {
    type Target = Estimate;

    fn deref(&self) -> &Estimate {
        &self.estimate
    }
}

impl Amount {
    /// A number that was counted.
    pub(crate) fn counted(number: u64) -> Self {
        let mean = number as f64;
        Self { exact: true, ..Self::between(mean, mean, mean) }
    }

    /// A number that was estimated, with its interval.
    pub(crate) fn between(low: f64, mean: f64, high: f64) -> Self {
        Self { estimate: Estimate { mean, low, high, level: LEVEL }, exact: false }
    }

    /// A number with its standard error, never below `least`.
    pub(crate) fn with_error(mean: f64, standard_error: f64, least: f64) -> Self {
        let reach = REACH * standard_error;
        let low = (mean - reach).max(least);
        Self::between(low, mean.max(low), (mean + reach).max(low))
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        self.with_each(|number| number * factor)
    }

    /// What a number must be divided by this one give: a time from a rate.
    pub(crate) fn dividing(self, number: f64) -> Self {
        let turned = self.with_each(|own| number / own);
        let Estimate { low, high, .. } = turned.estimate;
        Self { estimate: Estimate { low: high, high: low, ..turned.estimate }, ..turned }
    }

    /// So much more; the interval keeps its width.
    pub(crate) fn shifted(self, by: f64) -> Self {
        self.with_each(|number| number + by)
    }

    /// Both together; their errors are independent.
    pub(crate) fn plus(self, other: Self) -> Self {
        let reach = |of: fn(&Estimate) -> f64| of(&self).hypot(of(&other));
        let mean = self.mean + other.mean;
        let low = mean - reach(|estimate| estimate.mean - estimate.low);
        let high = mean + reach(|estimate| estimate.high - estimate.mean);
        let estimate = Estimate { mean, low, high, level: self.level };
        Self { estimate, exact: self.exact && other.exact }
    }

    fn with_each(self, change: impl Fn(f64) -> f64) -> Self {
        let Estimate { mean, low, high, level } = self.estimate;
        let estimate = Estimate { mean: change(mean), low: change(low), high: change(high), level };
        Self { estimate, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_errors_add_up_as_squares() {
        let (a, b) = (Amount::with_error(100.0, 3.0, 0.0), Amount::with_error(50.0, 4.0, 0.0));
        let sum = a.plus(b);
        assert_eq!(sum.mean, 150.0);
        assert!((sum.high - (150.0 + REACH * 5.0)).abs() < 1e-9, "{sum:?}");
        assert!(!sum.exact && Amount::counted(1).plus(Amount::counted(2)).exact);
    }

    #[test]
    fn what_was_seen_is_the_least_that_there_is() {
        let estimate = Amount::with_error(10.0, 8.0, 7.0);
        assert_eq!(estimate.low, 7.0);
    }

    #[test]
    fn a_time_from_a_rate_turns_the_interval_around() {
        let rate = Amount::between(5.0, 10.0, 20.0);
        let time = rate.dividing(100.0);
        assert_eq!((time.low, time.mean, time.high), (5.0, 10.0, 20.0));
    }
}
