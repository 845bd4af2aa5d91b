//! Blame: the stage in which late ranks take longer than the others.

use std::collections::BTreeMap;

use laptime_core::StageId;

use super::joined::{Joined, Tile};
use crate::statistics::median;

/// A stage and how much longer it takes in a step, seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Blamed {
    pub(super) stage: String,
    pub(super) excess_s: f64,
}

/// Where some members spend more than the member in the middle of the others, over all tiles.
pub(super) fn of_members(joined: &Joined<'_>, late: &[bool]) -> Option<Blamed> {
    let steps = joined.tiles.chunk_by(|a, b| a.step == b.step).count().max(1) as f64;
    let sums: Vec<BTreeMap<String, f64>> =
        (0..joined.members.len()).map(|member| of_member(joined, joined.tiles.iter(), member)).collect();
    let mut blamed = most(&sums, late)?;
    blamed.excess_s /= steps;
    Some(blamed)
}

/// Where one member spent more than the member in the middle of the others in one tile.
pub(super) fn in_tile(joined: &Joined<'_>, tile: &Tile<'_>, last: usize) -> Option<Blamed> {
    let members = 0..joined.members.len();
    let sums: Vec<_> = members.clone().map(|member| of_member(joined, [tile].into_iter(), member)).collect();
    most(&sums, &members.map(|member| member == last).collect::<Vec<_>>())
}

/// Where whoever came last in each tile spent more than all spent on average.
pub(super) fn of_the_last(joined: &Joined<'_>) -> Option<Blamed> {
    let world = joined.members.len();
    let steps = joined.tiles.chunk_by(|a, b| a.step == b.step).count().max(1) as f64;
    let mut excess: BTreeMap<String, f64> = BTreeMap::new();
    for tile in &joined.tiles {
        let Some(last) = (0..world).max_by(|a, b| tile.worked[*a].total_cmp(&tile.worked[*b])) else {
            continue;
        };
        for member in 0..world {
            let weight = if member == last { 1.0 - 1.0 / world as f64 } else { -1.0 / world as f64 };
            for (stage, seconds) in joined.members[member].work(tile.meetings[member]) {
                if can_be_blamed(stage) {
                    let name = joined.members[member].process.names.name(stage);
                    *excess.entry(name).or_default() += weight * seconds;
                }
            }
        }
    }
    let (stage, excess_s) = excess.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (excess_s > 0.0).then(|| Blamed { stage, excess_s: excess_s / steps })
}

fn of_member<'a, 'b: 'a>(
    joined: &Joined<'b>,
    tiles: impl Iterator<Item = &'a Tile<'b>>,
    member: usize,
) -> BTreeMap<String, f64> {
    let known = &joined.members[member];
    let mut by_number: BTreeMap<StageId, f64> = BTreeMap::new();
    for tile in tiles {
        for (stage, seconds) in known.work(tile.meetings[member]).filter(|(stage, _)| can_be_blamed(*stage)) {
            *by_number.entry(stage).or_default() += seconds;
        }
    }
    let mut by_name = BTreeMap::new();
    for (stage, seconds) in by_number {
        *by_name.entry(known.process.names.name(stage)).or_default() += seconds;
    }
    by_name
}

fn most(sums: &[BTreeMap<String, f64>], late: &[bool]) -> Option<Blamed> {
    let names = sums.iter().zip(late).filter(|(_, late)| **late).flat_map(|(sums, _)| sums.keys());
    let of = |stage: &String, is_late: bool| -> Vec<f64> {
        let sums = sums.iter().zip(late).filter(|(_, late)| **late == is_late);
        sums.map(|(sums, _)| sums.get(stage).copied().unwrap_or(0.0)).collect()
    };
    let excess = names.filter_map(|stage| {
        let excess_s = median(&of(stage, true))? - median(&of(stage, false))?;
        (excess_s > 0.0).then(|| Blamed { stage: stage.clone(), excess_s })
    });
    excess.max_by(|a, b| a.excess_s.total_cmp(&b.excess_s))
}

/// Waiting is what others do to a rank.
fn can_be_blamed(stage: StageId) -> bool {
    stage != StageId::COMMUNICATION
}
