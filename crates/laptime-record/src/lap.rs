//! Laps: stretches named at their end, one after the other, with one reading of the clock each.

use std::sync::atomic::Ordering::Relaxed;

use laptime_core::{StageId, Ticks};

use crate::clock::now;
use crate::lane::{Lane, Pushed};
use crate::recorder::wake_flusher;
use crate::thread_lane::current_lane;

/// Where a stretch began.
#[derive(Clone, Copy, Debug)]
struct Lap {
    /// How deep the stages were then, and when the innermost one began: laps end with the stage around them.
    depth: u64,
    stage_start: u64,
    since: Ticks,
    children: Ticks,
}

impl Lap {
    /// A stretch that begins now.
    #[inline]
    fn at(lane: Lane, now: Ticks) -> Self {
        let (depth, frame) = lane.innermost();
        let children = Ticks(frame.children.load(Relaxed));
        Self { depth: depth as u64, stage_start: frame.start.load(Relaxed), since: now, children }
    }

    /// The stretch that is under way; the first within a stage began with the stage.
    #[inline]
    fn under_way(lane: Lane, now: Ticks) -> Self {
        let (depth, frame) = lane.innermost();
        let [known_depth, stage_start, since, children] =
            lane.0.lap.each_ref().map(|word| word.load(Relaxed));
        if known_depth != depth as u64 || stage_start != frame.start.load(Relaxed) {
            return Self::first_in_stage(lane, now);
        }
        Self { depth: known_depth, stage_start, since: Ticks(since), children: Ticks(children) }
    }

    #[cold]
    fn first_in_stage(lane: Lane, now: Ticks) -> Self {
        let (depth, frame) = lane.innermost();
        let open = frame.open_stage();
        // Outside a stage and an epoch nothing says when the work that ends here began.
        if depth == 1 && open.stage != StageId::UNACCOUNTED {
            return Self::at(lane, now);
        }
        Self { depth: depth as u64, stage_start: open.start.0, since: open.start, children: Ticks(0) }
    }

    #[inline]
    fn keep(self, lane: Lane) {
        let words = [self.depth, self.stage_start, self.since.0, self.children.0];
        lane.0.lap.iter().zip(words).for_each(|(place, word)| place.store(word, Relaxed));
    }
}

/// A stretch begins here: what came before belongs to no lap.
#[inline]
pub(crate) fn begin_lap(lane: Lane, now: Ticks) {
    Lap::at(lane, now).keep(lane);
}

/// Books the stretch under way on a stage and begins the next.
#[inline]
pub(crate) fn end_lap(lane: Lane, stage: StageId, now: Ticks) -> Pushed {
    let lap = Lap::under_way(lane, now);
    let pushed = lane.split_off(stage, lap.since, lap.children, now);
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
