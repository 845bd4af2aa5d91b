//! How far the fit has come: its epoch, the steps without a loader, and gradients that came to nothing.

use laptime_core::{FitFacts, Ticks};

use super::{Address, Training};
use crate::explicit::{
    epoch_begin, epoch_end, epoch_is_open, fit_begin, fit_end, fit_is_open, fit_update, step,
};
use crate::mark::MarkId;

/// The fit under way. A new one begins with a new value.
pub(super) struct Progress {
    /// Whether the fit is the hooks'; one that the user began is not ended here.
    is_ours: bool,
    in_epoch: bool,
    main_optimizer: Option<Address>,
    step_start: Option<Ticks>,
    updates_in_step: u64,
    updates: u64,
    epoch_samples: u64,
    largest_batch: u32,
    rows_known: bool,
    backwards_since_zero: u64,
    /// Backward passes whose gradients were set to zero before an update used them.
    discarded: u64,
    discarded_told: u64,
}

impl Progress {
    pub(super) const fn new() -> Self {
        Self {
            is_ours: false,
            in_epoch: false,
            main_optimizer: None,
            step_start: None,
            updates_in_step: 0,
            updates: 0,
            epoch_samples: 0,
            largest_batch: 0,
            rows_known: false,
            backwards_since_zero: 0,
            discarded: 0,
            discarded_told: 0,
        }
    }

    pub(super) fn see_gradients(&mut self) {
        self.backwards_since_zero += 1;
    }

    pub(super) fn drop_gradients(&mut self, wasted: bool) {
        let dropped = std::mem::take(&mut self.backwards_since_zero);
        self.discarded += if wasted { dropped } else { 0 };
    }

    pub(super) fn see_update(&mut self) {
        self.updates_in_step += 1;
        self.updates += 1;
        self.backwards_since_zero = 0;
    }

    pub(super) fn has_updates(&self) -> bool {
        self.updates_in_step > 0
    }

    pub(super) fn forget_updates(&mut self) {
        self.updates_in_step = 0;
    }

    pub(super) fn is_main(&self, optimizer: Address) -> bool {
        self.main_optimizer == Some(optimizer)
    }

    /// Without a loader a step reaches from one update of the main optimizer to the next.
    pub(super) fn end_step(&mut self, at: Ticks, samples: u32) {
        if let Some(start) = self.step_start.replace(at) {
            step(start, at, samples, None);
        }
        self.count_rows(samples);
    }

    pub(super) fn count_rows(&mut self, samples: u32) {
        self.epoch_samples += u64::from(samples);
        self.largest_batch = self.largest_batch.max(samples);
    }

    pub(super) fn begin_epoch(&mut self, since: Option<MarkId>) {
        // One that is open and not ours is the user's: `for epoch in laptime.epochs(10)`.
        if !epoch_is_open() {
            epoch_begin(since);
            self.in_epoch = true;
        }
    }

    /// Ends the epoch; says whether one was open.
    fn end_epoch(&mut self, at: Option<MarkId>) -> bool {
        if !std::mem::take(&mut self.in_epoch) {
            return false;
        }
        epoch_end(at);
        let samples = std::mem::take(&mut self.epoch_samples);
        if !self.rows_known && samples > 0 {
            self.rows_known = true;
            let batch = Some(u64::from(self.largest_batch));
            fit_update(FitFacts { rows: Some(samples), batch, ..FitFacts::default() });
        }
        self.tell_discarded();
        true
    }

    /// Thrown away once or more for each update: a leftover at an epoch's end is no news.
    fn tell_discarded(&mut self) {
        if self.discarded < self.updates.max(1) || self.discarded == self.discarded_told {
            return;
        }
        self.discarded_told = self.discarded;
        let told = [("discarded_gradients", self.discarded), ("updates", self.updates)];
        let settings = told.map(|(name, value)| (name.to_owned(), value.to_string())).into();
        fit_update(FitFacts { settings, ..FitFacts::default() });
    }
}

impl Training {
    /// Begins a fit with its first optimizer, unless the user's own is open: that one only lacks the facts.
    ///
    /// Rows that a loader cannot tell are counted in the first epoch.
    pub fn begin_fit(&mut self, optimizer: Address, facts: FitFacts, counts_rows: bool) {
        let training_pass = self.training_pass();
        let since = match training_pass {
            Some(pass) => self.pass_mark(pass),
            None => self.first_event.map(|(mark, _)| mark),
        };
        self.progress = Progress {
            main_optimizer: Some(optimizer),
            rows_known: training_pass.is_some() && !counts_rows,
            is_ours: !fit_is_open(),
            ..Progress::new()
        };
        if self.progress.is_ours {
            fit_begin(facts, since);
        } else {
            fit_update(facts);
        }
    }

    /// Whether a fit that the hooks began is open.
    #[must_use]
    pub fn in_fit(&self) -> bool {
        self.progress.is_ours
    }

    /// Whether the fit's epoch is a pass over a loader.
    #[must_use]
    pub fn in_pass_epoch(&self) -> bool {
        self.primary.is_some()
    }

    /// Without a loader the loop around the steps says which epoch this is.
    ///
    /// `in_loop` says whether there is such a loop, `is_new` whether it has gone on since the last step.
    pub fn follow_loop(&mut self, in_loop: bool, is_new: bool) {
        let (first_event, first_event_at) = self.first_event.unzip();
        if is_new || (in_loop && !self.progress.in_epoch) {
            self.end_epoch(self.last_update);
            if in_loop {
                self.progress.begin_epoch(first_event);
            }
            self.progress.step_start = first_event_at;
            self.functional = true;
        } else if self.progress.step_start.is_none() {
            self.progress.step_start = first_event_at;
        }
    }

    pub(super) fn end_epoch(&mut self, at: Option<MarkId>) {
        if self.progress.end_epoch(at) {
            self.activity = Some(at.unwrap_or_else(crate::mark::mark));
        }
    }

    /// Ends the fit with its last epoch, evaluation or checkpoint.
    pub fn end_fit(&mut self) {
        if !self.progress.is_ours {
            return;
        }
        if let Some(primary) = self.primary {
            self.end_pass(primary, false);
        }
        self.end_epoch(self.last_update);
        self.progress.tell_discarded();
        fit_end(self.activity);
        self.optimizers.clear();
        self.progress = Progress::new();
    }
}
