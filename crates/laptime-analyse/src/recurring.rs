//! Recurring: what comes back in a training, such as what follows each epoch, and what many more of it take.

use crate::statistics::{Spread, lag_one_correlation, t_width};
use crate::time_left::{LEVEL, MOST_CORRELATION, inflation};

/// How far the next one may be off from one that was seen only once, as a share of it.
pub(crate) const SEEN_ONCE: f64 = 0.5;
/// Fewer degrees of freedom are taken for these: an interval of one would say nothing.
const FEWEST_DEGREES: f64 = 2.0;

/// What comes back; seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Recurring {
    /// Mean of one.
    pub(crate) each_s: f64,
    /// How far one is from another, standard deviation.
    deviation_s: f64,
    /// As many of them that do not resemble their neighbours would say as much.
    seen: f64,
}

impl Recurring {
    /// Of those that were seen, in time order; `None` of nothing. Neighbours that resemble each other count less.
    pub(crate) fn of(costs: &[f64]) -> Option<Self> {
        let count = costs.len() as f64;
        let correlation = lag_one_correlation(costs).clamp(0.0, MOST_CORRELATION);
        Self::of_spread(&Spread::of(costs))
            .map(|all| Self { seen: count / inflation(count, correlation), ..all })
    }

    /// Of those that were seen, where their order is not known.
    pub(crate) fn of_spread(costs: &Spread) -> Option<Self> {
        let (each_s, seen) = (costs.mean()?, costs.count as f64);
        let least = SEEN_ONCE * each_s / seen;
        let few = t_width(LEVEL, (seen - 1.0).max(FEWEST_DEGREES)) / t_width(LEVEL, f64::from(u32::MAX));
        let deviation_s = match costs.variance() {
            Some(variance) => (few * variance.sqrt()).max(if seen < 3.0 { least } else { 0.0 }),
            None => least,
        };
        Some(Self { each_s, deviation_s, seen })
    }

    /// Of something that is only supposed to take so long, and may be off by such a share of it.
    pub(crate) fn supposed(each_s: f64, off: f64) -> Self {
        Self { each_s, deviation_s: off * each_s, seen: 1.0 }
    }

    /// The same for each of the steps of which so many come with one.
    pub(crate) fn spread_over(self, steps: f64) -> Self {
        Self {
            each_s: self.each_s / steps,
            deviation_s: self.deviation_s / steps.sqrt(),
            seen: self.seen * steps,
        }
    }

    /// The standard error of what so many more take together: they differ from each other, and their mean from the one
    /// that was seen.
    pub(crate) fn error_s(&self, times: f64) -> f64 {
        if times <= 0.0 || self.seen <= 0.0 {
            return 0.0;
        }
        self.deviation_s * times * (1.0 / self.seen + 1.0 / times).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_was_seen_once_may_be_half_as_much_or_more() {
        let once = Recurring::of(&[2.0]).unwrap();
        assert_eq!(once, Recurring::supposed(2.0, SEEN_ONCE));
        assert!((once.error_s(1e9) / 1e9 - 1.0).abs() < 1e-6);
        assert_eq!((Recurring::of(&[]), once.error_s(0.0)), (None, 0.0));
    }

    #[test]
    fn what_was_seen_often_is_known_and_many_to_come_even_out() {
        let costs: Vec<f64> = (0..400).map(|at| if at % 4 == 0 { 4.0 } else { 1.0 }).collect();
        let known = Recurring::of(&costs).unwrap();
        assert!((known.each_s - 1.75).abs() < 1e-9);
        // A standard deviation of 1.3 each: 26 for 400 more, and as much for what is not known of the mean.
        assert!((35.0..40.0).contains(&known.error_s(400.0)), "{}", known.error_s(400.0));
    }

    #[test]
    fn neighbours_that_resemble_each_other_say_less() {
        let jump: Vec<f64> = (0..20).map(|at| if at < 10 { 1.0 } else { 2.0 }).collect();
        let mixed: Vec<f64> = (0..20).map(|at| if at % 2 == 0 { 1.0 } else { 2.0 }).collect();
        let error = |costs: &[f64]| Recurring::of(costs).unwrap().error_s(1_000.0);
        assert!(error(&jump) > 2.0 * error(&mixed));
    }

    #[test]
    fn spread_over_steps_it_is_as_much_and_as_uncertain() {
        let costs = Recurring::of(&[1.0, 1.5, 0.8, 1.2]).unwrap();
        let steps = costs.spread_over(50.0);
        assert!((steps.each_s * 50.0 - costs.each_s).abs() < 1e-12);
        assert!((steps.error_s(500.0) - costs.error_s(10.0)).abs() < 1e-9);
    }
}
