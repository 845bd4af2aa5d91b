//! Stretches: time of the innermost stage that gets a name only when it ends.

use std::sync::atomic::Ordering::Relaxed;

use laptime_core::{StageId, Ticks};

use crate::active::wake_flusher;
use crate::lane::{Lane, Pushed};

/// Where a stretch began: a stage around it that ends takes the stretch with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// How deep the stages were then, and when the innermost one began.
    pub(crate) depth: u64,
    pub(crate) stage_start: u64,
    pub(crate) since: Ticks,
    /// What the children of the innermost stage had taken by then.
    pub(crate) children: Ticks,
}

impl Stretch {
    /// A stretch that begins now.
    #[inline]
    pub(crate) fn begin(lane: Lane, now: Ticks) -> Self {
        let (depth, frame) = lane.innermost();
        let children = Ticks(frame.children.load(Relaxed));
        Self { depth: depth as u64, stage_start: frame.start.load(Relaxed), since: now, children }
    }

    /// Whether the stage it began in is still the innermost one.
    #[inline]
    pub(crate) fn is_under_way(&self, lane: Lane) -> bool {
        let (depth, frame) = lane.innermost();
        self.depth == depth as u64 && self.stage_start == frame.start.load(Relaxed)
    }

    /// Books the innermost stage's own time since the beginning on `stage`.
    #[inline]
    pub(crate) fn end(self, lane: Lane, stage: StageId, now: Ticks) -> Pushed {
        lane.split_off(stage, self.since, self.children, now)
    }

    /// Books it unless the stage around it has changed meanwhile.
    #[inline]
    pub(crate) fn end_if_under_way(self, lane: Lane, stage: StageId, now: Ticks) {
        if self.is_under_way(lane) && self.end(lane, stage, now) == Pushed::Wake {
            wake_flusher();
        }
    }
}
