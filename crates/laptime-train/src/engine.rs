//! What an engine must do so that a reference model can train on it.

use laptime_data::Batch;

use crate::{ModelSpec, OptimizerSpec, TrainError, Weights};

/// Something that can train the reference models: a framework on a device.
pub trait Engine {
    /// The name and version that results are labelled with, such as `burn 0.22.1 flex`.
    fn name(&self) -> String;

    /// Threads it computes with, the calling one included.
    fn threads(&self) -> u32;

    /// Builds a model from given weights; from the same weights every engine starts the same.
    fn model(
        &self,
        spec: &ModelSpec,
        start: &Weights,
        optimizer: &OptimizerSpec,
    ) -> Result<Box<dyn Model>, TrainError>;
}

/// A model in training; each call books its time on the stages it goes through.
pub trait Model {
    /// Takes one optimizer step on a batch and returns how the model did before it.
    fn train_step(&mut self, batch: &Batch) -> Result<StepResult, TrainError>;

    /// Returns how the model does on a batch, changing nothing.
    fn evaluate(&mut self, batch: &Batch) -> Result<StepResult, TrainError>;

    /// Numbers the model learns.
    fn parameters(&self) -> u64;
}

/// How a model did on one batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// Mean loss over the batch's rows.
    pub loss: f64,
    /// Rows whose class was found; `None` for a model that does not classify.
    pub correct: Option<u64>,
}
