//! Steps of a framework that returns before it has computed: each goes on record once its end is known.

use std::collections::VecDeque;

use laptime_core::{StageId, Ticks};

use crate::batch_log::equal_parts;
use crate::clock::now;
use crate::explicit::{enter, exit, step};

/// The steps of one pass over the data.
pub(super) struct LateSteps {
    is_waiting: bool,
    /// Samples and steps of the newest call, until it is submitted.
    newest: (u32, u32),
    submitted: VecDeque<Submitted>,
    /// Until when steps are on record.
    recorded: Ticks,
}

/// One call that computes one or more steps.
#[derive(Clone, Copy, Debug)]
struct Submitted {
    /// The number of its last batch.
    batch: u64,
    samples: u32,
    steps: u32,
    computed: Option<Ticks>,
}

impl LateSteps {
    pub(super) fn begin() -> Self {
        Self { is_waiting: false, newest: (0, 0), submitted: VecDeque::new(), recorded: now() }
    }

    /// The next batch is requested, and the wait begins.
    pub(super) fn request(&mut self) {
        self.record_computed();
        enter(StageId::DATA_WAIT);
        self.is_waiting = true;
    }

    /// The batch is here, or there is none.
    pub(super) fn end_wait(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            exit(StageId::DATA_WAIT);
        }
    }

    /// The call under way takes so many steps, with this many samples in all.
    pub(super) fn count(&mut self, samples: u32, steps: u32) {
        self.newest = (samples, steps);
    }

    /// The call has returned.
    pub(super) fn submit(&mut self, batch: u64) {
        let (samples, steps) = std::mem::take(&mut self.newest);
        if steps > 0 {
            self.submitted.push_back(Submitted { batch, samples, steps, computed: None });
        }
    }

    /// The results of a call are there.
    pub(super) fn compute(&mut self, batch: u64, at: Ticks) {
        if let Some(call) = self.submitted.iter_mut().find(|call| call.batch == batch) {
            call.computed = Some(at);
        }
    }

    /// Everything was waited for: calls whose end nobody saw count for equal parts of the time left.
    pub(super) fn end(&mut self) {
        self.end_wait();
        self.record_computed();
        let left = self.submitted.iter().map(|call| u64::from(call.steps)).sum::<u64>().max(1);
        let time = now().since(self.recorded).0;
        for call in std::mem::take(&mut self.submitted) {
            self.record(call, self.recorded.plus(Ticks(time * u64::from(call.steps) / left)));
        }
    }

    /// Puts the calls that are computed on record, in their order.
    fn record_computed(&mut self) {
        while let Some((call, at)) = self.submitted.front().and_then(|call| Some((*call, call.computed?))) {
            self.submitted.pop_front();
            self.record(call, at.max(self.recorded));
        }
    }

    fn record(&mut self, call: Submitted, end: Ticks) {
        for (start, end, samples) in equal_parts((self.recorded, end), call.samples, call.steps) {
            step(start, end, samples, None);
        }
        self.recorded = end;
    }
}
