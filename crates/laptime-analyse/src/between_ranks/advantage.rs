//! Advantage: how much faster the same run would have been without the lateness of some ranks.
//!
//! Every tile is run again with what each rank did in it: a tile ends when the last rank has done its work and the
//! transfer is over. Where a rank is late, all others stood still for as long as it worked longer than they did; so
//! without it the tile ends that much sooner.

use laptime_core::Estimate;

use super::joined::{Joined, Tile};
use crate::statistics::{mean, t_width, variance};

const LEVEL: f64 = 0.95;
/// Stretches of tiles that are taken for independent of each other, for the interval.
const STRETCHES: usize = 20;
/// Fewer than this give no interval.
const FEWEST: usize = 4;

/// How much longer the ranks in `late` worked in a tile than the longest of the others, seconds.
pub(super) fn saved(tile: &Tile<'_>, late: &[bool]) -> f64 {
    let longest = |of: bool| {
        let worked = tile.worked.iter().zip(late).filter(|(_, is_late)| **is_late == of);
        worked.map(|(worked, _)| *worked).fold(0.0, f64::max)
    };
    (longest(true) - longest(false)).clamp(0.0, tile.length)
}

/// How much longer the last rank of a tile worked than the one in the middle, seconds.
pub(super) fn spread(tile: &Tile<'_>) -> f64 {
    let mut worked = tile.worked.clone();
    worked.sort_by(f64::total_cmp);
    let middle = worked.get((worked.len().max(1) - 1) / 2).copied().unwrap_or(0.0);
    worked.last().map_or(0.0, |last| (last - middle).clamp(0.0, tile.length))
}

/// The time of all tiles over the time they take when each is shorter by what `saves` says; `None` of few.
pub(super) fn speedup(joined: &Joined<'_>, saves: impl Fn(&Tile<'_>) -> f64) -> Option<Estimate> {
    let tiles = &joined.tiles;
    let stretches = STRETCHES.min(tiles.len());
    if stretches < FEWEST {
        return None;
    }
    let stretch = |at: usize| {
        let tiles = &tiles[at * tiles.len() / stretches..(at + 1) * tiles.len() / stretches];
        let took: f64 = tiles.iter().map(|tile| tile.length).sum();
        (took, took - tiles.iter().map(&saves).sum::<f64>())
    };
    let parts: Vec<(f64, f64)> = (0..stretches).map(stretch).collect();
    let (took, would): (f64, f64) =
        parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    // Never less than a thousandth: what is divided by must not be nothing.
    let would = would.max(1e-3 * took);
    let ratio = took / would;
    // The interval of a ratio of two sums.
    let off: Vec<f64> = parts.iter().map(|(took, would)| took - ratio * would).collect();
    let count = stretches as f64;
    let error = (variance(&off)? / count).sqrt() / mean(&[would / count])?;
    let half = t_width(LEVEL, count - 1.0) * error;
    Some(Estimate { mean: ratio, low: (ratio - half).max(1.0), high: ratio + half, level: LEVEL })
}
