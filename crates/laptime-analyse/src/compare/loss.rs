//! Whether two loss curves are of one training: the losses at equal steps, else at equal epochs.

use laptime_core::Estimate;

use super::run::{ComparedRun, FitSteps, Side};
use crate::report::LapKind;
use crate::statistics::{mean, t_width, variance};

/// How sure it has to be that curves differ: a training that is called another one stops a comparison.
const LEVEL: f64 = 0.99;
/// Stretches of equal steps the curves are compared in.
const STRETCHES: u64 = 32;
/// Fewer steps with a loss make no curve.
const FEWEST_STEPS: u64 = 32;
/// What two runs of the same training differ by with other seeds, standard deviation as a share of their loss: seeds
/// are seldom kept.
const SEEDS: f64 = 0.03;
/// Early losses fall fast, and when they do is chance: there seeds count so many times more.
const EARLY: f64 = 3.0;
/// The least of it where the runs of a side show how far seeds are off.
const SEEDS_SEEN: f64 = 0.005;
/// Losses too few to see their noise have to be this far apart, as a share.
const FEW_LOSSES: f64 = 0.2;
/// Losses are held against at least this share of the first: near zero, any difference is a large share of them.
const LEAST_SCALE: f64 = 0.1;

/// How two loss curves compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LossCurves {
    /// Mean loss of the first side where they are furthest apart.
    pub(super) a: f64,
    /// The same of the second.
    pub(super) b: f64,
    /// How far the second is above the first there, as a share.
    pub(super) apart: Estimate,
    /// Whether that is more than noise and seeds explain.
    pub(super) moved: bool,
}

/// The curve of a run: a loss for each of the stretches or epochs that all runs have.
type Curve = Vec<f64>;

/// The loss curves of a fit; `None` where a run has none, or they have too little in common.
pub(super) fn loss_curves(a: &Side<'_>, b: &Side<'_>, fit: u32) -> Option<LossCurves> {
    let (first, second) = by_steps(a, b, fit).or_else(|| by_epochs(a, b, fit))?;
    let length = first.iter().chain(&second).map(Vec::len).min()?;
    let half = if length < 4 { 0 } else { length / 2 };
    // A training that was changed late shows in its second half; one that begins elsewhere, in its first.
    let parts = [0..half, half..length].into_iter().filter(|part| !part.is_empty());
    let compared = parts.filter_map(|part| compared(&first, &second, part));
    compared.max_by(|one, other| {
        let size = |curves: &LossCurves| curves.apart.mean.abs();
        one.moved.cmp(&other.moved).then(size(one).total_cmp(&size(other)))
    })
}

/// Part of the curves of both sides.
fn compared(a: &[Curve], b: &[Curve], part: std::ops::Range<usize>) -> Option<LossCurves> {
    let side =
        |curves: &[Curve], at: usize| mean(&curves.iter().map(|curve| curve[at]).collect::<Vec<f64>>());
    let begin = f64::midpoint(side(a, 0)?, side(b, 0)?).abs();
    let scale = |at: usize| Some((f64::midpoint(side(a, at)?, side(b, at)?)).abs().max(LEAST_SCALE * begin));
    let scales: Vec<f64> = part.clone().map(scale).collect::<Option<_>>()?;
    let of_part = |curve: &Curve| -> Vec<f64> {
        part.clone().zip(&scales).map(|(at, scale)| curve[at] / scale.max(f64::MIN_POSITIVE)).collect()
    };
    let runs =
        |curves: &[Curve]| curves.iter().map(|curve| mean(&of_part(curve))).collect::<Option<Vec<f64>>>();
    let (a_runs, b_runs) = (runs(a)?, runs(b)?);
    let (a_mean, b_mean) = (mean(&a_runs)?, mean(&b_runs)?);
    let differences: Vec<f64> = part
        .clone()
        .zip(&scales)
        .map(|(at, scale)| Some((side(b, at)? - side(a, at)?) / scale.max(f64::MIN_POSITIVE)))
        .collect::<Option<_>>()?;
    let early = if part.start == 0 && part.len() < a.first()?.len() { EARLY } else { 1.0 };
    let half = half_width(&a_runs, &b_runs, &differences, early);
    let apart = b_mean - a_mean;
    let raw = |curves: &[Curve]| {
        let values: Vec<f64> = part.clone().filter_map(|at| side(curves, at)).collect();
        mean(&values)
    };
    Some(LossCurves {
        a: raw(a)?,
        b: raw(b)?,
        apart: Estimate { mean: apart, low: apart - half, high: apart + half, level: LEVEL },
        // A loss that is not a number on one side only is another training, too.
        moved: apart.abs() > half || raw(a)?.is_finite() != raw(b)?.is_finite(),
    })
}

/// How far the mean of the differences may be off by noise and seeds.
fn half_width(a_runs: &[f64], b_runs: &[f64], differences: &[f64], early: f64) -> f64 {
    let within = noise(differences);
    let degrees = (a_runs.len() + b_runs.len()) as f64 - 2.0;
    if degrees > 0.0 {
        let squares = |runs: &[f64]| variance(runs).unwrap_or(0.0) * (runs.len() as f64 - 1.0);
        let of_a_run = (squares(a_runs) + squares(b_runs)) / degrees + SEEDS_SEEN.powi(2);
        let share = 1.0 / a_runs.len() as f64 + 1.0 / b_runs.len() as f64;
        let within = within.map_or(0.0, |(error, _)| error.powi(2));
        return t_width(LEVEL, degrees) * (of_a_run * share).max(within).sqrt();
    }
    let Some((error, degrees)) = within else { return FEW_LOSSES };
    let all = error.powi(2) + (early * SEEDS).powi(2);
    t_width(LEVEL, degrees * (all / error.powi(2).max(1e-12)).powi(2).min(1e6)) * all.sqrt()
}

