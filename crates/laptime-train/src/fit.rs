//! The training loop: epochs of steps, each followed by an evaluation where rows are held out.

use std::iter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use laptime_core::Counter;
use laptime_load::{Batch, LoadError, Order};
use laptime_record::{Epoch, Fit, Recorder, count, stage};

use crate::epoch_result::EpochResult;
use crate::until::Patience;
use crate::{Plan, Prepared, StepResult, TrainError};

/// What a training came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The epochs that were completed, in order.
    pub epochs: Vec<EpochResult>,
    /// Optimizer steps taken, those of an unfinished epoch included.
    pub steps: u64,
    /// Why it ended.
    pub ended: Ended,
}

/// Why a training ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    /// All planned epochs were done.
    #[default]
    AsPlanned,
    /// It was asked to stop.
    Interrupted,
    /// The goal was reached.
    GoalReached,
    /// The loss has not become lower for as long as was allowed.
    NoBetter,
}

/// Prepares a plan and trains it.
pub fn train(plan: &Plan, recorder: &Recorder, stop: &AtomicBool) -> Result<Outcome, TrainError> {
    Prepared::new(plan)?.train(recorder, stop)
}

/// A pass that was cut short gives no totals.
type Pass = Option<Totals>;

impl Prepared {
    /// Trains to the end of the plan, to its goal, or to the end of the step in which `stop` is set.
    pub fn train(mut self, recorder: &Recorder, stop: &AtomicBool) -> Result<Outcome, TrainError> {
        let mut fit = recorder.fit(self.facts().clone());
        let checkpoints = self.checkpoint_folder(recorder, &fit)?;
        let mut patience = self.early_stop.map(Patience::new);
        let mut outcome = Outcome::default();
        for number in 0..self.epochs {
            self.model.set_learning_rate(self.schedule.rate(self.lr, number, self.epochs));
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
                outcome.ended = Ended::Interrupted;
                break;
            };
            let result = EpochResult {
                loss: trained.loss(),
                accuracy: trained.accuracy(),
                validation_loss: self.held_out.as_ref().map(|_| held_out.loss()),
                validation_accuracy: held_out.accuracy(),
            };
            result.record();
            outcome.epochs.push(result);
            self.write_checkpoint(checkpoints.as_ref(), number)?;
            outcome.ended = self.ends_with(&result, patience.as_mut());
            if outcome.ended != Ended::AsPlanned {
                break;
            }
        }
        Ok(outcome)
    }

    /// Whether the training ends with this epoch, before its last.
    fn ends_with(&self, epoch: &EpochResult, patience: Option<&mut Patience>) -> Ended {
        if self.until.is_some_and(|goal| goal.reached(epoch)) {
            return Ended::GoalReached;
        }
        let out_of_patience = patience.is_some_and(|patience| patience.runs_out(epoch.judged_loss()));
        if out_of_patience { Ended::NoBetter } else { Ended::AsPlanned }
    }

    /// Where this fit's checkpoints go, when it writes any.
    fn checkpoint_folder(&self, recorder: &Recorder, fit: &Fit) -> Result<Option<PathBuf>, TrainError> {
        if self.checkpoint_every.is_none() {
            return Ok(None);
        }
        let run = recorder.run().ok_or(TrainError::CheckpointUnkept)?;
        let number = fit.number().ok_or(TrainError::CheckpointUnkept)?;
        Ok(Some(run.join("checkpoints").join(format!("fit-{}", number + 1))))
    }

    fn write_checkpoint(&self, folder: Option<&PathBuf>, number: u64) -> Result<(), TrainError> {
        match (folder, self.checkpoint_every) {
            (Some(folder), Some(every)) if (number + 1).is_multiple_of(every) => {
                let _stage = stage!("checkpoint");
                self.model.write_checkpoint(&folder.join(format!("epoch-{}", number + 1)))
            }
            _ => Ok(()),
        }
    }

    /// Takes a step on every batch of one epoch, or on as many together as are accumulated.
    fn pass(
        &mut self,
        epoch: &Epoch,
        number: u64,
        stop: &AtomicBool,
        steps: &mut u64,
    ) -> Result<Pass, TrainError> {
        let order = Order::Shuffled { seed: self.seed, epoch: number };
        let (data, size, together) = (&self.train, self.batch, self.accumulate);
        // Made at the first request, so that shuffling the rows counts as waiting for data.
        let mut batches = iter::once_with(move || data.batches(size, order)).flatten();
        let groups = iter::from_fn(move || {
            let group: Result<Vec<Batch>, LoadError> = batches.by_ref().take(together).collect();
            group.as_ref().map_or(true, |group| !group.is_empty()).then_some(group)
        });
        let mut totals = Totals::default();
        for group in epoch.batches(groups, samples) {
            let at = Place { epoch: number + 1, step: totals.steps + 1 };
            let group = group.map_err(|source| at.unreadable(source))?;
            let result = self.model.train_step(&group)?;
            count(Counter::BatchBytes, group.iter().map(Batch::bytes).sum());
            at.check(result)?;
            epoch.loss(result.loss);
            totals.add(&group, result);
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
            totals.add(&[batch], result);
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(totals))
    }
}

fn samples(group: &Result<Vec<Batch>, LoadError>) -> u32 {
    group.as_ref().map_or(0, |group| u32::try_from(rows(group)).unwrap_or(u32::MAX))
}

fn rows(group: &[Batch]) -> usize {
    group.iter().map(|batch| batch.rows).sum()
}

/// Where in the training something happened, counted from 1.
#[derive(Clone, Copy)]
struct Place {
    epoch: u64,
    step: u64,
}

impl Place {
    fn unreadable(self, source: LoadError) -> TrainError {
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
    accuracy: Option<f64>,
}

impl Totals {
    fn add(&mut self, group: &[Batch], result: StepResult) {
        let rows = rows(group);
        self.steps += 1;
        self.rows += rows as u64;
        self.loss += result.loss * rows as f64;
        if let Some(accuracy) = result.accuracy {
            *self.accuracy.get_or_insert(0.0) += accuracy * rows as f64;
        }
    }

    fn loss(&self) -> f64 {
        self.loss / self.rows as f64
    }

    fn accuracy(&self) -> Option<f64> {
        self.accuracy.map(|sum| sum / self.rows as f64)
    }
}
