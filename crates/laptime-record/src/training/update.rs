//! Gradients and what is done with them: by an optimizer, by a compiled function, or by the script itself.

use laptime_core::StageId;

use super::{Address, Training, book, come_out, go_inside};
use crate::batch_log::in_batches;
use crate::clock::now;
use crate::explicit::{book_since, enter, exit};
use crate::mark::{mark, mark_again};

/// Stands for the optimizer of a script that updates its model itself.
pub const MANUAL: Address = Address(0);

/// What a hook is to do about an optimizer's update; hooks know it by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Update {
    /// The update has begun.
    Begun,
    /// The optimizer or the epoch must be settled first; then [`Training::enter_update`] begins it.
    Unsettled,
    /// It is part of another update.
    Nested,
}

impl Training {
    // Backward passes.

    /// A backward pass begins.
    pub fn begin_backward(&mut self) {
        self.leave_evaluation();
        self.end_own_update();
        self.record_event();
        // Where modules are called there is nothing to look out for until the next pass or epoch.
        self.functional = self.calls_since_backward == 0;
        if let (true, Some(before)) = (self.functional, self.before_forward.take()) {
            self.preparing = None;
            book_since(before, StageId::FORWARD);
        }
        book(self.computed.take(), StageId::LOSS);
        self.record_use();
        self.compute_gradients();
        // Activation checkpointing calls modules again: that is part of the backward pass.
        go_inside();
        self.boundaries.pass(StageId::BACKWARD);
        enter(StageId::BACKWARD);
    }

    fn compute_gradients(&mut self) {
        (self.calls_since_backward, self.samples_unsure) = (0, false);
        self.backwards += 1;
        self.progress.record_gradients();
        let samples = std::mem::take(&mut self.pending_samples);
        // Closures of one update see the same samples again.
        self.samples =
            if self.in_update { self.samples.max(samples) } else { self.samples.saturating_add(samples) };
    }

    /// The loss that gradients are computed of.
    pub fn take_loss(&mut self, loss: f64) {
        self.progress.take_loss(loss);
    }

    /// The backward pass has ended; says whether it is an update of the script's own to be settled, after which
    /// [`Training::end_own_step`] puts its step on record.
    pub fn end_backward(&mut self) -> bool {
        self.boundaries.pass(StageId::OPTIMIZER);
        exit(StageId::BACKWARD);
        come_out();
        if !self.in_update {
            self.differentiated = self.stretch();
        }
        // Without an optimizer the script uses the gradients itself, unless they are those of an input.
        if !self.alive.is_empty() || self.in_update || self.last_call_evaluates || in_batches() {
            return false;
        }
        let settled = self.has_optimizer(MANUAL) && self.is_counted();
        if settled {
            self.put_own_step();
        } else {
            self.settling = Some(mark_again(self.settling));
        }
        !settled
    }

    /// The script updates its model itself from here on, and its step, which is settled now, ends.
    pub fn end_own_step(&mut self) {
        self.book_settling();
        self.put_own_step();
    }

    fn put_own_step(&mut self) {
        self.end_compiled_update(MANUAL);
        (self.preparing, self.differentiated) = (None, None);
        self.updating = self.stretch();
    }

    fn book_settling(&mut self) {
        if let Some(since) = self.settling {
            book_since(since, StageId::OPTIMIZER);
        }
    }

    /// What followed a backward pass that no optimizer used was the script's own update.
    pub(super) fn end_own_update(&mut self) {
        book(self.updating.take(), StageId::OPTIMIZER);
    }

    // Optimizers.

    /// An optimizer is made; `foreign` ones may use gradients in a way of their own.
    pub fn optimizer_created(&mut self, optimizer: Address, foreign: bool) {
        self.forget_optimizer(optimizer);
        self.alive.push(optimizer);
        self.created_at = now();
        if foreign {
            self.foreign.push(optimizer);
        }
        if self.primary.is_none() {
            self.first_event = None;
        }
        // What models were called for before was no step of it.
        self.calls_since_backward = 0;
    }

    /// The optimizer is gone, and another may stand where it stood.
    pub fn forget_optimizer(&mut self, optimizer: Address) {
        for known in [&mut self.alive, &mut self.optimizers, &mut self.foreign] {
            known.retain(|known| *known != optimizer);
        }
    }

