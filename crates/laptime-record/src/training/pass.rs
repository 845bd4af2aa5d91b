//! Passes over loaders: which one trains, which one evaluates, and the steps between two requests.

use std::collections::VecDeque;

use laptime_core::{StageId, Ticks};

use super::arrived::Arrived;
use super::{Address, Training, book, come_out, go_inside};
use crate::batch_log::in_batches;
use crate::clock::now;
use crate::explicit::{book_since, enter, enter_since, exit, exit_since, step};
use crate::mark::{MarkId, mark};

/// The number of a pass on its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassId(pub u32);

/// What a hook is to do about a request for a batch; hooks know it by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Request {
    /// Nothing.
    Noted,
    /// Another pass trains, and this one may interrupt its step.
    Interrupts,
    /// What this batch takes to load is to be timed.
    Timed,
}

/// Of how many batches that train one is timed while it is loaded: a look at a thread's counters takes some
/// microseconds.
const BATCHES_PER_TIMED: u64 = 32;
/// The first batch of a pass pays for cold caches.
const FIRST_TIMED: u64 = 1;

/// One pass over a loader.
pub(super) struct Pass {
    id: PassId,
    loader: Address,
    /// What gives the batches; `None` until it is made.
    iterator: Option<Address>,
    /// Sizes of the batches that were ordered and have not come yet.
    ordered: VecDeque<u32>,
    arrived: Arrived,
    mark: MarkId,
    began: Ticks,
    requested: Ticks,
    /// When the first batch since the last update was requested.
    first_requested: Ticks,
    /// Batches requested before the newest.
    requests: u64,
    /// Updates when a batch was last requested; `None` before the first.
    updates: Option<u64>,
    step_start: Option<Ticks>,
    /// The data has ended, but a batch is still to be used.
    exhausted: Option<Exhausted>,
    /// What the training had done when the pass began, or when its last step ended.
    backwards: u64,
    step_backwards: u64,
    calls_to_train: u64,
    calls_to_evaluate: u64,
}

/// What the training had done when a pass was exhausted.
#[derive(Clone, Copy)]
struct Exhausted {
    mark: MarkId,
    updates: u64,
    calls: u64,
}

impl Training {
    /// A pass over a loader begins, and the wait for its first batch.
    ///
    /// `in_eval_mode` says whether the model that was last put into eval mode still is.
    pub fn begin_pass(&mut self, loader: Address, in_eval_mode: bool) -> PassId {
        self.end_step_tail();
        self.settle_exhausted(|_| true);
        self.leave_evaluation();
        self.boundaries.mark(StageId::DATA_WAIT);
        let (id, at, began) = (PassId(self.next_pass), mark(), now());
        self.next_pass = self.next_pass.wrapping_add(1);
        // Its iterator is still held somewhere, but the loader starts again.
        while let Some(known) = self.passes.iter().find(|known| known.loader == loader) {
            self.end_pass_at(known.id, Some(at), in_eval_mode);
        }
        self.passes.push(Pass {
            id,
            loader,
            iterator: None,
            ordered: VecDeque::new(),
            arrived: Arrived::default(),
            mark: at,
            began,
            requested: began,
            first_requested: began,
            requests: 0,
            updates: None,
            step_start: None,
            exhausted: None,
            backwards: self.backwards,
            step_backwards: self.backwards,
            calls_to_train: self.calls_to_train,
            calls_to_evaluate: self.calls_to_evaluate,
        });
        self.begin_wait();
        id
    }

    fn begin_wait(&mut self) {
        go_inside();
        enter(StageId::DATA_WAIT);
    }

    /// The wait has ended, with or without a batch.
    pub fn end_wait(&mut self) {
        exit(StageId::DATA_WAIT);
        come_out();
    }

    /// The batches of a pass come from this iterator.
    pub fn iterate(&mut self, pass: PassId, iterator: Address) {
        // One that is gone may have stood where this one stands.
        for known in &mut self.passes {
            known.iterator.take_if(|known| *known == iterator);
        }
        if let Some(of) = self.pass(pass) {
            of.iterator = Some(iterator);
        }
    }

    /// A batch of this many samples is ordered; it comes after those ordered before.
    pub fn order(&mut self, pass: PassId, samples: u32) {
        if let Some(of) = self.pass(pass) {
            of.ordered.push_back(samples);
        }
    }

    fn iterated(&self, iterator: Address) -> Option<PassId> {
        self.passes.iter().find(|known| known.iterator == Some(iterator)).map(|known| known.id)
    }

    /// A batch is requested.
    pub fn request(&mut self, iterator: Address) -> Request {
        if self.progress.has_updates() {
            self.boundaries.begin_step(StageId::DATA_WAIT);
        } else {
            self.boundaries.pass(StageId::DATA_WAIT);
        }
        self.end_step_tail();
        // An iterator that nobody saw being made has no pass, but is waited for all the same.
        let request = self.iterated(iterator).map_or(Request::Noted, |pass| self.record_request(pass, now()));
        self.begin_wait();
        request
    }

    /// What followed the update of the step before has ended.
    fn end_step_tail(&mut self) {
        self.end_own_update();
        let since = self.updated.take().or(self.differentiated.take());
        book(since, StageId::AFTER_UPDATE);
    }

