//! Whether both sides trained the same: fits, samples, tokens, batch, parameters and the loss curve.

use std::collections::BTreeSet;

use laptime_core::units;

use super::document::{Check, Outcome};
use super::loss::loss_curves;
use super::run::{ComparedRun, Side};
use crate::report::{FitSummary, LapKind, Warning};

/// Counts that differ by less are the same: a sampler may leave a few samples out.
const SAME_COUNT: f64 = 0.005;
/// Tokens that differ by less are the same: texts are of different lengths.
const SAME_TOKENS: f64 = 0.02;

/// Everything that can be held against each other; what differs in several fits is shown for the first of them.
pub(super) fn checks(a: &Side<'_>, b: &Side<'_>) -> Vec<Check> {
    let fits = count_check("fits", a, b, 0.0, |run| Some(run.report.fits.len() as f64));
    let common = a.runs.iter().chain(b.runs).map(|run| run.report.fits.len()).min().unwrap_or(0);
    let mut checks: Vec<Check> = Vec::new();
    // Of one training each, there is nothing to say about their number.
    checks.extend((fits.outcome == Outcome::Differ).then_some(fits));
    for at in 0..common {
        for check in fit_checks(a, b, at) {
            match checks.iter_mut().find(|known| known.what == check.what) {
                None => checks.push(check),
                Some(known) if worse(&check) > worse(known) => *known = check,
                Some(_) => {}
            }
        }
    }
    checks
}

/// Whether the checks allow to call it the same training; `None` where nothing is known.
pub(super) fn is_same(checks: &[Check]) -> Option<bool> {
    let known: Vec<bool> = checks
        .iter()
        .filter(|check| check.outcome != Outcome::Unknown)
        .map(|check| check.outcome == Outcome::Agree)
        .collect();
    (!known.is_empty()).then(|| known.iter().all(|agrees| *agrees))
}

fn worse(check: &Check) -> u8 {
    match check.outcome {
        Outcome::Unknown => 0,
        Outcome::Agree => 1,
        Outcome::Differ => 2,
    }
}

fn fit_checks(a: &Side<'_>, b: &Side<'_>, at: usize) -> Vec<Check> {
    let of = |take: fn(&FitSummary) -> Option<u64>| {
        move |run: &ComparedRun| run.report.fits.get(at).and_then(take).map(|count| count as f64)
    };
    vec![
        samples_check(a, b, at),
        count_check("parameters", a, b, 0.0, of(|fit| fit.parameters)),
        count_check("batch", a, b, 0.0, of(|fit| fit.batch)),
        count_check("samples a step", a, b, SAME_COUNT, |run| a_step(run, at, |block| block.samples)),
        count_check("tokens a step", a, b, SAME_TOKENS, |run| a_step(run, at, |block| block.tokens)),
        loss_check(a, b, at),
    ]
}

/// Fewer samples than were trained on are no other training where the recorder dropped steps.
fn samples_check(a: &Side<'_>, b: &Side<'_>, at: usize) -> Check {
    let check = count_check("samples an epoch", a, b, SAME_COUNT, |run| samples_an_epoch(run, at));
    let doubtful = check.outcome == Outcome::Differ && a.runs.iter().chain(b.runs).any(has_dropped);
    if doubtful { Check { outcome: Outcome::Unknown, ..check } } else { check }
}

/// A count that all runs should have.
fn count_check(
    what: &'static str,
    a: &Side<'_>,
    b: &Side<'_>,
    within: f64,
    count: impl Fn(&ComparedRun) -> Option<f64>,
) -> Check {
    let values = |side: &Side<'_>| side.runs.iter().map(&count).collect::<Option<Vec<f64>>>();
    let (first, second) = (values(a), values(b));
    let outcome = match (&first, &second) {
        (Some(first), Some(second)) => {
            let all = || first.iter().chain(second).copied();
            let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
            if most <= least * (1.0 + within) { Outcome::Agree } else { Outcome::Differ }
        }
        _ => Outcome::Unknown,
    };
    Check {
        what,
        a: first.as_deref().map(in_words),
        b: second.as_deref().map(in_words),
        outcome,
        apart: None,
    }
}

fn in_words(values: &[f64]) -> String {
    let distinct: BTreeSet<u64> = values.iter().map(|value| value.round() as u64).collect();
    distinct.into_iter().map(units::count).collect::<Vec<_>>().join(" or ")
}

/// Samples of a whole epoch as they were counted, else the rows that were said. Where the recorder dropped steps, an
/// epoch in the middle counts: most have all of theirs.
fn samples_an_epoch(run: &ComparedRun, at: usize) -> Option<f64> {
    let fit = run.report.fits.get(at)?;
    let laps = run.report.epochs.iter().filter(|lap| lap.fit == fit.index);
    let whole = laps.filter(|lap| lap.complete && lap.kind != LapKind::Window);
    let counted: Vec<(u64, u64)> = whole.filter_map(|lap| Some((lap.samples?, lap.count))).collect();
    if has_dropped(run) {
        let mut each: Vec<f64> = counted.iter().map(|lap| lap.0 as f64 / lap.1 as f64).collect();
        each.sort_by(f64::total_cmp);
        return each.get(each.len() / 2).copied();
    }
    let (samples, epochs) = counted.iter().fold((0, 0), |sum, lap| (sum.0 + lap.0, sum.1 + lap.1));
    if epochs > 0 { Some(samples as f64 / epochs as f64) } else { fit.rows.map(|rows| rows as f64) }
}

/// Whether the recorder could not keep up, so that counts of steps and samples are too low.
fn has_dropped(run: &ComparedRun) -> bool {
    run.report.warnings.iter().any(|warning| matches!(warning, Warning::SpansDropped { .. }))
}

/// How much a step trains on, as most do: the last of an epoch may have less. `None` where nobody counts.
fn a_step(run: &ComparedRun, at: usize, of: fn(&crate::step_series::Block) -> u64) -> Option<f64> {
    let fit = run.report.fits.get(at)?;
    let blocks = &run.fits.iter().find(|steps| steps.fit == fit.index)?.blocks;
    let mut amounts: Vec<f64> = blocks.iter().map(|block| of(block) as f64 / block.steps as f64).collect();
    amounts.sort_by(f64::total_cmp);
    amounts.get(amounts.len() / 2).copied().filter(|amount| *amount > 0.0)
}

fn loss_check(a: &Side<'_>, b: &Side<'_>, at: usize) -> Check {
    let index = a.runs.first().and_then(|run| Some(run.report.fits.get(at)?.index)).unwrap_or(0);
    let unknown = Check { what: "loss curve", a: None, b: None, outcome: Outcome::Unknown, apart: None };
    let Some(curves) = loss_curves(a, b, index) else { return unknown };
    let outcome = if curves.moved { Outcome::Differ } else { Outcome::Agree };
    let (a, b) = (Some(units::number(curves.a)), Some(units::number(curves.b)));
    let apart = Some(curves.apart).filter(|apart| apart.mean.is_finite());
    Check { a, b, outcome, apart, ..unknown }
}
