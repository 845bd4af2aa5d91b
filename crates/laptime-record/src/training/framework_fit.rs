//! A fit whose framework runs the loop itself: it reports its epochs, its waits for batches, and its steps.

use laptime_core::{FitFacts, StageId, Ticks};

use super::Training;
use super::late_steps::LateSteps;
use super::progress::Progress;
use crate::batch_log::BatchLog;
use crate::explicit::{fit_begin, fit_end, fit_is_open, fit_update};

/// The fit of a framework. What hooks below it report of models and gradients are stages of its steps.
pub(super) struct FrameworkFit {
    /// Fits inside this one: what they train is part of its steps.
    nested: u32,
    progress: Progress,
    /// The pass over the data that is under way.
    steps: Option<Steps>,
}

/// The steps of one pass over the data.
enum Steps {
    /// Each has ended when the next batch is requested.
    Done(BatchLog),
    /// Each ends when its results are computed, which is reported later.
    Late(LateSteps),
}

impl FrameworkFit {
    fn begin(facts: FitFacts) -> Self {
        let progress = Progress::of_framework(!fit_is_open(), facts.rows.is_some());
        if progress.is_ours() {
            fit_begin(facts, None);
        } else {
            fit_update(facts);
        }
        Self { nested: 0, progress, steps: None }
    }

    fn begin_epoch(&mut self, is_late: bool) {
        self.end_epoch();
        // A fit that was open before, such as the user's own, keeps its epochs.
        if self.progress.is_ours() {
            self.progress.begin_epoch(None);
        }
        let late = || Steps::Late(LateSteps::begin());
        self.steps = Some(if is_late { late() } else { Steps::Done(BatchLog::default()) });
    }

    fn end_epoch(&mut self) {
        match self.steps.take() {
            Some(Steps::Done(mut log)) => log.end(),
            Some(Steps::Late(mut steps)) => steps.end(),
            None => return,
        }
        self.progress.end_epoch(None);
        self.progress.report_rows();
    }

    fn end(&mut self) {
        self.end_epoch();
        if self.progress.is_ours() {
            fit_end(None);
        }
    }
}

impl Training {
    /// A framework begins a fit and runs its loop itself; one that is open already gets the facts and the steps.
    pub fn begin_framework_fit(&mut self, facts: FitFacts) {
        self.end_fit();
        match &mut self.framework_fit {
            Some(outer) if fit_is_open() => {
                outer.nested += 1;
                fit_update(facts);
            }
            open => *open = Some(FrameworkFit::begin(facts)),
        }
    }

    /// Adds what is now known of the framework's fit.
    pub fn update_framework_fit(&mut self, facts: FitFacts) {
        if let Some(fit) = self.outermost_fit() {
            fit.progress.set_rows_known(facts.rows.is_some());
        }
        fit_update(facts);
    }

    /// The framework's fit has ended, or failed.
    pub fn end_framework_fit(&mut self) {
        match &mut self.framework_fit {
            Some(fit) if fit.nested > 0 => fit.nested -= 1,
            open => {
                if let Some(mut fit) = open.take() {
                    fit.end();
                }
            }
        }
    }

    /// A pass over the data begins, and ends one that is open.
    ///
    /// Steps of a framework that computes asynchronously are late: they end when they are reported as computed.
    pub fn begin_framework_epoch(&mut self, is_late: bool) {
        self.boundaries.mark(StageId::DATA_WAIT);
        if let Some(fit) = self.outermost_fit() {
            fit.begin_epoch(is_late);
        }
    }

    /// The pass over the data has ended, if one is open.
    pub fn end_framework_epoch(&mut self) {
        self.boundaries.mark(StageId::BETWEEN_EPOCHS);
        if let Some(fit) = self.outermost_fit() {
            fit.end_epoch();
        }
    }

    /// The next batch is requested: the step before ends, and the wait begins.
    pub fn request_batch(&mut self) {
        self.boundaries.begin_step(StageId::DATA_WAIT);
        match self.steps() {
            Some(Steps::Done(log)) => log.request(),
            Some(Steps::Late(steps)) => steps.request(),
            None => {}
        }
    }

    /// The loop turns: the step before ends, and the next begins without a wait.
    pub fn next_step(&mut self) {
        self.boundaries.begin_step(StageId::PREPARE);
        if let Some(Steps::Done(log)) = self.steps() {
            log.turn();
        }
    }

    /// The wait for the batch of the step under way begins.
    pub fn wait_for_batch(&mut self) {
        if let Some(Steps::Done(log)) = self.steps() {
            log.wait();
        }
    }

    /// The batch is here, or what will bring it.
    pub fn batch_arrived(&mut self, samples: u32) {
        self.boundaries.pass(StageId::PREPARE);
        match self.steps() {
            Some(Steps::Done(log)) => log.arrived(samples),
            Some(Steps::Late(steps)) => steps.end_wait(),
            None => return,
        }
        self.count_framework_rows(samples);
    }

    /// The step under way is so many in one, with this many samples in all.
    pub fn count_step(&mut self, samples: u32, count: u32) {
        match self.steps() {
            Some(Steps::Done(log)) => log.takes(samples, count),
            Some(Steps::Late(steps)) => steps.count(samples, count),
            None => return,
        }
        self.count_framework_rows(samples);
    }

    /// There is no further batch: what was requested is no step.
    pub fn data_exhausted(&mut self) {
        match self.steps() {
            Some(Steps::Done(log)) => log.ran_out(),
            Some(Steps::Late(steps)) => steps.end_wait(),
            None => {}
        }
    }

    /// The step was submitted to be computed; its last batch has this number.
    pub fn step_submitted(&mut self, batch: u64) {
        if let Some(Steps::Late(steps)) = self.steps() {
            steps.submit(batch);
        }
    }

    /// The step whose last batch has this number was computed at that time.
    pub fn step_computed(&mut self, batch: u64, at: Ticks) {
        if let Some(Steps::Late(steps)) = self.steps() {
            steps.compute(batch, at);
        }
    }

    fn count_framework_rows(&mut self, samples: u32) {
        if let Some(fit) = self.outermost_fit() {
            fit.progress.count_rows(samples);
        }
    }

    /// The framework's fit, unless another inside it is under way.
    fn outermost_fit(&mut self) -> Option<&mut FrameworkFit> {
        self.framework_fit.as_mut().filter(|fit| fit.nested == 0)
    }

    #[inline]
    fn steps(&mut self) -> Option<&mut Steps> {
        self.outermost_fit()?.steps.as_mut()
    }
}
