//! Fits, epochs and steps as guards: each ends when it is dropped.

use std::cell::Cell;
use std::marker::PhantomData;

use laptime_core::{Event, FitFacts, Metric, StageId, Ticks};

use crate::clock::now;
use crate::explicit::{epoch_abandon, epoch_begin, epoch_end, fit_begin, fit_end, open_fit};
use crate::fit_log::push;
use crate::lane::Lane;
use crate::stage::StageGuard;
use crate::thread_lane::current_lane;

/// One training, from [`Recorder::fit`](crate::Recorder::fit) to its drop, on the thread that takes the steps.
pub struct Fit {
    lane: Option<Lane>,
    number: Option<u32>,
    _not_send: PhantomData<*const ()>,
}

impl Fit {
    pub(crate) fn idle() -> Self {
        Self { lane: None, number: None, _not_send: PhantomData }
    }

    pub(crate) fn begin(facts: FitFacts) -> Self {
        Self { lane: current_lane(), number: fit_begin(facts, None), _not_send: PhantomData }
    }

    /// Its number within the run, from 0; `None` when nothing records.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        self.number
    }

    /// Begins the next epoch; the pass over the data ends when the guard is dropped.
    pub fn epoch(&mut self) -> Epoch<'_> {
        if self.is_open() {
            epoch_begin(None);
        }
        Epoch { fit: self, step_loss: Cell::new(None), abandoned: false }
    }

    /// Another fit that began on this thread has ended this one.
    fn is_open(&self) -> bool {
        self.number.is_some() && open_fit() == self.number
    }
}

impl Drop for Fit {
    fn drop(&mut self) {
        if self.is_open() {
            fit_end(None);
        }
    }
}

/// One pass over the training data, from [`Fit::epoch`] to its drop.
pub struct Epoch<'fit> {
    fit: &'fit mut Fit,
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

    /// Records the loss of the step that is under way.
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
        match (self.fit.is_open(), self.abandoned) {
            (true, true) => epoch_abandon(),
            (true, false) => epoch_end(None),
            (false, _) => {}
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

/// Records a metric of the model; does nothing without a recorder.
pub fn measured(metric: Metric, value: f64) {
    if let Some(lane) = current_lane() {
        push(lane, &Event::Measured { metric, at: now(), value });
    }
}
