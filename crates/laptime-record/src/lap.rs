//! Laps: stretches named at their end, one after the other, with one reading of the clock each.

use std::sync::atomic::Ordering::Relaxed;

use laptime_core::{StageId, Ticks};

use crate::active::wake_flusher;
use crate::clock::now;
use crate::lane::{Lane, Pushed};
use crate::stretch::Stretch;
use crate::thread_lane::current_lane;

/// The lap that is under way; the first within a stage began with the stage.
#[inline]
fn under_way(lane: Lane, now: Ticks) -> Stretch {
    let [depth, stage_start, since, children] = lane.0.lap.each_ref().map(|word| word.load(Relaxed));
    let known = Stretch { depth, stage_start, since: Ticks(since), children: Ticks(children) };
    if known.is_under_way(lane) { known } else { first_in_stage(lane, now) }
}

#[cold]
fn first_in_stage(lane: Lane, now: Ticks) -> Stretch {
    let (depth, frame) = lane.innermost();
    let open = frame.open_stage();
    // Outside a stage and an epoch nothing says when the work that ends here began.
    if depth == 1 && open.stage != StageId::UNACCOUNTED {
        return Stretch::begin(lane, now);
    }
    Stretch { depth: depth as u64, stage_start: open.start.0, since: open.start, children: Ticks(0) }
}

/// A lap begins here: what came before belongs to none.
#[inline]
pub(crate) fn begin_lap(lane: Lane, now: Ticks) {
    let Stretch { depth, stage_start, since, children } = Stretch::begin(lane, now);
    let words = [depth, stage_start, since.0, children.0];
    lane.0.lap.iter().zip(words).for_each(|(place, word)| place.store(word, Relaxed));
}

/// Books the lap under way on a stage and begins the next.
#[inline]
pub(crate) fn end_lap(lane: Lane, stage: StageId, now: Ticks) -> Pushed {
    let pushed = under_way(lane, now).end(lane, stage, now);
    begin_lap(lane, now);
    pushed
}

/// Books the time since the last lap on this stage, or since the stage, epoch or batch around it began.
#[inline]
pub fn lap(stage: StageId) {
    if let Some(lane) = current_lane()
        && end_lap(lane, stage, now()) == Pushed::Wake
    {
        wake_flusher();
    }
}
