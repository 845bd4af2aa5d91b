//! Time left: the sum of steps still to come, with an interval from how the past varied.

use laptime_core::Estimate;

use crate::statistics::{lag_one_correlation, mean, t_width, variance};

/// The share of intervals that hold the truth.
pub(crate) const LEVEL: f64 = 0.90;
/// Correlation above this cannot be distinguished from drift with the blocks there are.
pub(crate) const MOST_CORRELATION: f64 = 0.9;
/// Correlation that bursts reach too; above it part of the spread is taken for drift.
const DRIFTING: f64 = 0.45;
/// How fast the variance of a drift grows with the horizon: 2 for a random walk whose spread is known, and
/// twice that because a short past shows only part of it. Checked by the coverage tests.
const DRIFT_GROWTH: f64 = 4.0;
/// A machine does not drift for ever: beyond so many times the past, drift grows no more.
const LONGEST_DRIFT: f64 = 10.0;
/// A level that jumps makes most of its way in so many of the steps from block to block.
const FEW_JUMPS: usize = 3;
/// The share of the way that a random walk makes in those, and that jumps do.
const WALKS: f64 = 0.5;
const JUMPS: f64 = 0.85;
/// The part of a spread by jumps that is taken for drift all the same: not all of them come back. Set by the
/// coverage tests, as is the share above.
const LEAST_DRIFT: f64 = 0.2;
/// What two runs of the same command differ by on a quiet machine, standard deviation, however long they are.
pub(crate) const UNSEEN: f64 = 0.005;
/// Shorter runs than this see too little of what a machine does, seconds, and the shorter the less: equal ones of
/// 0.07 s differed by a fifth on a virtual machine where those of 3.5 s differed by 6 %.
const LONG: f64 = 10.0;
const SHORTER: f64 = 0.75;

/// What one step costs on average from here on, and how wrong that may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// Expected mean.
    pub(crate) mean: f64,
    /// Standard error of that mean over the steps still to come.
    pub(crate) error: f64,
    /// Degrees of freedom behind the error.
    pub(crate) degrees: f64,
    /// The share of the error's square that comes from how little was seen, 0 to 1; the rest is what varies ahead.
    pub(crate) little_seen: f64,
}

/// The pace of the steps ahead, from block means in time order; `horizon` is their number in blocks.
///
/// Single steps know nothing of the variance between moments, so only blocks count. Neighbouring blocks
/// resemble each other (bursts, drift): their correlation makes the past worth fewer independent
/// blocks, and the future's own mean varies just the same. What drifts goes on drifting, so the part of
/// the variance that is correlated grows with the horizon. `None` of fewer than three blocks.
pub(crate) fn pace(blocks: &[f64], horizon: f64) -> Option<Pace> {
    if blocks.len() < 3 {
        return None;
    }
    // With nothing ahead the error is multiplied by zero steps; it only has to stay finite.
    let (count, horizon) = (blocks.len() as f64, horizon.max(1e-3));
    let (mean, spread) = (mean(blocks)?, variance(blocks)?);
    // A short series underestimates its own correlation (Kendall 1954).
    let seen = lag_one_correlation(blocks);
    let correlation = (seen + (1.0 + 3.0 * seen) / count).clamp(0.0, MOST_CORRELATION);
    let (past, ahead) = (inflation(count, correlation), inflation(horizon.max(1.0), correlation));
    // Correlated blocks stay close together, so their spread shows only part of the variance.
    let full = spread / (1.0 - past / count).max(0.25);
    let share = drift_share(correlation) * evenness(blocks);
    let drift = DRIFT_GROWTH * spread * share * (horizon / count).min(LONGEST_DRIFT);
    let variance = full * (past / count + ahead / horizon) + drift;
    let degrees = (count / past - 1.0).max(2.0);
    let little_seen = if variance > 0.0 { full * past / count / variance } else { 0.0 };
    Some(Pace { mean, error: variance.max(0.0).sqrt(), degrees, little_seen })
}

/// How many times larger the variance of a mean is because its values are correlated (first order).
pub(crate) fn inflation(count: f64, correlation: f64) -> f64 {
    let rest = 1.0 - correlation;
    let sum = (1.0 + correlation) / rest
        - 2.0 * correlation * (1.0 - correlation.powf(count)) / (count * rest * rest);
    sum.clamp(1.0, count.max(1.0))
}

/// The part of the spread that looks like drift.
fn drift_share(correlation: f64) -> f64 {
    ((correlation - DRIFTING) / (MOST_CORRELATION - DRIFTING)).max(0.0)
}

/// How much the blocks change evenly, as a drift does, rather than by jumps, which come back; 0 to 1.
fn evenness(blocks: &[f64]) -> f64 {
    let mut squares: Vec<f64> = blocks.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    squares.sort_by(|a, b| b.total_cmp(a));
    let all: f64 = squares.iter().sum();
    if squares.len() < 4 * FEW_JUMPS || all <= 0.0 {
        return 1.0;
    }
    let share = squares[..FEW_JUMPS].iter().sum::<f64>() / all;
    ((JUMPS - share) / (JUMPS - WALKS)).clamp(LEAST_DRIFT, 1.0)
}

/// What a run may be off by through what it did not see, with so many seconds of steps; standard deviation as a share.
pub(crate) fn unseen(seconds: f64) -> f64 {
    UNSEEN * (1.0 + LONG / seconds.max(1e-3)).powf(SHORTER)
}

/// The interval around a sum of times, symmetric in ratios: trouble makes a run longer without limit, luck
/// makes it shorter only so far.
pub(crate) fn interval(mean: f64, error: f64, degrees: f64) -> Option<Estimate> {
    let relative = if mean > 0.0 { error / mean } else { 0.0 };
    let factor = (t_width(LEVEL, degrees) * relative).exp();
    let estimate = Estimate { mean, low: mean / factor, high: mean * factor, level: LEVEL };
    (estimate.mean.is_finite() && estimate.high.is_finite()).then_some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_estimated_before_three_blocks() {
        assert_eq!(pace(&[1.0, 2.0], 5.0), None);
        assert!(pace(&[1.0, 2.0, 1.5], 5.0).is_some());
    }

    #[test]
    fn the_pace_is_the_mean_so_a_stall_that_comes_back_is_paid_for() {
        let blocks = [1.0, 1.0, 1.0, 5.0, 1.0, 1.0, 1.0, 5.0];
        assert_eq!(pace(&blocks, 8.0).unwrap().mean, 2.0);
    }

    #[test]
    fn uncorrelated_blocks_have_no_inflation_and_correlated_ones_do() {
        assert!((inflation(20.0, 0.0) - 1.0).abs() < 1e-12);
        // (1 + 0.5) / (1 - 0.5) = 3 for a long series.
        assert!((inflation(1e9, 0.5) - 3.0).abs() < 1e-6);
    }

    #[test]
    fn an_interval_never_reaches_below_zero() {
        let wide = interval(1.0, 50.0, 3.0).unwrap();
        assert!(wide.low >= 0.0 && wide.high > 50.0);
        assert_eq!(interval(f64::NAN, 1.0, 3.0), None);
    }
}
