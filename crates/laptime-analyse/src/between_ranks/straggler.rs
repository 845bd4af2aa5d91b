//! Straggler: whether the ranks wait for anybody in particular, and how those are late.

use laptime_core::Estimate;

use super::advantage::{saved, speedup, spread};
use super::blame::{Blamed, of_members, of_the_last};
use super::joined::Joined;
use super::lateness::Lateness;
use crate::report::Pattern;

/// A gain that nobody would act on.
const MATERIAL: f64 = 1.03;
/// What lateness in turns must cost to be worth a word; ranks are never quite even.
const TURNS: f64 = 1.10;
/// Ranks named together at most, and how often one of them must come last: nearly always.
const MOST_NAMED: usize = 16;
const TOGETHER: f64 = 0.9;

/// Whom the others wait for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) pattern: Pattern,
    /// Places among the members; empty where they take turns.
    pub(super) members: Vec<usize>,
    pub(super) share: Option<f64>,
    pub(super) speedup: Estimate,
    pub(super) blamed: Option<Blamed>,
}

/// Whom the others wait for all the time, or who takes turns at it; `None` where chance explains it.
pub(super) fn found(joined: &Joined<'_>, lateness: &Lateness) -> Option<Found> {
    chronic(joined, lateness).or_else(|| rotating(joined))
}

/// The fewest ranks that are late beyond chance, and without whom steps would be materially faster.
pub(super) fn chronic(joined: &Joined<'_>, lateness: &Lateness) -> Option<Found> {
    let order = lateness.by_lateness();
    let most = (order.len() / 2).clamp(1, MOST_NAMED);
    (1..=most).find_map(|count| {
        let mut members = order[..count].to_vec();
        let late = is_late(&members, order.len());
        let alone_or_always = count == 1 || lateness.share(&members) >= TOGETHER;
        let is_habit = alone_or_always && lateness.is_no_chance(&members);
        let speedup = is_habit.then(|| speedup(joined, |tile| saved(tile, &late)))?;
        let speedup = speedup.filter(|gain| gain.low >= MATERIAL)?;
        members.sort_unstable();
        let (share, blamed) = (lateness.share(&members), of_members(joined, &late));
        Some(Found { pattern: Pattern::Chronic, members, share: Some(share), speedup, blamed })
    })
}

fn rotating(joined: &Joined<'_>) -> Option<Found> {
    let speedup = speedup(joined, spread).filter(|gain| gain.low >= TURNS)?;
    let blamed = of_the_last(joined);
    Some(Found { pattern: Pattern::Rotating, members: Vec::new(), share: None, speedup, blamed })
}

fn is_late(members: &[usize], world: usize) -> Vec<bool> {
    (0..world).map(|member| members.contains(&member)).collect()
}
