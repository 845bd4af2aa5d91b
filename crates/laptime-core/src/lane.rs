//! Lanes: where a recording thread stands, and what its stages add up to.

use crate::{StageId, Ticks};

/// The totals of one stage on one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTotal {
    /// The stage.
    pub stage: StageId,
    /// Its exclusive time so far.
    pub own: Ticks,
    /// Spans that ended so far.
    pub count: u64,
}

/// A stage that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenStage {
    /// The stage.
    pub stage: StageId,
    /// When it began.
    pub start: Ticks,
    /// How much of its time so far belongs to stages inside it that have ended.
    pub children: Ticks,
}

/// Where one thread stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneState {
    /// The lane.
    pub lane: u32,
    /// When this was read; of a dead process, the last instant known of the lane.
    pub at: Ticks,
    /// Open stages from the outermost; the first is the background (`start_up`, `unaccounted`, …).
    pub open: Vec<OpenStage>,
    /// Totals of the stages used so far, open ones not included.
    pub totals: Vec<StageTotal>,
    /// Events that found the ring full.
    pub dropped: u64,
}
