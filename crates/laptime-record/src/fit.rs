//! Fits, epochs and steps as guards: each ends when it is dropped.

use std::cell::Cell;
use std::marker::PhantomData;

use laptime_core::{Event, Metric, StageId, StageTotal, Ticks};

use crate::clock::now;
use crate::lane::{Lane, Pushed};
use crate::recorder::wake_flusher;
use crate::stage::StageGuard;
use crate::thread_lane::current_lane;

/// One training, from [`Recorder::fit`](crate::Recorder::fit) to its drop, on the thread that takes the steps.
pub struct Fit {
    lane: Option<Lane>,
    number: u32,
    next_epoch: u32,
    told: Vec<StageTotal>,
    _not_send: PhantomData<*const ()>,
}

impl Fit {
    pub(crate) fn idle() -> Self {
        Self::on(None, 0)
    }

    fn on(lane: Option<Lane>, number: u32) -> Self {
        Self { lane, number, next_epoch: 0, told: Vec::new(), _not_send: PhantomData }
    }

    pub(crate) fn begin(lane: Option<Lane>, number: u32) -> Self {
        let mut fit = Self::on(lane, number);
        let at = now();
        if let Some(lane) = lane {
            lane.set_background(StageId::BETWEEN_EPOCHS, at);
            // What looked like the end of the run was the time between two fits.
            lane.rebook(StageId::TEAR_DOWN, StageId::BETWEEN_EPOCHS);
        }
        fit.mark(Event::FitBegin { fit: number, at }, at);
        fit
    }

    /// Begins the next epoch; the pass over the data ends when the guard is dropped.
    pub fn epoch(&mut self) -> Epoch<'_> {
        let number = self.next_epoch;
        self.next_epoch += 1;
        let at = now();
        self.mark(Event::EpochBegin { epoch: number, at }, at);
        if let Some(lane) = self.lane {
            lane.set_background(StageId::UNACCOUNTED, at);
        }
        Epoch { fit: self, number, step_loss: Cell::new(None), abandoned: false }
    }

    /// Puts a mark on record, and before it the totals that have changed.
    fn mark(&mut self, mark: Event, at: Ticks) {
        let Some(lane) = self.lane else { return };
        for total in lane.totals_at(at) {
            if self.remember(total) {
                push(lane, &Event::Total(total));
            }
        }
        push(lane, &mark);
    }

    /// Whether this total is news.
    fn remember(&mut self, total: StageTotal) -> bool {
        match self.told.iter_mut().find(|told| told.stage == total.stage) {
            Some(told) if *told == total => false,
            Some(told) => {
                *told = total;
                true
            }
            None => {
                self.told.push(total);
                true
            }
        }
    }
}

impl Drop for Fit {
    fn drop(&mut self) {
        let at = now();
        self.mark(Event::FitEnd { fit: self.number, at }, at);
        if let Some(lane) = self.lane {
            lane.set_background(StageId::TEAR_DOWN, at);
        }
    }
}

/// One pass over the training data, from [`Fit::epoch`] to its drop.
pub struct Epoch<'fit> {
    fit: &'fit mut Fit,
    number: u32,
    step_loss: Cell<Option<f64>>,
    abandoned: bool,
}

impl Epoch<'_> {
    /// Iterates batches: each wait is `data_wait`, each turn of the loop a step of `samples(batch)` samples.
    pub fn batches<I: IntoIterator, S: Fn(&I::Item) -> u32>(
        &self,
        batches: I,
        samples: S,
    ) -> Batches<'_, I::IntoIter, S> {
        Batches {
            lane: self.fit.lane,
            loss: &self.step_loss,
            batches: batches.into_iter(),
            samples,
            step: None,
        }
    }

    /// Tells the loss of the step that is under way.
    pub fn loss(&self, loss: f64) {
        self.step_loss.set(Some(loss));
    }

    /// Leaves the pass before its end, so that it does not count as a whole epoch.
    pub fn abandon(mut self) {
        self.abandoned = true;
    }
}

impl Drop for Epoch<'_> {
    fn drop(&mut self) {
        let at = now();
        if !self.abandoned {
            self.fit.mark(Event::EpochEnd { epoch: self.number, at }, at);
        }
        if let Some(lane) = self.fit.lane {
            lane.set_background(StageId::BETWEEN_EPOCHS, at);
        }
    }
}

/// The iterator of [`Epoch::batches`].
pub struct Batches<'epoch, I, S> {
    lane: Option<Lane>,
    loss: &'epoch Cell<Option<f64>>,
    batches: I,
    samples: S,
    /// When the batch under way was requested, and its samples.
    step: Option<(Ticks, u32)>,
}

impl<I, S> Batches<'_, I, S> {
    fn end_step(&mut self, end: Ticks) {
        let loss = self.loss.take();
        if let (Some(lane), Some((start, samples))) = (self.lane, self.step.take()) {
            push(lane, &Event::Step { start, end, samples, loss });
        }
    }
}

impl<I: Iterator, S: Fn(&I::Item) -> u32> Iterator for Batches<'_, I, S> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let requested = now();
        self.end_step(requested);
        let waiting = self.lane.map(|lane| StageGuard::begin(lane, StageId::DATA_WAIT));
        let batch = self.batches.next();
        drop(waiting);
        self.step = batch.as_ref().map(|batch| (requested, (self.samples)(batch)));
        batch
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batches.size_hint()
    }
}

impl<I, S> Drop for Batches<'_, I, S> {
    /// A loop that is left early ends its step there.
    fn drop(&mut self) {
        self.end_step(now());
    }
}

/// Puts an event on record and wakes the flusher in time.
pub(crate) fn push(lane: Lane, event: &Event) {
    if lane.push_event(event) == Pushed::Wake {
        wake_flusher();
    }
}

/// Tells how well the model does; does nothing without a recorder.
pub fn measured(metric: Metric, value: f64) {
    if let Some(lane) = current_lane() {
        push(lane, &Event::Measured { metric, at: now(), value });
    }
}
