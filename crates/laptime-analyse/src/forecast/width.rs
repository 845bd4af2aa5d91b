//! Width: how wide an interval is, and what makes it so.

use laptime_core::Estimate;

use super::document::{Cause, WidthCause};
use super::past::Past;
use crate::statistics::{mean, t_width, variance};
use crate::time_left::LEVEL;

/// Half the width of the widest interval in logarithms: a factor of 20 either way says that nothing is known.
const WIDEST: f64 = 3.0;
/// Half the width of nine of ten in standard deviations.
pub(super) const NINE_OF_TEN: f64 = 1.645;
/// Shares below this are not worth a line.
const SMALL: f64 = 0.01;

/// Variances of a sum of times, by their causes; seconds squared.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Variance(Vec<(Cause, f64)>);

impl Variance {
    /// Adds what a standard deviation in seconds makes.
    pub(super) fn add(&mut self, cause: Cause, deviation_s: f64) {
        let variance = deviation_s * deviation_s;
        match self.0.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum += variance,
            None => self.0.push((cause, variance)),
        }
    }

    /// Half the width of the interval around a mean in logarithms.
    pub(super) fn width(&self, mean: f64, degrees: f64) -> f64 {
        let deviation = self.sum().sqrt();
        let relative = if mean > 0.0 { deviation / mean } else { 0.0 };
        (t_width(LEVEL, degrees) * relative).min(WIDEST)
    }

    /// The causes with their shares, the largest first.
    pub(super) fn causes(&self) -> Vec<WidthCause> {
        let sum = self.sum();
        let share = |(cause, variance): &(Cause, f64)| WidthCause { cause: *cause, share: variance / sum };
        let mut causes: Vec<WidthCause> =
            self.0.iter().filter(|(_, variance)| *variance >= SMALL * sum && sum > 0.0).map(share).collect();
        let shown: f64 = causes.iter().map(|cause| cause.share).sum();
        causes.iter_mut().for_each(|cause| cause.share /= shown);
        causes.sort_by(|a, b| b.share.total_cmp(&a.share));
        causes
    }

    fn sum(&self) -> f64 {
        self.0.iter().map(|(_, variance)| variance).sum()
    }
}

/// The interval that is so wide in logarithms, symmetric in ratios.
pub(super) fn around(mean: f64, width: f64) -> Estimate {
    let factor = width.exp();
    Estimate { mean, low: mean / factor, high: mean * factor, level: LEVEL }
}

/// The share of the steps' variance that waiting for CPUs explains, if that comes and goes; 0 to 1.
pub(super) fn by_others(past: &Past<'_>) -> f64 {
    let passes = &past.run.passes;
    let stretch = passes.own.stretch().or_else(|| passes.tree.stretch());
    let waited = stretch.map(|stretch| 1.0 - 1.0 / stretch.max(1.0));
    let lost = waited.or_else(|| past.run.contention()).unwrap_or(0.0);
    let means = &past.pace.means;
    let relative = variance(means).zip(mean(means)).map(|(variance, mean)| variance / (mean * mean));
    match relative {
        Some(relative) if relative > 0.0 => (lost * lost / relative).min(1.0),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_the_largest_is_first() {
        let mut variance = Variance::default();
        variance.add(Cause::FewSteps, 1.0);
        variance.add(Cause::OtherPrograms, 2.0);
        variance.add(Cause::FewSteps, 1.0);
        variance.add(Cause::Extrapolation, 0.01);
        let causes = variance.causes();
        let found: Vec<(Cause, i32)> =
            causes.iter().map(|one| (one.cause, (one.share * 100.0).round() as i32)).collect();
        assert_eq!(found, [(Cause::OtherPrograms, 67), (Cause::FewSteps, 33)]);
        assert!(Variance::default().causes().is_empty());
    }

    #[test]
    fn an_interval_is_finite_however_little_is_known() {
        let mut variance = Variance::default();
        variance.add(Cause::StepsVary, 1e9);
        let estimate = around(1.0, variance.width(1.0, 2.0));
        assert!(estimate.low > 0.04 && estimate.high < 21.0, "{estimate:?}");
    }
}
