//! Lap choice: which windows of steps the laps of a training without epochs are.

use crate::laps::Laps;
use crate::window::{Pause, Window};

/// Laps there should be at least, and less than twice as many, where nothing else parts them.
const FEWEST_LAPS: u64 = 16;
/// Laps between evaluations or checkpoints; of more, neighbours are joined.
const MOST_LAPS: usize = 256;
/// Evaluations are regular when this share of their distances is near the middle one …
const REGULAR: f64 = 0.75;
/// … which means within this part of it.
const NEAR: f64 = 0.25;

/// The laps among these parts: windows of so many steps where that was asked for, else what lies between
/// evaluations or checkpoints, else windows of a power of two of steps. `over` says that no step will follow.
pub(crate) fn chosen(laps: &Laps, parts: Vec<Window>, asked: Option<u64>, over: bool) -> Vec<Window> {
    if let Some(steps) = asked {
        return of_steps(parts, steps.max(1), over);
    }
    let evaluated = |pause: &Pause| pause.evaluated && laps.is_kept(pause);
    let saved = |pause: &Pause| pause.saved && laps.is_kept(pause);
    if are_regular(&pauses(&parts, evaluated)) {
        return between(parts, evaluated, over);
    }
    if are_regular(&pauses(&parts, saved)) {
        return between(parts, saved, over);
    }
    let steps = parts.last().map_or(0, Window::last_step);
    of_steps(parts, power_of_two(steps), over)
}

/// The steps of a lap so that there are 16 to 32; single steps where there are fewer.
fn power_of_two(steps: u64) -> u64 {
    (steps / FEWEST_LAPS).checked_ilog2().map_or(1, |log| 1 << log)
}

/// Steps of the fit before each such pause.
fn pauses(parts: &[Window], counts: impl Fn(&Pause) -> bool) -> Vec<u64> {
    parts.iter().filter(|part| counts(&part.pause)).map(Window::last_step).collect()
}

/// Whether training paused at least twice, and mostly after as many steps.
fn are_regular(pauses: &[u64]) -> bool {
    let before = std::iter::once(0).chain(pauses.iter().copied());
    let mut distances: Vec<u64> =
        pauses.iter().zip(before).map(|(at, before)| at.saturating_sub(before)).filter(|d| *d > 0).collect();
    distances.sort_unstable();
    let Some(middle) = distances.get(distances.len() / 2).copied() else { return false };
    // One step more or less is how scripts count.
    let near = |distance: &&u64| distance.abs_diff(middle) as f64 <= (middle as f64 * NEAR).max(1.0);
    let regular = distances.iter().filter(near).count() as f64 >= REGULAR * distances.len() as f64;
    pauses.len() >= 2 && middle >= 2 && regular
}

fn between(parts: Vec<Window>, parts_laps: impl Fn(&Pause) -> bool, over: bool) -> Vec<Window> {
    let mut laps = joined(parts, over, |part, _| parts_laps(&part.pause));
    while laps.len() > MOST_LAPS {
        laps = joined_in_pairs(&laps);
    }
    laps
}

fn joined_in_pairs(laps: &[Window]) -> Vec<Window> {
    let pair = |pair: &[Window]| {
        let mut lap = pair[0].clone();
        pair[1..].iter().for_each(|next| lap.join(next));
        lap
    };
    laps.chunks(2).map(pair).collect()
}

/// Laps that end at the cuts nearest to multiples of so many steps.
fn of_steps(parts: Vec<Window>, steps: u64, over: bool) -> Vec<Window> {
    let mut goal = steps;
    joined(parts, over, |part, next| {
        let end = part.last_step();
        let nearest = |next: &Window| next.last_step() > goal && goal - end <= next.last_step() - goal;
        let ends = end >= goal || next.is_some_and(nearest);
        if ends {
            goal = ((end + steps / 2) / steps + 1).saturating_mul(steps);
        }
        ends
    })
}

/// Joins neighbours into laps; `ends` says whether one ends with a part, given the part that follows it.
fn joined(
    parts: Vec<Window>,
    over: bool,
    mut ends: impl FnMut(&Window, Option<&Window>) -> bool,
) -> Vec<Window> {
    let mut laps: Vec<Window> = Vec::new();
    let mut is_open = false;
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        let is_over = part.complete && ends(&part, parts.peek());
        match laps.last_mut().filter(|_| is_open) {
            Some(lap) => lap.join(&part),
            None => laps.push(part),
        }
        is_open = !is_over;
    }
    if let Some(last) = laps.last_mut().filter(|_| is_open) {
        last.complete &= over;
    }
    laps
}
