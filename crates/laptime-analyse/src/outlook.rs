//! Outlook: what a running fit still has to do, and how long that takes.

use std::collections::BTreeMap;

use laptime_core::{Estimate, Ticks, Timebase};

use crate::epoch::Epoch;
use crate::fit::Fit;
use crate::recurring::{Recurring, SEEN_ONCE};
use crate::statistics::Spread;
use crate::steady::settling;
use crate::step_pace::{StepPace, Steps};
use crate::step_series::StepSeries;
use crate::time_left::interval;

/// What follows the first epoch and takes this much longer than after any later one is not expected again.
const COLD: f64 = 1.5;

/// What is left of a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Left {
    steps: u64,
    /// Epochs whose surroundings (evaluation, checkpoint, what no step claims) are still to be paid, or pauses
    /// between steps.
    surroundings: u64,
}

/// All fits of a process, by number.
type Fits = BTreeMap<u32, Fit>;

/// Time to the end of the planned epochs or steps of one of the fits, as it stands `now`, its newest step having
/// ended at a moment before; `None` unless the plan is known and at least three blocks of steps are.
pub(crate) fn time_left(
    fits: &Fits,
    fit: &Fit,
    (now, step_end): (Ticks, Option<Ticks>),
    timebase: &Timebase,
) -> Option<Estimate> {
    let since = |at: Ticks| timebase.seconds(now.since(at));
    let under_way = fit.epochs.last().filter(|epoch| epoch.gap.is_none()).and_then(|epoch| epoch.ended);
    let ahead = ahead(fits, fit, under_way.map_or(0.0, since), timebase)?;
    let spent = spent(fit, step_end, since, &ahead);
    interval((ahead.seconds - spent).max(0.0), ahead.error, ahead.degrees)
}

/// The same for a fit at the moment its newest epoch or stretch ends: nothing is spent yet of what comes next.
pub(crate) fn time_left_at_end(fits: &Fits, fit: &Fit, timebase: &Timebase) -> Option<Estimate> {
    let ahead = ahead(fits, fit, 0.0, timebase)?;
    interval(ahead.seconds, ahead.error, ahead.degrees)
}

/// What steps and surroundings that have not ended take, whole.
struct Ahead {
    seconds: f64,
    error: f64,
    degrees: f64,
    step: f64,
    surroundings: f64,
}

/// What is ahead, where so many seconds have gone since the newest epoch ended.
fn ahead(fits: &Fits, fit: &Fit, since_epoch: f64, timebase: &Timebase) -> Option<Ahead> {
    let left = left(fit)?;
    let steps = left.steps as f64;
    let pace = step_pace(fit, timebase)?.ahead(steps)?;
    let after =
        surroundings(fits, fit, timebase).unwrap_or_else(|| Recurring::supposed(since_epoch, SEEN_ONCE));
    let epochs = left.surroundings as f64;
    Some(Ahead {
        seconds: steps * pace.mean + epochs * after.each_s,
        error: (steps * pace.error).hypot(after.error_s(epochs)),
        degrees: pace.degrees,
        step: pace.mean,
        surroundings: after.each_s,
    })
}

/// The pace of the steps of a fit.
fn step_pace(fit: &Fit, timebase: &Timebase) -> Option<StepPace> {
    pace_of(&fit.steps, first_epoch(fit), timebase)
}

/// Steps of the first epoch, once it is over.
pub(crate) fn first_epoch(fit: &Fit) -> Option<u64> {
    fit.epochs
        .first()
        .filter(|epoch| epoch.ended.is_some() && epoch.count() == 1)
        .map(|epoch| epoch.tally.steps)
}

/// The pace of steps, of which so many were in the first epoch.
pub(crate) fn pace_of(
    series: &StepSeries,
    first_epoch: Option<u64>,
    timebase: &Timebase,
) -> Option<StepPace> {
    let (settling, tick_s) = (settling(series), timebase.ns_per_tick * 1e-9);
    StepPace::of(&Steps { blocks: series.blocks(), settling, first_epoch, tick_s })
}