    fn record_request(&mut self, pass: PassId, at: Ticks) -> Request {
        let (updates, created_at) = (self.updates, self.created_at);
        let Some(requested) = self.passes.iter_mut().find(|known| known.id == pass) else {
            return Request::Noted;
        };
        requested.requested = at;
        let is_first = requested.updates.is_none();
        if is_first && requested.began < created_at {
            // The iterator was made ahead of the training, which begins with its first batch.
            (requested.mark, requested.began) = (mark(), at);
        }
        if requested.updates != Some(updates) {
            requested.updates = Some(updates);
            requested.first_requested = at;
        }
        if is_first && in_batches() {
            // The user's `laptime.batches` counts this pass.
            self.passes.retain(|known| known.id != pass);
        }
        let trains = self.primary.is_some() && self.progress.has_updates();
        if trains && self.primary == Some(pass) {
            self.end_pass_step(pass, at, false);
        }
        let mut is_timed = false;
        if let Some(requested) = self.pass(pass) {
            requested.step_start.get_or_insert(at);
            is_timed = requested.requests % BATCHES_PER_TIMED == FIRST_TIMED;
            requested.requests += 1;
        }
        match trains {
            true if self.primary != Some(pass) => Request::Interrupts,
            true if is_timed => Request::Timed,
            _ => Request::Noted,
        }
    }

    /// The pass that trains is interrupted by an evaluation: its next step begins after that.
    pub fn interrupt_step(&mut self) {
        if let Some(primary) = self.primary.filter(|_| !self.is_exhausted()) {
            self.end_pass_step(primary, now(), false);
            if let Some(pass) = self.pass(primary) {
                pass.step_start = None;
            }
        }
    }

    /// A batch has come; says whether its samples are known already.
    pub fn take_batch(&mut self, iterator: Address) -> bool {
        self.boundaries.pass(StageId::PREPARE);
        self.end_wait();
        let pass = self.iterated(iterator);
        if self.functional {
            self.before_forward = Some(mark());
            // Until a step shows whether modules are called, one look per pass is enough.
            self.functional = pass.is_some() && self.primary == pass && self.calls_since_backward == 0;
        }
        self.computed = None;
        self.preparing = self.stretch();
        let Some(taken) = pass.and_then(|pass| self.pass(pass)) else { return true };
        let ordered = taken.ordered.pop_front();
        taken.arrived.take(ordered.unwrap_or(0));
        ordered.is_some()
    }

    /// Samples in the batch that has come.
    pub fn count_samples(&mut self, iterator: Address, samples: u32) {
        if let Some(taken) = self.iterated(iterator).and_then(|pass| self.pass(pass)) {
            taken.arrived.count_newest(samples);
        }
    }

    /// What has come is being used: by then it is seen whether a loader is ahead.
    #[inline]
    pub(super) fn record_use(&mut self) {
        self.passes.iter_mut().for_each(|pass| pass.arrived.record_use());
    }

    fn end_pass_step(&mut self, pass: PassId, at: Ticks, is_last: bool) {
        let backwards = self.backwards;
        let loss = self.progress.loss();
        if let Some(of) = self.pass(pass) {
            let computed = backwards - of.step_backwards;
            of.step_backwards = backwards;
            let samples = of.arrived.end_step(computed, is_last);
            if let Some(start) = of.step_start.replace(at) {
                step(start, at, samples, loss);
            }
            self.progress.count_rows(samples);
            self.progress.count_step(at);
        }
        self.progress.forget_updates();
    }

    /// The data has ended; a batch that came before may still be in use.
    pub fn exhaust_pass(&mut self, pass: PassId, in_eval_mode: bool) {
        let done = Exhausted {
            mark: mark(),
            updates: self.updates,
            calls: self.calls_to_train + self.calls_to_evaluate,
        };
        match self.pass(pass) {
            Some(of) if of.arrived.is_ahead() => of.exhausted = Some(done),
            _ => self.end_pass_at(pass, None, in_eval_mode),
        }
    }

    /// The data has ended; the pass does when its iterator is taken down, and until then is waited for.
    pub fn linger(&mut self) {
        self.lingering = self.stretch();
    }

    /// The pass is over: its iterator is gone, or the loop was left.
    pub fn end_pass(&mut self, pass: PassId, in_eval_mode: bool) {
        // A generator lets go of its iterator before it hands out the last batch.
        let waits = self.pass(pass).is_some_and(|of| of.exhausted.is_some() && of.arrived.is_used());
        if !waits || self.is_used_up(pass) {
            self.end_pass_at(pass, None, in_eval_mode);
        }
    }

    /// Whether something was made of the last batch of a pass whose data has ended.
    fn is_used_up(&self, pass: PassId) -> bool {
        let Some(of) = self.passes.iter().find(|known| known.id == pass) else { return false };
        let Some(exhausted) = of.exhausted else { return false };
        let calls = self.calls_to_train + self.calls_to_evaluate;
        let trains = self.primary == Some(pass);
        if trains { exhausted.updates != self.updates } else { exhausted.calls != calls }
    }

