//! Calibration: how much wider or narrower intervals have to be, by the forecasts whose runs have finished.
//!
//! Conformal prediction: of the finished forecasts each has a score, how far it was off in units of its own width.
//! The quantile of those scores makes nine of ten intervals hold, whatever the reason for being off. Machines change
//! (another tenant, another job), so the level is adapted with every miss and every hit (Gibbs and Candès 2021).

use super::document::Score;
use crate::time_left::LEVEL;

/// Fewer scores have no quantile of this level: it takes ⌈(k + 1) · 0.9⌉ ≤ k.
pub(super) const FEWEST: usize = 9;
/// Scores that count; older ones are of another time. Covered 90 % of 336 forecasts on a loaded machine.
const WINDOW: usize = 60;
/// How fast the level follows misses, as in the same measurement.
const LEARNING: f64 = 0.05;
/// Where even the worst score is too small, the interval is wider than that by this factor.
const BEYOND: f64 = 1.5;
/// What two equal runs differ by at least.
const NARROWEST: f64 = 0.01;
/// Where the second and the third part of a run begin: between the marks at which forecasts are kept.
const PARTS: [f64; 2] = [0.1, 0.35];

/// How wide an interval has to be in logarithms that is so wide by itself, when so much of the run has passed; `None` while
/// too few forecasts at such a point have finished.
pub(super) fn calibrated(scores: &[Score], progress: f64, width: f64) -> Option<f64> {
    let alike: Vec<Score> =
        scores.iter().copied().filter(|score| part(score.progress) == part(progress)).collect();
    factor(&alike).map(|factor| factor * floored(width))
}

/// The part of a run that a forecast is made in: those of one part are off for the same reasons.
fn part(progress: f64) -> usize {
    PARTS.iter().take_while(|begin| progress >= **begin).count()
}

/// By how much to multiply the width of an interval; `None` while too few forecasts have finished.
fn factor(scores: &[Score]) -> Option<f64> {
    let off: Vec<f64> = scores.iter().map(off).filter(|off| off.is_finite()).collect();
    let mut missed = 1.0 - LEVEL;
    for at in FEWEST..off.len() {
        let hit = quantile(&off[at.saturating_sub(WINDOW)..at], missed).is_some_and(|most| off[at] <= most);
        missed += LEARNING * (1.0 - LEVEL - if hit { 0.0 } else { 1.0 });
    }
    quantile(&off[off.len().saturating_sub(WINDOW)..], missed)
}

/// How far a forecast was off, in units of its width.
fn off(score: &Score) -> f64 {
    score.log_ratio.abs() / floored(score.width)
}

/// A width with what no forecast knows of: a narrow one that is missed by little must not widen all the others.
fn floored(width: f64) -> f64 {
    width.hypot(NARROWEST)
}

/// The smallest value that at most this share of values to come exceeds; `None` of too few.
fn quantile(values: &[f64], missed: f64) -> Option<f64> {
    if values.len() < FEWEST {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = ((sorted.len() + 1) as f64 * (1.0 - missed) - 1e-9).ceil().max(1.0) as usize;
    let most = sorted[sorted.len() - 1];
    Some(sorted.get(rank - 1).copied().unwrap_or(most * BEYOND))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chance::Chance;

    fn score(log_ratio: f64) -> Score {
        Score { log_ratio, width: 0.1, progress: 0.05 }
    }

    #[test]
    fn eight_finished_forecasts_do_not_calibrate_and_nine_do() {
        let scores: Vec<Score> = (1..=9).map(|at| score(0.01 * f64::from(at))).collect();
        assert_eq!(factor(&scores[..8]), None);
        // ⌈10 · 0.9⌉: the ninth, which is the largest.
        assert!((factor(&scores).unwrap() - 0.9).abs() < 0.01);
    }

    #[test]
    fn forecasts_of_another_part_of_a_run_have_no_say() {
        let scores: Vec<Score> = (0..9).map(|_| score(0.3)).collect();
        assert!(calibrated(&scores, 0.02, 0.1).is_some_and(|width| width > 0.29));
        assert_eq!((calibrated(&scores, 0.2, 0.1), calibrated(&scores, 0.6, 0.1)), (None, None));
    }

    #[test]
    fn after_misses_the_interval_is_wider_than_any_score_so_far() {
        let quiet = (0..30).map(|at| score(0.02 + 1e-4 * f64::from(at)));
        let loaded: Vec<Score> = quiet.chain((1..=4).map(|at| score(0.1 * f64::from(at)))).collect();
        assert!(factor(&loaded).unwrap() > 4.0);
    }

    /// The share of forecasts that hold, each calibrated by those before it; the noise grows tenfold half-way.
    fn held(seed: u64, count: usize) -> f64 {
        let mut chance = Chance::new(seed);
        let mut scores: Vec<Score> = Vec::new();
        let mut hits = 0_usize;
        for at in 0..count {
            let noise = if at < count / 2 { 0.02 } else { 0.2 };
            let new = score(noise * chance.normal());
            hits +=
                usize::from(factor(&scores).is_some_and(|factor| new.log_ratio.abs() <= factor * new.width));
            scores.push(new);
        }
        hits as f64 / (count - FEWEST) as f64
    }

    #[test]
    fn nine_of_ten_intervals_hold_though_the_machine_gets_noisier() {
        let found: Vec<f64> = (1..=5).map(|seed| held(seed, 600)).collect();
        assert!(found.iter().all(|held| (0.87..=0.93).contains(held)), "{found:?}");
    }

    proptest! {
        #[test]
        fn a_factor_is_a_number_whatever_the_scores(
            scores in prop::collection::vec((any::<f64>(), any::<f64>()), 0..40)
        ) {
            let scores: Vec<Score> =
                scores.into_iter().map(|(log_ratio, width)| Score { log_ratio, width, progress: 0.2 }).collect();
            prop_assert!(factor(&scores).is_none_or(|factor| factor >= 0.0));
        }

        #[test]
        fn larger_misses_never_make_it_narrower(
            ratios in prop::collection::vec(0.0..1.0_f64, 9..40), times in 1.0..5.0_f64
        ) {
            let of = |times: f64| factor(&ratios.iter().map(|ratio| score(ratio * times)).collect::<Vec<_>>());
            prop_assert!(of(times) >= of(1.0));
        }
    }
}
