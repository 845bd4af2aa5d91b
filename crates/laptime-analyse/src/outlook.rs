//! Outlook: what a running fit still has to do, and how long that takes.

use std::collections::BTreeMap;

use laptime_core::{Estimate, Ticks, Timebase};

use crate::epoch::Epoch;
use crate::fit::Fit;
use crate::statistics::{Spread, mean};
use crate::steady::settling;
use crate::step_series::{StepSeries, joined};
use crate::time_left::{Pace, interval, pace};

/// Blocks the past is looked at in: enough to see correlation, few enough to outlast most bursts.
const MOST_BLOCKS: usize = 24;
/// Steps that a block should have, so that it says something about a moment.
const STEPS_PER_BLOCK: usize = 4;
/// A warm-up longer than this fraction of the steps so far is not left out.
const LONGEST_WARM_UP: u64 = 8;
/// Relative error of a cost that was seen only once.
const SEEN_ONCE: f64 = 0.5;

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
    let ahead = ahead(fits, fit, timebase)?;
    let since = |at: Ticks| timebase.seconds(now.since(at));
    let spent = spent(fit, step_end, since, &ahead);
    interval((ahead.seconds - spent).max(0.0), ahead.error, ahead.degrees)
}

/// The same for a fit at the moment its newest epoch or stretch ends: nothing is spent yet of what comes next.
pub(crate) fn time_left_at_end(fits: &Fits, fit: &Fit, timebase: &Timebase) -> Option<Estimate> {
    let ahead = ahead(fits, fit, timebase)?;
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

fn ahead(fits: &Fits, fit: &Fit, timebase: &Timebase) -> Option<Ahead> {
    let left = left(fit)?;
    let steps = left.steps as f64;
    let pace = pace_ahead(&fit.steps, steps, timebase)?;
    let (each, each_error) = surroundings(fits, fit, timebase);
    let epochs = left.surroundings as f64;
    Some(Ahead {
        seconds: steps * pace.mean + epochs * each,
        error: (steps * pace.error).hypot(epochs * each_error),
        degrees: pace.degrees,
        step: pace.mean,
        surroundings: each,
    })
}

/// The pace of the next `steps` steps, from those after the warm-up; seconds.
pub(crate) fn pace_ahead(series: &StepSeries, steps: f64, timebase: &Timebase) -> Option<Pace> {
    // A long slow stretch at the start may be a burst that comes back, and belongs in the mean.
    let warm_up =
        settling(series).warm_up_steps().filter(|steps| *steps <= series.sum.steps / LONGEST_WARM_UP);
    let warm_up = warm_up.unwrap_or(0);
    let past = series.blocks_after(warm_up);
    let blocks = joined(past, (past.len() / STEPS_PER_BLOCK).clamp(3, MOST_BLOCKS));
    let means: Vec<f64> = blocks.iter().map(|b| b.mean_ticks() * timebase.ns_per_tick * 1e-9).collect();
    let steps_per_block = mean(&blocks.iter().map(|b| b.steps as f64).collect::<Vec<_>>())?.max(1.0);
    pace(&means, steps / steps_per_block)
}

/// The steps and epochs a fit still has to do; `None` when its plan is not known.
fn left(fit: &Fit) -> Option<Left> {
    if fit.epochs.is_empty()
        && let Some(planned) = fit.facts.steps
    {
        return Some(left_of_steps(fit, planned));
    }
    let per_epoch = steps_per_epoch(fit)?;
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

/// Pauses are as frequent in the steps to come as they were.
fn left_of_steps(fit: &Fit, planned: u64) -> Left {
    let done = fit.steps.sum.steps;
    let steps = planned.saturating_sub(done);
    let pauses = steps as f64 * fit.laps.pauses.count as f64 / done.max(1) as f64;
    Left { steps, surroundings: pauses.round() as u64 }
}

/// Steps of an epoch: as was said, else as seen, else as rows and batch size make them.
pub(crate) fn steps_per_epoch(fit: &Fit) -> Option<u64> {
    let seen = || fit.epochs.complete().next_back().map(|epoch| epoch.tally.steps / epoch.count());
    let from_rows =
        || fit.facts.rows?.checked_next_multiple_of(fit.facts.batch?)?.checked_div(fit.facts.batch?);
    fit.facts.steps_per_epoch.or_else(seen).or_else(from_rows).filter(|steps| *steps > 0)
}

/// Mean cost of an epoch outside its steps, and its standard error for those to come.
///
/// Before the first epoch of this fit is over, earlier fits of the run say what to expect.
fn surroundings(fits: &Fits, fit: &Fit, timebase: &Timebase) -> (f64, f64) {
    if let Some(mean) = fit.laps.pauses.mean() {
        let seconds = |ticks: f64| ticks * timebase.ns_per_tick * 1e-9;
        let deviation = fit.laps.pauses.deviation().unwrap_or(mean * SEEN_ONCE);
        return (seconds(mean), seconds(deviation));
    }
    let own = costs([fit].into_iter(), timebase);
    let seen = if own.mean().is_some() { own } else { costs(fits.values(), timebase) };
    let Some(each) = seen.mean() else { return (0.0, 0.0) };
    // Epochs to come differ from each other and from the mean of those seen.
    let error = seen.variance().map_or(each * SEEN_ONCE, f64::sqrt);
    (each, error)
}

/// What the epochs of fits cost outside their steps, seconds.
fn costs<'a>(fits: impl Iterator<Item = &'a Fit> + Clone, timebase: &Timebase) -> Spread {
    let rows = fits.clone().flat_map(|fit| fit.epochs.rows());
    let single: Vec<f64> = rows.filter_map(|row| Some(timebase.seconds(row.cost()?))).collect();
    let mut costs = Spread::of(&single);
    fits.for_each(|fit| costs.join(&fit.epochs.folded_costs().times(timebase.ns_per_tick * 1e-9)));
    costs
}

/// Time already spent on the step or the surroundings that are under way, up to what they cost on average.
fn spent(fit: &Fit, step_end: Option<Ticks>, since: impl Fn(Ticks) -> f64, ahead: &Ahead) -> f64 {
    match fit.epochs.last() {
        Some(Epoch { ended: Some(ended), gap: None, .. }) => since(*ended).min(ahead.surroundings),
        Some(epoch) => since(step_end.unwrap_or(epoch.began).max(epoch.began)).min(ahead.step),
        None => since(step_end.unwrap_or_default().max(fit.laps.cut_at())).min(ahead.step),
    }
}
