//! Laps: stretches named at their end, one after the other, with one reading of the clock each.

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

use laptime_core::{StageId, Ticks};

use crate::clock::now;
use crate::lane::{Lane, Pushed};
use crate::recorder::wake_flusher;
use crate::thread_lane::current_lane;

/// Where the stretch under way began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lap {
    /// How deep the stages were then, and when the innermost one began: laps end with the stage around them.
    depth: usize,
    stage_start: u64,
    since: Ticks,
    children: Ticks,
}

impl Lap {
    /// A stretch that begins now.
    #[inline]
    pub(crate) fn begin(lane: Lane, now: Ticks) -> Self {
        let (depth, frame) = lane.innermost();
        let stage_start = frame.start.load(Relaxed);
        Self { depth, stage_start, since: now, children: Ticks(frame.children.load(Relaxed)) }
    }

    /// Books the stretch on a stage and begins the next.
    #[inline]
    pub(crate) fn end(&mut self, lane: Lane, stage: StageId, now: Ticks) -> Pushed {
        let (depth, frame) = lane.innermost();
        if self.depth != depth || self.stage_start != frame.start.load(Relaxed) {
            *self = first_in(lane, now);
        }
        let pushed = lane.split_off(stage, self.since, self.children, now);
        *self = Self::begin(lane, now);
        pushed
    }
}

/// The first stretch within a stage, which began with the stage.
#[cold]
fn first_in(lane: Lane, now: Ticks) -> Lap {
    let (depth, frame) = lane.innermost();
    let open = frame.open_stage();
    // Outside a stage and an epoch nothing says when the work that ends here began.
    if depth == 1 && open.stage != StageId::UNACCOUNTED {
        return Lap::begin(lane, now);
    }
    Lap { depth, stage_start: open.start.0, since: open.start, children: Ticks(0) }
}

thread_local! {
    static LAP: Cell<Lap> =
        const { Cell::new(Lap { depth: 0, stage_start: 0, since: Ticks(0), children: Ticks(0) }) };
}

/// Books the time since the last lap on this stage, or since the stage, epoch or batch around it began.
#[inline]
pub fn lap(stage: StageId) {
    let Some(lane) = current_lane() else { return };
    LAP.with(|place| {
        let mut lap = place.get();
        if lap.end(lane, stage, now()) == Pushed::Wake {
            wake_flusher();
        }
        place.set(lap);
    });
}

/// A stretch begins here: what came before belongs to no lap.
#[inline]
pub(crate) fn begin_lap(lane: Lane, now: Ticks) {
    LAP.with(|place| place.set(Lap::begin(lane, now)));
}