    /// Gradients are about to be set to zero, by an optimizer or by anything else.
    pub fn begin_zero(&mut self, by: Address) {
        self.end_own_update();
        self.record_event();
        let counts = !self.in_update && self.optimizers.len() == 1 && !self.alive.is_empty();
        self.progress.drop_gradients(counts && !self.foreign.contains(&by));
        // No boundary: gradients are let go of as a rule, which launches nothing.
        enter(StageId::OPTIMIZER);
    }

    /// Gradients are zero.
    pub fn end_zero(&mut self) {
        exit(StageId::OPTIMIZER);
        if self.functional && self.passes.is_empty() {
            self.before_forward = Some(mark());
        }
        if self.alive.is_empty() && self.passes.is_empty() {
            self.preparing = self.stretch();
        }
    }

    /// An optimizer is about to update its model.
    pub fn begin_update(&mut self, optimizer: Address) -> Update {
        if self.in_update {
            return Update::Nested;
        }
        (self.updating, self.updated) = (None, None);
        match self.differentiated.take() {
            Some(since) => book(Some(since), StageId::OPTIMIZER),
            // An update whose closure computes the gradients: the model is called inside of it.
            None if self.calls_since_backward == 0 => self.end_preparation(),
            None => {}
        }
        self.record_event();
        if self.has_optimizer(optimizer) && self.is_counted() {
            self.begin_settled();
            return Update::Begun;
        }
        self.settling = Some(mark_again(self.settling));
        Update::Unsettled
    }

    /// Begins the update that was settled.
    pub fn enter_update(&mut self) {
        self.book_settling();
        self.begin_settled();
    }

    fn begin_settled(&mut self) {
        self.in_update = true;
        self.boundaries.pass(StageId::OPTIMIZER);
        enter(StageId::OPTIMIZER);
    }

    /// The update has failed.
    pub fn leave_update(&mut self) {
        exit(StageId::OPTIMIZER);
        self.in_update = false;
    }

    /// A compiled function that computes gradients and updates its model begins to.
    ///
    /// Its stage is the function's own: what is inside cannot be timed.
    pub fn begin_compiled_update(&mut self, optimizer: Address) -> Update {
        self.leave_evaluation();
        self.functional = false;
        self.record_use();
        self.compute_gradients();
        let settled = self.has_optimizer(optimizer) && self.is_counted();
        if settled { Update::Begun } else { Update::Unsettled }
    }

    /// The model is updated.
    pub fn end_update(&mut self, optimizer: Address) {
        self.leave_update();
        self.end_compiled_update(optimizer);
    }

    /// The model is updated by a compiled function.
    pub fn end_compiled_update(&mut self, optimizer: Address) {
        self.updates += 1;
        self.progress.record_update();
        self.computed = None;
        if self.is_counted() {
            self.boundaries.pass(StageId::AFTER_UPDATE);
            self.samples = 0;
            self.updated = self.stretch();
            if self.is_exhausted() {
                self.boundaries.mark(StageId::AFTER_UPDATE);
                self.record_last_update();
            }
            return;
        }
        self.boundaries.begin_step(StageId::PREPARE);
        let samples = std::mem::take(&mut self.samples);
        self.progress.end_step(optimizer, now(), samples);
        self.record_last_update();
        self.paused = false;
        self.first_event = None;
        self.preparing = self.stretch();
        if self.functional {
            self.before_forward = self.last_update;
        }
    }

    /// What the last update computed is there, of a framework that returns before it has computed: the script has
    /// waited for it, and until here it belongs to the epoch.
    pub fn results_arrived(&mut self) {
        if self.in_fit() && self.last_update.is_some() {
            self.record_last_update();
        }
    }

    fn record_last_update(&mut self) {
        self.last_update = Some(mark_again(self.last_update));
        self.last_update_at = now();
    }

    /// Whether steps are counted by a pass over a loader, or by the user's `batches`.
    pub fn is_counted(&self) -> bool {
        self.primary.is_some() || in_batches()
    }

    /// Whether the optimizer belongs to the fit.
    #[must_use]
    pub fn has_optimizer(&self, optimizer: Address) -> bool {
        self.optimizers.contains(&optimizer)
    }

    /// The optimizer belongs to the fit from here on.
    pub fn register_optimizer(&mut self, optimizer: Address) {
        self.optimizers.push(optimizer);
    }
}
