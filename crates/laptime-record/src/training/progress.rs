//! How far the fit has come: its epoch, the steps without a loader, and gradients that came to nothing.
//!
//! A fit whose steps no loader and no loop makes into epochs has laps that analysis chooses: the totals between
//! some of its steps are put on record.

use laptime_core::{FitFacts, Ticks};

use super::{Address, Training};
use crate::clock::now;
use crate::explicit::{
    cut, epoch_begin, epoch_end, epoch_is_open, fit_begin, fit_end, fit_is_open, fit_update, step,
    take_steps_only,
};
use crate::mark::{MarkId, mark_again};

/// Laps may be cut no closer than this, in ticks: 10 ms by most time stamp counters, 34 ms by the monotonic clock.
/// A cut takes 1 to 2 us and some 80 bytes of the log.
const CLOSEST_CUTS: u64 = 1 << 25;

/// The fit under way. A new one begins with a new value.
pub(super) struct Progress {
    /// Whether the fit is the hooks'; one that the user began is not ended here.
    is_ours: bool,
    in_epoch: bool,
    /// The optimizer whose updates end steps without a loader, and the one that updated last.
    main_optimizer: Option<Address>,
    last_optimizer: Option<Address>,
    step_start: Option<Ticks>,
    /// The end of an update that ended no step.
    passed_over: Option<Ticks>,
    /// Whether steps belong to no epoch, how many there were, and how many there are between two cuts.
    steps_only: bool,
    steps: u64,
    cut_every: u64,
    cut_at: Ticks,
    loss_sum: f64,
    losses: u32,
    /// Time the script took to prepare the inputs of an epoch's steps but the newest, how many those were, and the
    /// time of the newest.
    prepared: Ticks,
    preparations: u64,
    newest_preparation: Option<Ticks>,
    updates_in_step: u64,
    updates: u64,
    epoch_samples: u64,
    largest_batch: u32,
    rows_known: bool,
    backwards_since_zero: u64,
    /// Backward passes whose gradients were set to zero before an update used them.
    discarded: u64,
    discarded_reported: u64,
}

impl Progress {
    pub(super) const fn new() -> Self {
        Self {
            is_ours: false,
            in_epoch: false,
            main_optimizer: None,
            last_optimizer: None,
            step_start: None,
            passed_over: None,
            steps_only: false,
            steps: 0,
            cut_every: 1,
            cut_at: Ticks(0),
            loss_sum: 0.0,
            losses: 0,
            prepared: Ticks(0),
            preparations: 0,
            newest_preparation: None,
            updates_in_step: 0,
            updates: 0,
            epoch_samples: 0,
            largest_batch: 0,
            rows_known: false,
            backwards_since_zero: 0,
            discarded: 0,
            discarded_reported: 0,
        }
    }

    /// The fit of a framework that runs its loop itself; `is_ours` unless one was open.
    pub(super) const fn of_framework(is_ours: bool, rows_known: bool) -> Self {
        Self { is_ours, rows_known, ..Self::new() }
    }

    pub(super) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Rows that are known need not be counted.
    pub(super) fn set_rows_known(&mut self, are_known: bool) {
        self.rows_known |= are_known;
    }

    pub(super) fn record_gradients(&mut self) {
        self.backwards_since_zero += 1;
    }

    pub(super) fn drop_gradients(&mut self, wasted: bool) {
        let dropped = std::mem::take(&mut self.backwards_since_zero);
        self.discarded += if wasted { dropped } else { 0 };
    }

