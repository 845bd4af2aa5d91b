//! What a framework does with a device besides computing: copies to it, and waiting for it.

use laptime_core::StageId;

use super::Training;
use crate::explicit::{enter, exit};

/// What work was launched for before a copy or a wait; handed back when that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before(pub StageId);

impl Training {
    /// What follows is captured into a graph, which computes it only when it is replayed: no hook's call is a
    /// stage meanwhile, and none takes a step.
    pub fn begin_capture(&mut self) {
        self.is_capturing = true;
    }

    /// The graph is captured.
    pub fn end_capture(&mut self) {
        self.is_capturing = false;
    }

    /// Whether a graph is being captured.
    #[inline]
    #[must_use]
    pub fn is_capturing(&self) -> bool {
        self.is_capturing
    }

    /// Something is copied to a device, or the host waits for it, as this stage.
    pub fn begin_device_work(&mut self, stage: StageId) -> Before {
        let before = self.boundaries.stage();
        self.boundaries.pass(stage);
        enter(stage);
        Before(before)
    }

    /// The copy or the wait has ended.
    pub fn end_device_work(&mut self, stage: StageId, before: Before) {
        self.boundaries.pass(before.0);
        exit(stage);
    }
}
