//! The training loop: epochs of steps, each followed by an evaluation where rows are held out.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};

use laptime_core::{Counter, Metric};
use laptime_data::{Batch, DataError, Order};
use laptime_record::{Epoch, Recorder, count, measured, stage};

use crate::{Plan, Prepared, StepResult, TrainError};

/// What a training came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The epochs that were completed, in order.
    pub epochs: Vec<EpochResult>,
    /// Optimizer steps taken, those of an unfinished epoch included.
    pub steps: u64,
    /// Whether it ended early because it was asked to.
    pub interrupted: bool,
}

/// How well the model did in one epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochResult {
    /// Mean training loss over the epoch's rows, each taken before its own step.
    pub loss: f64,
    /// Share of right answers on the training rows; `None` for a model that does not classify.
    pub accuracy: Option<f64>,
    /// Mean loss on the held-out rows after the epoch.
    pub validation_loss: Option<f64>,
    /// Share of right answers on the held-out rows.
    pub validation_accuracy: Option<f64>,
}

/// Prepares a plan and trains it.
pub fn train(plan: &Plan, recorder: &Recorder, stop: &AtomicBool) -> Result<Outcome, TrainError> {
    Prepared::new(plan)?.train(recorder, stop)
}

/// A pass that was cut short gives no totals.
type Pass = Option<Totals>;

impl Prepared {
    /// Trains to the end of the plan, or to the end of the step in which `stop` is set.
    pub fn train(mut self, recorder: &Recorder, stop: &AtomicBool) -> Result<Outcome, TrainError> {
        let mut fit = recorder.fit(self.facts().clone());
        let mut outcome = Outcome::default();
        for number in 0..self.epochs {
            let epoch = fit.epoch();
            let pass = self.pass(&epoch, number, stop, &mut outcome.steps);
            if matches!(pass, Ok(Some(_))) {
                drop(epoch);
            } else {
                epoch.abandon();
            }
            let pass = pass?;
            let held_out = if pass.is_some() { self.evaluate(number, stop)? } else { None };
            let (Some(trained), Some(held_out)) = (pass, held_out) else {
                outcome.interrupted = true;
                break;
            };
            let result = EpochResult {
                loss: trained.loss(),
                accuracy: trained.accuracy(),
                validation_loss: self.held_out.as_ref().map(|_| held_out.loss()),
                validation_accuracy: held_out.accuracy(),
            };
            result.tell();
            outcome.epochs.push(result);
        }
        Ok(outcome)
    }

    /// Takes a step on every batch of one epoch.
    fn pass(
        &mut self,
        epoch: &Epoch,
        number: u64,
        stop: &AtomicBool,
        steps: &mut u64,
    ) -> Result<Pass, TrainError> {
        let order = Order::Shuffled { seed: self.seed, epoch: number };
        let (data, size) = (&self.train, self.batch);
        // Made at the first request, so that shuffling the rows counts as waiting for data.
        let batches = iter::once_with(move || data.batches(size, order)).flatten();
        let mut totals = Totals::default();
        for batch in epoch.batches(batches, samples) {
            let at = Place { epoch: number + 1, step: totals.steps + 1 };
            let batch = batch.map_err(|source| at.unreadable(source))?;
            let result = self.model.train_step(&batch)?;
            count(Counter::BatchBytes, batch.bytes());
            at.check(result)?;
            epoch.loss(result.loss);
            totals.add(&batch, result);
            *steps += 1;
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(totals))
    }

    /// Evaluates the held-out rows; without any, the totals are empty.
    fn evaluate(&mut self, number: u64, stop: &AtomicBool) -> Result<Pass, TrainError> {
        let mut totals = Totals::default();
        let Some(held_out) = &self.held_out else { return Ok(Some(totals)) };
        let _stage = stage!("evaluate");
        for batch in held_out.batches(self.batch, Order::AsStored) {
            let at = Place { epoch: number + 1, step: 0 };
            let batch = batch.map_err(|source| at.unreadable(source))?;
            let result = self.model.evaluate(&batch)?;
            at.check(result)?;
            totals.add(&batch, result);
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(totals))
    }
}

impl EpochResult {
    fn tell(&self) {
        let told = [
            (Metric::Loss, Some(self.loss)),
            (Metric::Accuracy, self.accuracy),
            (Metric::ValidationLoss, self.validation_loss),
            (Metric::ValidationAccuracy, self.validation_accuracy),
        ];
        for (metric, value) in told {
            if let Some(value) = value {
                measured(metric, value);
            }
        }
    }
}

fn samples(batch: &Result<Batch, DataError>) -> u32 {
    batch.as_ref().map_or(0, |batch| u32::try_from(batch.rows).unwrap_or(u32::MAX))
}

/// Where in the training something happened, counted from 1.
#[derive(Clone, Copy)]
struct Place {
    epoch: u64,
    step: u64,
}

impl Place {
    fn unreadable(self, source: DataError) -> TrainError {
        TrainError::Batch { epoch: self.epoch, step: self.step, source }
    }

    fn check(self, result: StepResult) -> Result<(), TrainError> {
        let Self { epoch, step } = self;
        let loss = result.loss;
        if loss.is_finite() { Ok(()) } else { Err(TrainError::Diverged { epoch, step, loss }) }
    }
}

/// Sums over the rows of a pass.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    steps: u64,
    rows: u64,
    loss: f64,
    correct: Option<u64>,
}

impl Totals {
    fn add(&mut self, batch: &Batch, result: StepResult) {
        self.steps += 1;
        self.rows += batch.rows as u64;
        self.loss += result.loss * batch.rows as f64;
        if let Some(correct) = result.correct {
            *self.correct.get_or_insert(0) += correct;
        }
    }

    fn loss(&self) -> f64 {
        self.loss / self.rows as f64
    }

    fn accuracy(&self) -> Option<f64> {
        self.correct.map(|correct| correct as f64 / self.rows as f64)
    }
}