    pub(super) fn record_update(&mut self) {
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

    /// Whether the fit has steps that belong to no epoch.
    pub(super) fn is_steps_only(&self) -> bool {
        self.steps_only && !self.in_epoch
    }

    /// A loss that gradients were computed of.
    pub(super) fn take_loss(&mut self, loss: f64) {
        self.loss_sum += loss;
        self.losses += 1;
    }

    /// The mean loss of the step that ends.
    pub(super) fn loss(&mut self) -> Option<f64> {
        let (sum, count) = (std::mem::take(&mut self.loss_sum), std::mem::take(&mut self.losses));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// The script has prepared the input of a step since then.
    pub(super) fn record_preparation(&mut self, since: Ticks) {
        if let Some(before) = self.newest_preparation.replace(now().since(since)) {
            self.prepared = self.prepared.plus(before);
            self.preparations += 1;
        }
    }

    /// Whether a stretch before the first step of an epoch is about as long as the script takes to prepare the
    /// input of any other: then that is what it did.
    fn is_preparation(&self, length: Ticks) -> bool {
        length.0 <= 2 * self.prepared.0 / self.preparations.max(1)
    }

    /// The step under way begins here: what was before it was none.
    pub(super) fn restart_step(&mut self, at: Ticks) {
        if self.step_start.is_some() {
            self.step_start = Some(at);
        }
    }

    /// Without a loader a step reaches from one update of the main optimizer to the next. One that updates twice
    /// in a row is the main one: models that are trained in turn, not together, each have their own.
    pub(super) fn end_step(&mut self, optimizer: Address, at: Ticks, samples: u32) {
        let is_second = self.last_optimizer.replace(optimizer) == Some(optimizer);
        if self.main_optimizer != Some(optimizer) {
            if !is_second {
                self.passed_over = Some(at);
                return;
            }
            self.main_optimizer = Some(optimizer);
            if let Some(before) = self.passed_over.take() {
                self.put_step(before, samples);
            }
        }
        self.passed_over = None;
        self.put_step(at, samples);
    }

    fn put_step(&mut self, at: Ticks, samples: u32) {
        let loss = self.loss();
        if let Some(start) = self.step_start.replace(at) {
            step(start, at, samples, loss);
        }
        self.count_rows(samples);
        self.count_step(at);
    }

    /// Steps from here on belong to no epoch.
    pub(super) fn begin_steps(&mut self) {
        self.steps_only = true;
        take_steps_only();
    }

    /// A step has ended; between some of those that belong to no epoch a lap may be cut.
    pub(super) fn count_step(&mut self, at: Ticks) {
        if self.is_steps_only() {
            self.steps += 1;
            if self.steps.is_multiple_of(self.cut_every) {
                self.cut(at);
            }
        }
    }

    /// Puts a cut on record; where they come too fast every second one is left out from here on.
    fn cut(&mut self, at: Ticks) {
        if at.since(self.cut_at).0 < CLOSEST_CUTS {
            self.cut_every *= 2;
        }
        if self.steps.is_multiple_of(self.cut_every) {
            self.cut_at = at;
            cut(None);
        }
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
            // Steps before it belong to no epoch, and what they trained on is no part of its rows.
            self.epoch_samples = 0;
        }
    }

    /// Ends the epoch; says whether one was open.
    pub(super) fn end_epoch(&mut self, at: Option<MarkId>) -> bool {
        if !std::mem::take(&mut self.in_epoch) {
            return false;
        }
        epoch_end(at);
        (self.prepared, self.preparations, self.newest_preparation) = (Ticks(0), 0, None);
        self.report_rows();
        self.report_discarded();
        true
    }

    /// A pass over the data has ended: its samples are the rows, where nobody knew them.
    pub(super) fn report_rows(&mut self) {
        let samples = std::mem::take(&mut self.epoch_samples);
        if !self.rows_known && samples > 0 {
            self.rows_known = true;
            let batch = Some(u64::from(self.largest_batch));
            fit_update(FitFacts { rows: Some(samples), batch, ..FitFacts::default() });
        }
    }

    /// Thrown away once or more for each update: a leftover at an epoch's end is no news. Those of the first update are
    /// not counted, as its optimizer is not known before.
    fn report_discarded(&mut self) {
        if self.discarded + 1 < self.updates.max(2) || self.discarded == self.discarded_reported {
            return;
        }
        self.discarded_reported = self.discarded;
        let (discarded_gradients, updates) = (Some(self.discarded), Some(self.updates));
        fit_update(FitFacts { discarded_gradients, updates, ..FitFacts::default() });
    }
}

impl Training {
    /// Begins a fit with its first optimizer, unless the user's own is open: that one only lacks the facts.
    ///
    /// Rows that a loader does not know are counted in the first epoch.
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
            let (begin, begin_at) = self.first_preparation().unwrap_or((first_event, first_event_at));
            self.end_epoch(self.last_update);
            if in_loop {
                self.progress.begin_epoch(begin);
            }
            self.progress.step_start = begin_at;
            self.functional = true;
        } else if self.progress.step_start.is_none() {
            self.progress.step_start = first_event_at;
        }
        if !in_loop && !epoch_is_open() {
            self.progress.begin_steps();
        }
    }

    /// Where the script began to prepare the first step of the next epoch, when it did nothing else in between.
    fn first_preparation(&self) -> Option<(Option<MarkId>, Option<Ticks>)> {
        let (_, first_event_at) = self.first_event?;
        let since = self.last_update_at.max(self.paused_at);
        let was_in_epoch = self.progress.in_epoch && self.progress.preparations > 0;
        let is_prepared = was_in_epoch && self.progress.is_preparation(first_event_at.since(since));
        is_prepared.then(|| (self.activity(), Some(since)))
    }

    pub(super) fn end_epoch(&mut self, at: Option<MarkId>) {
        if self.progress.end_epoch(at) && at.is_none() {
            self.pause = Some(mark_again(self.pause));
            self.paused_at = now();
        }
    }

    /// Ends the fit with its last epoch, evaluation or checkpoint.
    pub fn end_fit(&mut self) {
        if !self.progress.is_ours {
            return;
        }
        self.settle_exhausted(|_| true);
        if let Some(primary) = self.primary {
            self.end_pass_at(primary, None, false);
        }
        self.end_epoch(self.last_update);
        if self.progress.is_steps_only() && !self.paused {
            self.end_lap();
        }
        self.progress.report_discarded();
        fit_end(self.activity());
        self.optimizers.clear();
        (self.preparing, self.computed, self.differentiated) = (None, None, None);
        (self.updating, self.updated) = (None, None);
        self.progress = Progress::new();
    }
}
