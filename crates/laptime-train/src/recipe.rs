//! How a model is trained, once everything is settled.

use crate::{Dtype, LossKind, ModelKind, OptimizerKind, OptimizerSpec};

/// What an engine needs to know to train a model, besides the model itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// What it makes small.
    pub loss: LossKind,
    /// How it changes the weights.
    pub optimizer: OptimizerSpec,
    /// What it computes with.
    pub dtype: Dtype,
    /// Share of the values that dropout sets to zero while training; 0 leaves all.
    pub dropout: f64,
    /// The most that the norm of all gradients together may be.
    pub clip: Option<f64>,
    /// Decides which values dropout takes.
    pub seed: u64,
}

impl Recipe {
    /// The model's usual loss and an optimizer with its defaults, and nothing else.
    #[must_use]
    pub fn new(model: ModelKind, optimizer: OptimizerKind) -> Self {
        Self {
            loss: LossKind::default_of(model),
            optimizer: OptimizerSpec::new(optimizer),
            dtype: Dtype::F32,
            dropout: 0.0,
            clip: None,
            seed: 0,
        }
    }
}