/// The steps and epochs a fit still has to do; `None` when its plan is not known.
fn left(fit: &Fit) -> Option<Left> {
    let per_epoch = steps_per_epoch(fit);
    if let Some(planned) = fit.facts.steps.filter(|_| fit.epochs.is_empty() || fit.facts.epochs.is_none()) {
        return Some(left_of_steps(fit, planned, per_epoch));
    }
    let per_epoch = per_epoch?;
    let planned = fit.facts.epochs?;
    let begun = fit.epochs.begun();
    let open = fit.epochs.last().filter(|epoch| epoch.ended.is_none());
    let of_open = open.map_or(0, |epoch| per_epoch.saturating_sub(epoch.tally.steps));
    // Only the newest epoch can still be followed by something of its own.
    let paid = begun - u64::from(fit.epochs.last().is_some_and(|epoch| epoch.gap.is_none()));
    Some(Left {
        steps: planned.saturating_sub(begun).saturating_mul(per_epoch).saturating_add(of_open),
        surroundings: planned.saturating_sub(paid),
    })
}

/// Pauses are as frequent in the steps to come as they were; where there are epochs, their ends are.
fn left_of_steps(fit: &Fit, planned: u64, per_epoch: Option<u64>) -> Left {
    let done = fit.steps.sum.steps;
    let steps = planned.saturating_sub(done);
    if !fit.epochs.is_empty() {
        let within =
            fit.epochs.last().map_or(0, |epoch| if epoch.gap.is_none() { epoch.tally.steps } else { 0 });
        let epochs = per_epoch.and_then(|length| within.saturating_add(steps).checked_div(length));
        return Left { steps, surroundings: epochs.unwrap_or(0) };
    }
    let pauses = steps as f64 * fit.laps.pauses.count as f64 / done.max(1) as f64;
    Left { steps, surroundings: pauses.round() as u64 }
}

/// Steps of an epoch: as seen, since a loop may leave a pass before its end, else as was said, else as rows and batch
/// size make them.
pub(crate) fn steps_per_epoch(fit: &Fit) -> Option<u64> {
    let seen = || fit.epochs.complete().next_back().map(|epoch| epoch.tally.steps / epoch.count());
    let from_rows =
        || fit.facts.rows?.checked_next_multiple_of(fit.facts.batch?)?.checked_div(fit.facts.batch?);
    // Of an epoch whose steps were all lost by a full ring nothing was seen.
    let seen = seen().filter(|steps| *steps > 0);
    seen.or(fit.facts.steps_per_epoch).or_else(from_rows).filter(|steps| *steps > 0)
}

/// What an epoch costs outside its steps.
///
/// Before the first epoch of this fit is over, earlier fits of the run say what to expect; `None` without any.
fn surroundings(fits: &Fits, fit: &Fit, timebase: &Timebase) -> Option<Recurring> {
    let tick_s = timebase.ns_per_tick * 1e-9;
    if fit.laps.pauses.mean().is_some() {
        return Recurring::of_spread(&fit.laps.pauses.times(tick_s));
    }
    costs([fit].into_iter(), timebase).or_else(|| costs(fits.values(), timebase))
}

/// What the epochs of fits cost outside their steps.
fn costs<'a>(fits: impl Iterator<Item = &'a Fit> + Clone, timebase: &Timebase) -> Option<Recurring> {
    let rows = fits.clone().flat_map(|fit| fit.epochs.rows());
    let single: Vec<f64> = rows.filter_map(|row| Some(timebase.seconds(row.cost()?))).collect();
    let single = settled_costs(&single);
    let mut all = Spread::of(single);
    fits.for_each(|fit| all.join(&fit.epochs.folded_costs().times(timebase.ns_per_tick * 1e-9)));
    if all.count == single.len() as u64 { Recurring::of(single) } else { Recurring::of_spread(&all) }
}

/// The costs without the first one, where that paid for compiling or cold caches.
pub(crate) fn settled_costs(costs: &[f64]) -> &[f64] {
    match costs {
        [first, later @ ..] if later.iter().all(|cost| *first > COLD * cost) && !later.is_empty() => later,
        _ => costs,
    }
}

/// Time already spent on the step or the surroundings that are under way, up to what they cost on average.
fn spent(fit: &Fit, step_end: Option<Ticks>, since: impl Fn(Ticks) -> f64, ahead: &Ahead) -> f64 {
    match fit.epochs.last() {
        Some(Epoch { ended: Some(ended), gap: None, .. }) => since(*ended).min(ahead.surroundings),
        Some(epoch) => since(step_end.unwrap_or(epoch.began).max(epoch.began)).min(ahead.step),
        None => since(step_end.unwrap_or_default().max(fit.laps.cut_at())).min(ahead.step),
    }
}
