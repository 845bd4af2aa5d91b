//! Conducts a sweep: turn after turn, within its time, keeping everything after each repeat.

use std::time::Duration;

use laptime_analyse::sweep::{Repeat, SweepStatus, Turn, next_turn};

use super::kept::Kept;

/// A repeat takes no longer than this many times what its point took before.
const TIMES_ITS_OWN: f64 = 10.0;
/// The first of a point may be far slower than the others': rows from 1e3 to 1e6 are a thousand times as many.
const TIMES_THE_SLOWEST: f64 = 100.0;
/// No repeat is ended before this, by its point's own time and by the others'.
const SHORTEST_OWN: Duration = Duration::from_secs(60);
const SHORTEST_FIRST: Duration = Duration::from_secs(600);

/// How an attempt to measure a point went.
pub(super) enum Attempt {
    /// It was made, well or not.
    Made(Box<Repeat>),
    /// Somebody stopped the sweep; nothing of it counts.
    Interrupted,
}

/// What a sweep asks of the world; tests script it.
pub(super) trait World {
    /// Measures a point once, ending it after that time.
    fn measure(&mut self, kept: &Kept, turn: Turn, limit: Option<Duration>) -> Attempt;
    /// Since the sweep was started or resumed.
    fn elapsed(&self) -> Duration;
    /// Keeps the sweep and reports its progress; called after every repeat.
    fn keep(&mut self, kept: &Kept);
}

/// Makes every repeat that is wanted; the sweep then says how it stands.
pub(super) fn conduct(kept: &mut Kept, world: &mut dyn World) {
    let before = kept.wall_s;
    kept.status = loop {
        let Some(turn) = next_turn(&kept.plan, &kept.repeats) else { break SweepStatus::Finished };
        if budget_is_spent(kept, turn, world.elapsed()) {
            break SweepStatus::BudgetSpent;
        }
        match world.measure(kept, turn, limit(kept, turn, world.elapsed())) {
            Attempt::Made(repeat) => kept.repeats.push(*repeat),
            Attempt::Interrupted => break SweepStatus::Interrupted,
        }
        kept.wall_s = before + world.elapsed().as_secs_f64();
        world.keep(kept);
    };
    kept.wall_s = before + world.elapsed().as_secs_f64();
    world.keep(kept);
}

/// The slowest of some repeats that ended by themselves.
fn slowest<'a>(repeats: impl Iterator<Item = &'a Repeat>) -> Option<Duration> {
    let finished = repeats.filter(|repeat| repeat.outcome.reason().is_none());
    let slowest = finished.map(|repeat| repeat.measured.wall_s).reduce(f64::max)?;
    Duration::try_from_secs_f64(slowest).ok()
}

fn of_point(kept: &Kept, point: usize) -> impl Iterator<Item = &Repeat> {
    kept.repeats.iter().filter(move |repeat| repeat.point == point)
}

/// Whether the time is over, or too short for what the point took before.
fn budget_is_spent(kept: &Kept, turn: Turn, elapsed: Duration) -> bool {
    let Some(budget) = kept.limits.budget() else { return false };
    let left = budget.saturating_sub(elapsed);
    left.is_zero() || slowest(of_point(kept, turn.point)).is_some_and(|took| took > left)
}

/// When to end a repeat. What was asked for counts alone; else no sooner than anything measured suggests.
fn limit(kept: &Kept, turn: Turn, elapsed: Duration) -> Option<Duration> {
    if let Some(timeout) = kept.limits.timeout_s {
        return Duration::try_from_secs_f64(timeout).ok();
    }
    let left = kept.limits.budget().map(|budget| budget.saturating_sub(elapsed));
    if let Some(took) = slowest(of_point(kept, turn.point)) {
        return Some(took.mul_f64(TIMES_ITS_OWN).max(SHORTEST_OWN));
    }
    let first = slowest(kept.repeats.iter()).map(|took| took.mul_f64(TIMES_THE_SLOWEST).max(SHORTEST_FIRST));
    // One that hangs must leave time for the others.
    let half = left.map(|left| left / 2);
    match (first, half) {
        (Some(first), Some(half)) => Some(first.min(half)),
        (first, half) => first.or(half),
    }
}

#[cfg(test)]
mod tests;
