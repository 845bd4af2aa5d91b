//! The mean of a series whose neighbours resemble each other, and how wrong it may be.

use super::run::FitSteps;
use crate::statistics::{lag_one_correlation, mean, variance};
use crate::step_series::joined;
use crate::time_left::{MOST_CORRELATION, UNSEEN, inflation, unseen};

/// Stretches the steps are looked at in: many see short bursts well, few see slow ones. The widest error counts.
const STRETCHES: [usize; 3] = [24, 12, 8];
/// Fewer steps after the warm-up give no interval.
pub(super) const FEWEST_STEPS: u64 = 12;
/// Fewer stretches than this say nothing of their noise.
const FEWEST_STRETCHES: usize = 4;
/// Stretches in which a wandering machine shows.
const WANDER_STRETCHES: usize = 8;

/// A mean, and how wrong it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    /// Seconds.
    pub(super) seconds: f64,
    /// Its error; absent where too little was seen.
    pub(super) error: Option<MeanError>,
}

/// How wrong a mean may be; all as a share of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeanError {
    /// Standard error by the noise within the run.
    pub(super) relative: f64,
    /// Degrees of freedom behind it.
    pub(super) degrees: f64,
    /// How far another run may be off by what changes slowly, standard deviation.
    pub(super) wander: f64,
}

/// Mean time of the steps of a fit after its warm-up; `None` without steps.
pub(super) fn mean_step(fit: &FitSteps) -> Option<Mean> {
    let (ticks, steps) =
        fit.steady.iter().fold((0.0, 0.0), |(t, s), block| (t + block.ticks as f64, s + block.steps as f64));
    let seconds = ticks / steps * fit.tick_s;
    let stretches = |groups| -> Vec<f64> {
        joined(&fit.steady, groups).iter().map(|block| block.mean_ticks() * fit.tick_s).collect()
    };
    let enough = fit.steady_steps() >= FEWEST_STEPS;
    let widest = || {
        // A stretch of two steps says little of a moment.
        let groups = STRETCHES.into_iter().map(|most| most.min(fit.steady.len() / 2).max(FEWEST_STRETCHES));
        let errors = groups.filter_map(|groups| relative_error(&stretches(groups)));
        let (relative, degrees) = errors.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let steps: Vec<f64> = fit.steady.iter().map(|block| block.mean_ticks() * fit.tick_s).collect();
        Some(MeanError { relative, degrees, wander: wander(&steps).max(unseen(ticks * fit.tick_s)) })
    };
    (seconds.is_finite() && seconds > 0.0)
        .then(|| Mean { seconds, error: Some(()).filter(|()| enough).and_then(|()| widest()) })
}

/// Mean of values in time order, one for each lap.
pub(super) fn mean_of_laps(values: &[f64]) -> Option<Mean> {
    let seconds = mean(values)?;
    let error = relative_error(values).map(|(relative, degrees)| MeanError {
        relative,
        degrees,
        wander: wander(values).max(UNSEEN),
    });
    Some(Mean { seconds, error })
}

/// Standard error of the mean of values in time order as a share of it, and its degrees of freedom; `None` of fewer
/// than four.
///
/// Neighbours that resemble each other make the values worth fewer independent ones, and hide part of their variance.
pub(super) fn relative_error(values: &[f64]) -> Option<(f64, f64)> {
    let mean = mean(values).filter(|mean| *mean > 0.0)?;
    if values.len() < FEWEST_STRETCHES {
        return None;
    }
    let (count, spread) = (values.len() as f64, variance(values)?);
    // A short series underestimates its own correlation (Kendall 1954).
    let seen = lag_one_correlation(values);
    let correlation = (seen + (1.0 + 3.0 * seen) / count).clamp(0.0, MOST_CORRELATION);
    let past = inflation(count, correlation);
    let full = spread / (1.0 - past / count).max(0.25);
    Some(((full * past / count).max(0.0).sqrt() / mean, (count / past - 1.0).max(2.0)))
}

/// Standard deviation of the means of stretches beyond what the noise of single values explains, as a share of the
/// mean: a machine that is so much faster in one stretch than in another may be so in one run, too.
fn wander(values: &[f64]) -> f64 {
    let stretches: Vec<f64> = (0..WANDER_STRETCHES)
        .filter_map(|at| {
            mean(&values[at * values.len() / WANDER_STRETCHES..(at + 1) * values.len() / WANDER_STRETCHES])
        })
        .collect();
    let (Some(mean), Some(seen)) = (mean(values).filter(|mean| *mean > 0.0), variance(&stretches)) else {
        return 0.0;
    };
    // Neighbours differ by noise alone, however slowly their level changes (von Neumann 1941).
    let squares: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let noise = squares / (2.0 * (values.len() - 1) as f64);
    let explained = noise * stretches.len() as f64 / values.len() as f64;
    (seen - explained).max(0.0).sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_independent_values_is_the_textbook_one() {
        let values: Vec<f64> = (0..24).map(|at| 10.0 + f64::from(at * 7 % 24) / 12.0).collect();
        let plain = (variance(&values).unwrap() / 24.0).sqrt() / mean(&values).unwrap();
        let (error, degrees) = relative_error(&values).unwrap();
        assert!((error / plain - 1.0).abs() < 0.3 && degrees > 10.0, "{error} {plain} {degrees}");
    }

    #[test]
    fn neighbours_that_resemble_each_other_widen_the_error() {
        let slow: Vec<f64> = (0..24).map(|at| 10.0 + (f64::from(at) / 4.0).sin()).collect();
        let plain = (variance(&slow).unwrap() / 24.0).sqrt() / mean(&slow).unwrap();
        let (error, degrees) = relative_error(&slow).unwrap();
        assert!(error > 2.0 * plain && degrees < 8.0, "{error} {plain} {degrees}");
        assert!(wander(&slow) > 0.04);
    }

    #[test]
    fn three_values_say_nothing_of_their_noise() {
        assert_eq!(relative_error(&[1.0, 2.0, 3.0]), None);
        assert_eq!(mean_of_laps(&[]), None);
    }
}
