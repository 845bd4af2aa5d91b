//! What an engine must do so that a reference model can train on it.

use std::path::Path;

use laptime_load::Batch;

use crate::{Dtype, ModelSpec, Recipe, TrainError, Weights};

/// Something that can train the reference models: a framework on a device.
pub trait Engine {
    /// The name and version that results are labelled with, such as `laptime cpu AVX-512`.
    fn name(&self) -> String;

    /// Threads it computes with, the calling one included.
    fn threads(&self) -> u32;

    /// The most floating-point operations a second that its threads can do together with numbers of a type;
    /// `None` where it does not know. Measuring it may take some milliseconds.
    fn peak_flops_per_s(&self, dtype: Dtype) -> Option<f64> {
        let _ = dtype;
        None
    }

    /// Builds a model from given weights; from the same weights every engine starts the same.
    fn model(&self, spec: &ModelSpec, start: &Weights, recipe: &Recipe)
    -> Result<Box<dyn Model>, TrainError>;
}

/// A model in training; each call books its time on the stages it goes through.
pub trait Model {
    /// Takes one optimizer step on the rows of some batches, which go through one after the other, and returns
    /// how the model did before it. However the rows are divided, the step is the same up to rounding.
    fn train_step(&mut self, batches: &[Batch]) -> Result<StepResult, TrainError>;

    /// Returns how the model does on a batch, changing nothing.
    fn evaluate(&mut self, batch: &Batch) -> Result<StepResult, TrainError>;

    /// Changes the learning rate of the steps to come.
    fn set_learning_rate(&mut self, lr: f64);

    /// Writes weights and the optimizer's state into a folder, which it makes.
    fn write_checkpoint(&self, folder: &Path) -> Result<(), TrainError>;

    /// Goes on from what was written by a model of the same spec and optimizer.
    fn read_checkpoint(&mut self, folder: &Path) -> Result<(), TrainError>;

    /// Numbers the model learns.
    fn parameters(&self) -> u64;
}

/// How a model did on one batch, or on the batches of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// Mean loss over the batch's rows.
    pub loss: f64,
    /// Share of right answers, one a row or one a token; `None` for a model that does not classify.
    pub accuracy: Option<f64>,
}
