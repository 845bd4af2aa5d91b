//! Clocks: how far the wall clock of one rank is from that of another, by the moments at which both go on together.
//!
//! No rank can leave a meeting before the others have come to it. So every meeting bounds the distance of two clocks
//! from both sides, and all meetings together bound it tightly. Only timelines need this.

use super::joined::{Member, Tile};
use crate::report::ClockDistance;
use crate::statistics::{mean, median};

/// Fewer meetings than this say nothing of how fast a clock runs away.
const FEWEST: usize = 12;
/// No clock of a computer runs away faster from another's, seconds a second.
const MOST_DRIFT: f64 = 5e-4;

/// What one meeting says of two clocks: when it was, and between what their distance lies, seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) at: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What is added to the wall clock of a member to have that of the first one.
pub(super) fn distance(members: &[Member<'_>], tiles: &[Tile<'_>], member: usize) -> Option<ClockDistance> {
    let wall = |member: usize, tile: &Tile<'_>| {
        let Member { process, .. } = members.get(member)?;
        let meeting = tile.meetings.get(member)?;
        let left = process.clock.unix_seconds(meeting.left, &process.timebase())?;
        Some((left - f64::from(meeting.stay) * members[member].tick(), left))
    };
    let bounds = tiles.iter().filter_map(|tile| {
        let ((came, left), (came_first, left_first)) = (wall(member, tile)?, wall(0, tile)?);
        Some(Bounds { at: left, low: came_first - left, high: left_first - came })
    });
    of_bounds(&bounds.collect::<Vec<_>>())
}

/// The distance that fits all bounds, and how far from it the truth may be.
pub(super) fn of_bounds(bounds: &[Bounds]) -> Option<ClockDistance> {
    if bounds.len() < FEWEST {
        return None;
    }
    let middle = mean(&bounds.iter().map(|one| one.at).collect::<Vec<_>>())?;
    let with = |drift: f64| {
        let level = |value: f64, at: f64| value - drift * (at - middle);
        let low = bounds.iter().map(|one| level(one.low, one.at)).fold(f64::NEG_INFINITY, f64::max);
        let high = bounds.iter().map(|one| level(one.high, one.at)).fold(f64::INFINITY, f64::min);
        (low, high)
    };
    // Two clocks that keep their distance need no drift to fit all bounds.
    let fits = with(0.0).0 <= with(0.0).1;
    let drift = if fits { 0.0 } else { drift(bounds)? };
    let (low, high) = with(drift);
    // Bounds that still cross fit no two clocks: some end was seen late, and nothing can be told.
    let is_told = low <= high && drift.abs() <= MOST_DRIFT;
    is_told.then_some(ClockDistance { seconds: 0.5 * (low + high), bound_s: 0.5 * (high - low), drift })
}

/// How much faster the distance grows, seconds a second: from the first third of the meetings to the last.
fn drift(bounds: &[Bounds]) -> Option<f64> {
    let third = bounds.len() / 3;
    let of = |part: &[Bounds]| {
        let at = mean(&part.iter().map(|one| one.at).collect::<Vec<_>>())?;
        Some((at, median(&part.iter().map(|one| 0.5 * (one.low + one.high)).collect::<Vec<_>>())?))
    };
    let (first, last) = (of(&bounds[..third])?, of(&bounds[bounds.len() - third..])?);
    (last.0 > first.0).then(|| (last.1 - first.1) / (last.0 - first.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;

    #[test]
    fn offsets_and_drifts_of_clocks_are_found_within_the_stated_bound() {
        let mut told = 0;
        for trial in 0..100 {
            let mut chance = Chance::new(trial);
            let (offset, drift) = (20.0 * chance.uniform() - 10.0, 1e-4 * (chance.uniform() - 0.5));
            let bounds: Vec<Bounds> = (0..400)
                .map(|at| {
                    let at = f64::from(at) * 0.05;
                    // Each came some time before both left, and was told of it a little late.
                    let (came, came_first) = (0.02 * chance.uniform(), 0.02 * chance.uniform());
                    let (late, late_first) = (2e-4 * chance.uniform(), 2e-4 * chance.uniform());
                    let truth = offset + drift * (at - 10.0);
                    let last = came.min(came_first).min(2e-3);
                    let low = truth - came_first.min(last) - late;
                    Bounds { at, low, high: truth + came.min(last) + late_first }
                })
                .collect();
            let Some(found) = of_bounds(&bounds) else { continue };
            told += 1;
            assert!((found.seconds - offset).abs() <= found.bound_s + 5e-4, "{found:?}, not {offset}");
            assert!((found.drift - drift).abs() < 1e-4, "{found:?}, not {drift}");
            assert!(found.bound_s < 2e-3);
        }
        assert!(told >= 50, "{told} of 100");
        assert_eq!(of_bounds(&[]), None);
    }
}
