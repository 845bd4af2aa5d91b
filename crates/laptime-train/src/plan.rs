//! What a user asks to train.

use std::path::PathBuf;

use crate::{Dtype, LossKind, ModelKind, OptimizerKind, Schedule, Until};

/// Where the training data comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataSource {
    /// Made from the seed, learnable by the model.
    Generated,
    /// A file of rows: the features, then the target.
    File(PathBuf),
}

/// Everything that decides a training; two equal plans train the same.
///
/// `None` in a size means that the model's default holds, or what the file has.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Which model.
    pub model: ModelKind,
    /// Where the data comes from.
    pub data: DataSource,
    /// Rows to generate; a file has as many as it has.
    pub rows: Option<u64>,
    /// Numbers in a row of input, tokens in a sequence; a file has as many as it has.
    pub features: Option<usize>,
    /// Rows in a batch; `None` takes all rows at once.
    pub batch: Option<usize>,
    /// Passes over the data.
    pub epochs: u64,
    /// Decides data, starting weights and the order of rows.
    pub seed: u64,
    /// Threads to compute with.
    pub threads: u32,
    /// Hidden layers of the mlp, convolution blocks of the cnn, recurrent layers, transformer blocks.
    pub layers: usize,
    /// Units of a hidden layer, channels of a convolution, numbers that a transformer's token is.
    pub width: usize,
    /// Side of the square convolution kernel.
    pub kernel: usize,
    /// Which optimizer.
    pub optimizer: OptimizerKind,
    /// Learning rate; `None` takes the optimizer's default.
    pub lr: Option<f64>,
    /// Share of the rows held out to validate on, from 0 to below 1.
    pub validate: f64,
    /// What to make small; `None` takes the model's usual loss.
    pub loss: Option<LossKind>,
    /// How the learning rate changes from epoch to epoch.
    pub schedule: Schedule,
    /// What to compute with.
    pub dtype: Dtype,
    /// Batches whose gradients are added up for one optimizer step.
    pub accumulate: usize,
    /// The most that the norm of all gradients together may be.
    pub clip: Option<f64>,
    /// Share of the values that dropout sets to zero, from 0 to below 1.
    pub dropout: f64,
    /// How strongly weights are drawn to zero; `None` takes the optimizer's default.
    pub weight_decay: Option<f64>,
    /// Epochs without a lower loss after which to end.
    pub early_stop: Option<u64>,
    /// A goal at which to end.
    pub until: Option<Until>,
    /// Epochs from one checkpoint to the next.
    pub checkpoint_every: Option<u64>,
}

impl Plan {
    /// The model's defaults: generated data, ten epochs, one thread, nothing held out.
    ///
    /// One thread, because a batch of the mlp is computed by one: it takes microseconds.
    #[must_use]
    pub fn new(model: ModelKind) -> Self {
        let (layers, width) = match model {
            ModelKind::Linear => (1, 1),
            ModelKind::Mlp | ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => (1, 64),
            ModelKind::Cnn => (1, 32),
            ModelKind::Transformer => (4, 128),
        };
        let (batch, optimizer) = match model {
            ModelKind::Linear => (None, OptimizerKind::Sgd),
            _ => (Some(32), OptimizerKind::Adam),
        };
        Self {
            model,
            data: DataSource::Generated,
            rows: None,
            features: None,
            batch,
            epochs: 10,
            seed: 0,
            threads: 1,
            layers,
            width,
            kernel: 3,
            optimizer,
            lr: None,
            validate: 0.0,
            loss: None,
            schedule: Schedule::default(),
            dtype: Dtype::default(),
            accumulate: 1,
            clip: None,
            dropout: 0.0,
            weight_decay: None,
            early_stop: None,
            until: None,
            checkpoint_every: None,
        }
    }

    /// Rows generated when the plan does not say.
    pub(crate) fn default_rows(model: ModelKind) -> u64 {
        match model {
            ModelKind::Linear => 100,
            ModelKind::Mlp => 10_000,
            ModelKind::Cnn | ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => 1_000,
            ModelKind::Transformer => 320,
        }
    }

    /// Features generated when the plan does not say.
    pub(crate) fn default_features(model: ModelKind) -> usize {
        match model {
            ModelKind::Linear => 1,
            ModelKind::Mlp => 10,
            ModelKind::Cnn => crate::IMAGE_SIDE * crate::IMAGE_SIDE,
            ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => 50,
            ModelKind::Transformer => 64,
        }
    }
}
