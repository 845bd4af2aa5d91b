//! One-off: a single moment in which one rank held all others up for long.

use super::advantage::saved;
use super::blame::{Blamed, in_tile};
use super::joined::Joined;

/// What is lost at once is worth a word from this share of the time on, and from this many usual steps.
const MUCH: f64 = 0.02;
const UNUSUAL: f64 = 10.0;

/// A rank that was late once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OneOff {
    pub(super) member: usize,
    pub(super) step: u32,
    pub(super) lost_s: f64,
    pub(super) blamed: Option<Blamed>,
}

/// The longest of them; `None` where nothing of the kind happened.
pub(super) fn one_off(joined: &Joined<'_>) -> Option<OneOff> {
    let world = joined.members.len();
    let least = (MUCH * joined.covered_s()).max(UNUSUAL * joined.usual_step());
    let found = joined.longest().into_iter().filter_map(|tile| {
        let last = (0..world).max_by(|a, b| tile.worked[*a].total_cmp(&tile.worked[*b]))?;
        let late: Vec<bool> = (0..world).map(|member| member == last).collect();
        let lost_s = saved(&tile, &late);
        // What all ranks do at the same time, such as compiling, is nobody's delay.
        let blamed = in_tile(joined, &tile, last);
        (lost_s >= least && lost_s >= 0.5 * tile.length).then_some(OneOff {
            member: last,
            step: tile.step,
            lost_s,
            blamed,
        })
    });
    found.max_by(|a, b| a.lost_s.total_cmp(&b.lost_s))
}