    /// Whether the data of the pass that trains has ended, while its last batch is in use.
    pub(super) fn is_exhausted(&self) -> bool {
        let primary = |known: &&Pass| Some(known.id) == self.primary;
        self.passes.iter().find(primary).is_some_and(|pass| pass.exhausted.is_some())
    }

    /// Something else begins: those passes whose data has ended are over, with the last update made on them.
    pub(super) fn settle_exhausted(&mut self, is_over: impl Fn(bool) -> bool) {
        let over = |known: &&Pass| known.exhausted.is_some() && is_over(self.is_used_up(known.id));
        let over: Vec<PassId> = self.passes.iter().filter(over).map(|known| known.id).collect();
        for id in over {
            let exhausted = self.pass(id).and_then(|pass| pass.exhausted);
            let updated = exhausted.is_some_and(|exhausted| exhausted.updates != self.updates);
            let at = if updated { self.last_update } else { exhausted.map(|exhausted| exhausted.mark) };
            self.end_pass_at(id, at, false);
        }
    }

    pub(super) fn end_pass_at(&mut self, pass: PassId, at: Option<MarkId>, in_eval_mode: bool) {
        if at.is_none() {
            self.boundaries.mark(StageId::BETWEEN_EPOCHS);
        }
        book(self.lingering.take(), StageId::DATA_WAIT);
        self.end_step_tail();
        let Some(place) = self.passes.iter().position(|known| known.id == pass) else { return };
        if self.primary == Some(pass) {
            if self.progress.has_updates() {
                let is_last = self.passes[place].exhausted.is_some();
                let ended = if at.is_some() && is_last { self.last_update_at } else { now() };
                self.end_pass_step(pass, ended, is_last);
            }
            self.passes.remove(place);
            self.primary = None;
            self.preparing = None;
            self.end_epoch(at);
            self.functional = true;
        } else if self.evaluating == Some(pass) {
            self.leave_evaluation();
        } else {
            let ended = self.passes.remove(place);
            if self.was_evaluation(&ended, in_eval_mode) {
                book_since(ended.mark, StageId::EVALUATE);
                self.record_activity();
            }
        }
    }

    fn was_evaluation(&self, ended: &Pass, in_eval_mode: bool) -> bool {
        self.backwards == ended.backwards
            && self.calls_to_train == ended.calls_to_train
            && (self.calls_to_evaluate != ended.calls_to_evaluate || in_eval_mode)
    }

    /// A trained model in eval mode is called in this pass: all of the pass is evaluation.
    pub(super) fn begin_evaluation(&mut self, pass: PassId) {
        if let Some(since) = self.pass(pass).map(|of| of.mark) {
            if !self.paused && self.progress.is_steps_only() {
                self.end_lap();
            }
            self.boundaries.begin_pause(StageId::EVALUATE);
            enter_since(since, StageId::EVALUATE);
            self.evaluating = Some(pass);
        }
    }

    /// Also when the pass is never ended because its iterator is kept: training goes on.
    pub(super) fn leave_evaluation(&mut self) {
        if let Some(pass) = self.evaluating.take() {
            self.boundaries.end_pause();
            let began = self.pass(pass).map_or_else(now, |of| of.began);
            self.passes.retain(|known| known.id != pass);
            exit_since(StageId::EVALUATE, began);
            self.record_activity();
        }
    }

    /// The pass that brought this step's data: of those requested together, the first.
    pub(super) fn training_pass(&self) -> Option<PassId> {
        let newest = self.passes.iter().max_by_key(|known| known.requested)?;
        // An iterator that someone took one batch from and kept was used before the newest began.
        let together = self.passes.iter().filter(|known| {
            known.requested >= newest.began && known.step_start.is_some() && known.updates == newest.updates
        });
        together.min_by_key(|known| known.first_requested).map(|known| known.id)
    }

    /// Whether a pass is under way.
    #[must_use]
    pub fn has_passes(&self) -> bool {
        !self.passes.is_empty()
    }

    /// The pass that brought this step's data is an epoch from its begin on; `false` without one.
    pub fn begin_pass_epoch(&mut self) -> bool {
        self.primary = self.training_pass();
        let Some(since) = self.primary.and_then(|pass| self.pass_mark(pass)) else { return false };
        self.progress.begin_epoch(Some(since));
        true
    }

    /// The pass that brought this step's data counts steps but is no epoch, since it has no end; `false` without
    /// one.
    pub fn begin_pass_steps(&mut self) -> bool {
        self.primary = self.training_pass();
        self.progress.begin_steps();
        self.primary.is_some()
    }

    /// The loader that brought this step's data.
    #[must_use]
    pub fn training_loader(&mut self) -> Option<Address> {
        let pass = self.training_pass()?;
        self.pass(pass).map(|of| of.loader)
    }

    pub(super) fn pass(&mut self, pass: PassId) -> Option<&mut Pass> {
        self.passes.iter_mut().find(|known| known.id == pass)
    }

    pub(super) fn pass_mark(&mut self, pass: PassId) -> Option<MarkId> {
        self.pass(pass).map(|of| of.mark)
    }
}
