//! What is compared apart from steady steps: start-up, warm-up, the first epoch, evaluation, the whole run.

use super::document::Apart;
use super::ratio::Ratio;
use super::run::{ComparedRun, Side};
use super::series::Mean;
use crate::report::LapKind;
use crate::statistics::mean;

/// A time of a run, seconds.
type OfRun = fn(&ComparedRun) -> Option<f64>;

/// What both sides have of it.
pub(super) fn apart(a: &Side<'_>, b: &Side<'_>) -> Vec<Apart> {
    let parts: [(&'static str, OfRun); 6] = [
        ("start-up", |run| Some(run.report.start_up.as_ref()?.seconds)),
        ("imports", |run| Some(run.report.start_up.as_ref()?.imports_s).filter(|seconds| *seconds > 0.0)),
        ("warm-up", warm_up),
        ("first epoch", |run| run.report.fits.first()?.epoch_s.first),
        ("evaluation an epoch", evaluation),
        ("whole run", |run| Some(run.report.wall_s)),
    ];
    parts.into_iter().filter_map(|(what, of)| one(what, a, b, of)).collect()
}

fn one(what: &'static str, a: &Side<'_>, b: &Side<'_>, of: OfRun) -> Option<Apart> {
    let values = |side: &Side<'_>| side.runs.iter().map(of).collect::<Option<Vec<f64>>>();
    let (first, second) = (values(a)?, values(b)?);
    let means = |values: &[f64]| -> Vec<Mean> {
        values.iter().map(|seconds| Mean { seconds: *seconds, error: None }).collect()
    };
    let ratio =
        Ratio::of_means(&means(&first), &means(&second)).filter(|_| first.len().min(second.len()) > 1);
    Some(Apart {
        what,
        a_s: mean(&first)?,
        b_s: mean(&second)?,
        ratio: ratio.and_then(|ratio| ratio.estimate()),
    })
}

/// Time of the steps of warm-up, compiling among them.
fn warm_up(run: &ComparedRun) -> Option<f64> {
    let of_fit = |fit: &super::run::FitSteps| {
        let all: u64 = fit.blocks.iter().map(|block| block.ticks).sum();
        let steady: u64 = fit.steady.iter().map(|block| block.ticks).sum();
        all.saturating_sub(steady) as f64 * fit.tick_s
    };
    (!run.fits.is_empty()).then(|| run.fits.iter().map(of_fit).sum())
}

fn evaluation(run: &ComparedRun) -> Option<f64> {
    let epochs = || run.report.epochs.iter().filter(|lap| lap.kind != LapKind::Window && lap.complete);
    let (seconds, count) =
        (epochs().map(|lap| lap.evaluate_s).sum::<f64>(), epochs().map(|lap| lap.count).sum::<u64>());
    (seconds > 0.0 && count > 0).then(|| seconds / count as f64)
}
