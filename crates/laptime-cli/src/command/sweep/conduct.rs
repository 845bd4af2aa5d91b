//! Conducts a sweep: turn after turn, within its time, keeping everything after each repeat.

use std::time::Duration;

use laptime_analyse::sweep::{Repeat, SweepStatus, Turn, next_turn};

use super::state::SweepState;

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
    fn measure(&mut self, state: &SweepState, turn: Turn, limit: Option<Duration>) -> Attempt;
    /// Since the sweep was started or resumed.
    fn elapsed(&self) -> Duration;
    /// Keeps the sweep and reports its progress; called after every repeat.
    fn keep(&mut self, state: &SweepState);
}

/// Makes every repeat that is wanted; the sweep then says how it stands.
pub(super) fn conduct(state: &mut SweepState, world: &mut dyn World) {
    let before = state.wall_s;
    state.status = loop {
        let Some(turn) = next_turn(&state.plan, &state.repeats) else { break SweepStatus::Finished };
        if budget_is_spent(state, turn, world.elapsed()) {
            break SweepStatus::BudgetSpent;
        }
        match world.measure(state, turn, limit(state, turn, world.elapsed())) {
            Attempt::Made(repeat) => state.repeats.push(*repeat),
            Attempt::Interrupted => break SweepStatus::Interrupted,
        }
        state.wall_s = before + world.elapsed().as_secs_f64();
        world.keep(state);
    };
    state.wall_s = before + world.elapsed().as_secs_f64();
    world.keep(state);
}

/// The slowest of some repeats that ended by themselves.
fn slowest<'a>(repeats: impl Iterator<Item = &'a Repeat>) -> Option<Duration> {
    let finished = repeats.filter(|repeat| repeat.outcome.reason().is_none());
    let slowest = finished.map(|repeat| repeat.measured.wall_s).reduce(f64::max)?;
    Duration::try_from_secs_f64(slowest).ok()
}

fn of_point(state: &SweepState, point: usize) -> impl Iterator<Item = &Repeat> {
    state.repeats.iter().filter(move |repeat| repeat.point == point)
}

/// Whether the time is over, or too short for what the point took before.
pub(super) fn budget_is_spent(state: &SweepState, turn: Turn, elapsed: Duration) -> bool {
    let Some(budget) = state.limits.budget() else { return false };
    let left = budget.saturating_sub(elapsed);
    left.is_zero() || slowest(of_point(state, turn.point)).is_some_and(|took| took > left)
}

/// When to end a repeat. What was asked for counts alone; else no sooner than anything measured suggests.
pub(super) fn limit(state: &SweepState, turn: Turn, elapsed: Duration) -> Option<Duration> {
    if let Some(timeout) = state.limits.timeout_s {
        return Duration::try_from_secs_f64(timeout).ok();
    }
    let left = state.limits.budget().map(|budget| budget.saturating_sub(elapsed));
    if let Some(took) = slowest(of_point(state, turn.point)) {
        return Some(took.mul_f64(TIMES_ITS_OWN).max(SHORTEST_OWN));
    }
    let first = slowest(state.repeats.iter()).map(|took| took.mul_f64(TIMES_THE_SLOWEST).max(SHORTEST_FIRST));
    // One that hangs must leave time for the others.
    let half = left.map(|left| left / 2);
    match (first, half) {
        (Some(first), Some(half)) => Some(first.min(half)),
        (first, half) => first.or(half),
    }
}

#[cfg(test)]
mod tests;
