//! Boundaries: where in a step a device is looked at, so that its own time of each stage is known.
//!
//! A boundary is an event put into the stream that the framework uses at that moment. It takes 1 to 2 us, and a
//! step with all its stages has about a dozen: of short steps only some are looked at that closely.

use std::sync::OnceLock;

use laptime_core::{StageId, Ticks};

use crate::clock::now;
use crate::device;

/// All boundaries of a step take at most 0.5 % of one that is as long as this, in ticks: 4 ms by most time stamp
/// counters, 8 ms by the monotonic clock.
const SHORTEST_IN_DETAIL: u64 = 1 << 23;
/// At least one step of so many is looked at in detail, however short they are.
const MOST_PASSED_OVER: u64 = 64;

/// What says which stream the framework uses on the calling thread; `None` where it uses no device.
static STREAM: OnceLock<fn() -> Option<usize>> = OnceLock::new();

/// Streams are known from here on by asking `source`.
pub fn streams_from(source: fn() -> Option<usize>) {
    STREAM.get_or_init(|| source);
}

/// The stream that the framework uses on the calling thread, while times of its device are taken.
#[must_use]
pub fn current_stream() -> Option<usize> {
    if device::is_on() { STREAM.get().and_then(|source| source()) } else { None }
}

/// The boundaries of one thread's steps.
pub(super) struct Boundaries {
    /// Whether the step under way is looked at in detail.
    in_detail: bool,
    /// What the newest boundary says that work is launched for, and in which stream.
    newest: Option<(usize, StageId)>,
    step_began: Ticks,
    /// Steps until the next one that is looked at.
    passed_over: u64,
    /// The evaluation or checkpoint under way: all work is its.
    pause: Option<StageId>,
}

impl Boundaries {
    pub(super) const fn new() -> Self {
        Self { in_detail: true, newest: None, step_began: Ticks(0), passed_over: 0, pause: None }
    }

    /// Within a step: work is launched for another stage from here on.
    #[inline]
    pub(super) fn pass(&mut self, stage: StageId) {
        // Asked here, so that a training without a device touches no more code than that.
        if device::is_on() && self.in_detail {
            self.put(stage);
        }
    }

    /// A moment at which something may begin or end, whatever step is under way.
    #[inline]
    pub(super) fn mark(&mut self, stage: StageId) {
        if !device::is_on() {
            return;
        }
        self.newest = None;
        self.put(if self.in_detail { stage } else { StageId::UNACCOUNTED });
    }

    /// A step ends and the next one begins.
    #[inline]
    pub(super) fn begin_step(&mut self, stage: StageId) {
        if !device::is_on() {
            return;
        }
        let at = now();
        let length = at.since(self.step_began).0.max(1);
        self.step_began = at;
        self.in_detail = self.passed_over == 0;
        self.passed_over = if self.in_detail {
            (SHORTEST_IN_DETAIL / length).min(MOST_PASSED_OVER)
        } else {
            self.passed_over - 1
        };
        self.mark(stage);
    }

    /// Something that is no step begins: all of it is looked at, and all of it is one stage.
    pub(super) fn begin_pause(&mut self, stage: StageId) {
        (self.in_detail, self.pause) = (true, Some(stage));
        self.mark(stage);
    }

    /// Steps may go on.
    pub(super) fn end_pause(&mut self) {
        self.pause = None;
        self.mark(StageId::BETWEEN_EPOCHS);
    }

    /// What work is launched for at this moment, as far as it is looked at.
    pub(super) fn stage(&self) -> StageId {
        self.newest.map_or(StageId::UNACCOUNTED, |(_, stage)| stage)
    }

    #[cold]
    fn put(&mut self, stage: StageId) {
        let Some(stream) = current_stream() else { return };
        let stage = self.pause.unwrap_or(stage);
        if self.newest != Some((stream, stage)) {
            self.newest = Some((stream, stage));
            device::boundary(stream, stage);
        }
    }
}
