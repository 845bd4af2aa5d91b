//! The steps of a loop over batches, for hooks that see the loop from outside.

use laptime_record::{BatchLog, guarded};
use pyo3::prelude::*;

/// One loop over batches, reported by a hook that sees it from outside.
#[pyclass]
#[derive(Default)]
pub(crate) struct StepLog(BatchLog);

#[pymethods]
impl StepLog {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The next batch is requested: the step before ends, and the wait begins.
    fn request(&mut self) {
        guarded((), || self.0.request());
    }

    /// The loop turns: the step before ends, and the next begins without a wait.
    fn turn(&mut self) {
        guarded((), || self.0.turn());
    }

    /// The wait for the batch of the step under way begins.
    fn wait(&mut self) {
        guarded((), || self.0.wait());
    }

    /// The batch is here, or what will bring it.
    fn arrived(&mut self, samples: u32) {
        guarded((), || self.0.arrived(samples));
    }

    /// The step under way is `steps` of them in one, with this many samples in all.
    fn takes(&mut self, samples: u32, steps: u32) {
        guarded((), || self.0.takes(samples, steps));
    }

    /// There is no further batch.
    fn ran_out(&mut self) {
        guarded((), || self.0.ran_out());
    }

    /// The loop is left.
    fn end(&mut self) {
        guarded((), || self.0.end());
    }
}