/// Standard error of the mean of differences in time order, and its degrees of freedom, by how neighbours differ (von
/// Neumann 1941): curves that part slowly do not do so by noise. `None` of fewer than four.
fn noise(differences: &[f64]) -> Option<(f64, f64)> {
    let count = differences.len() as f64;
    let squares: f64 = differences.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let variance = squares / (2.0 * (count - 1.0));
    (differences.len() >= 4).then(|| ((variance / count).sqrt(), (count - 1.0) * 2.0 / 3.0))
}

/// Losses of single steps, in stretches of equal steps.
fn by_steps(a: &Side<'_>, b: &Side<'_>, fit: u32) -> Option<(Vec<Curve>, Vec<Curve>)> {
    let steps = |run: &ComparedRun| -> Option<u64> {
        let fit = fit_of(run, fit)?;
        let known: u64 = fit.blocks.iter().map(|block| block.losses).sum();
        let all: u64 = fit.blocks.iter().map(|block| block.steps).sum();
        // Where few steps have a loss, those of whole epochs are better known.
        (known * 2 >= all).then_some(all)
    };
    let all = a.runs.iter().chain(b.runs).map(steps).collect::<Option<Vec<u64>>>()?;
    let common = all.into_iter().min().filter(|steps| *steps >= FEWEST_STEPS)?;
    let curves = |side: &Side<'_>| {
        side.runs.iter().map(|run| stretches(fit_of(run, fit)?, common)).collect::<Option<Vec<Curve>>>()
    };
    Some((curves(a)?, curves(b)?))
}

fn fit_of(run: &ComparedRun, fit: u32) -> Option<&FitSteps> {
    run.fits.iter().find(|steps| steps.fit == fit)
}

/// Mean loss of the first `steps` steps in stretches; `None` where one has no loss.
fn stretches(fit: &FitSteps, steps: u64) -> Option<Curve> {
    let mut sums = vec![(0.0, 0_u64); STRETCHES as usize];
    let mut before = 0;
    for block in &fit.blocks {
        // The middle of a block decides where it belongs: blocks of long runs hold several steps.
        let middle = before + block.steps / 2;
        before += block.steps;
        if let Some(sum) = sums.get_mut((middle * STRETCHES / steps) as usize) {
            *sum = (sum.0 + block.loss_sum, sum.1 + block.losses);
        }
    }
    sums.iter().map(|(sum, count)| (*count > 0).then(|| sum / *count as f64)).collect()
}

/// Losses of epochs, at equal epochs.
fn by_epochs(a: &Side<'_>, b: &Side<'_>, fit: u32) -> Option<(Vec<Curve>, Vec<Curve>)> {
    let curve = |run: &ComparedRun| -> Curve {
        let epochs = run.report.epochs.iter().filter(|lap| lap.fit == fit && lap.complete);
        let single = epochs.take_while(|lap| lap.kind == LapKind::Epoch && lap.count == 1);
        single.map_while(|lap| lap.loss).collect()
    };
    let curves = |side: &Side<'_>| side.runs.iter().map(curve).collect::<Vec<Curve>>();
    let (first, second) = (curves(a), curves(b));
    first.iter().chain(&second).all(|curve| !curve.is_empty()).then_some((first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(factor: f64, values: usize) -> Curve {
        (0..values).map(|at| factor * (2.0 / (1.0 + at as f64) + 0.3)).collect()
    }

    fn moved(a: &Curve, b: &Curve) -> bool {
        compared(std::slice::from_ref(a), std::slice::from_ref(b), 0..a.len()).unwrap().moved
    }

    #[test]
    fn curves_that_differ_by_what_seeds_explain_are_of_one_training() {
        assert!(!moved(&curve(1.0, 8), &curve(1.0, 8)));
        assert!(!moved(&curve(1.0, 8), &curve(1.03, 8)));
        assert!(moved(&curve(1.0, 8), &curve(1.2, 8)));
        assert!(moved(&curve(1.0, 8), &curve(0.8, 8)));
    }

    #[test]
    fn two_losses_have_to_be_far_apart() {
        assert!(!moved(&curve(1.0, 2), &curve(1.1, 2)));
        assert!(moved(&curve(1.0, 2), &curve(1.4, 2)));
    }

    #[test]
    fn near_zero_a_large_share_of_the_loss_is_little() {
        let (mut a, mut b) = (vec![1.0; 4], vec![1.0; 4]);
        a.extend([1e-3; 4]);
        b.extend([3e-3; 4]);
        assert!(!compared(&[a], &[b], 4..8).unwrap().moved);
    }

    #[test]
    fn a_loss_that_is_not_a_number_on_one_side_is_another_training() {
        assert!(moved(&curve(1.0, 4), &vec![f64::NAN; 4]));
    }

    #[test]
    fn runs_of_a_side_show_how_far_seeds_are_off() {
        let side = |factors: [f64; 3]| factors.map(|factor| curve(factor, 8)).to_vec();
        let of = |a, b| compared(&side(a), &side(b), 0..8).unwrap().moved;
        assert!(!of([0.9, 1.0, 1.1], [0.95, 1.15, 1.05]));
        assert!(of([0.999, 1.0, 1.001], [1.05, 1.051, 1.049]));
    }
}
