//! The reference models: what they compute and what numbers they learn.

use std::fmt;
use std::str::FromStr;

use crate::TrainError;
use crate::shapes::{image_sides, shapes};
use crate::weights::WeightShape;

/// Classes the cnn tells apart.
pub const CLASSES: usize = 10;

/// Side of the square images the cnn takes.
pub const IMAGE_SIDE: usize = 28;

/// Tokens that the sequence models know.
pub const VOCABULARY: usize = 20;

/// Numbers a token becomes before a recurrent model reads it.
pub(crate) const EMBEDDING: usize = 32;

/// Heads of the transformer's attention.
pub(crate) const HEADS: usize = 4;

/// Units of the transformer's feed-forward layer for each number a token is.
pub(crate) const FEED_FORWARD: usize = 4;

/// Which reference model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelKind {
    /// Linear regression: features to one number.
    Linear,
    /// Dense layers with ReLU between them, to one number.
    Mlp,
    /// Convolution blocks (convolution, ReLU, max-pool 2) and a dense layer, to ten classes.
    Cnn,
    /// Embedding, tanh recurrence and a dense layer, to the next token at every place of a sequence.
    Rnn,
    /// The rnn with long short-term memory cells.
    Lstm,
    /// The rnn with gated recurrent units.
    Gru,
    /// Causal self-attention blocks, to the next token at every place of a sequence.
    Transformer,
}

impl ModelKind {
    /// Every model, in the order they are listed to a user.
    pub const ALL: [Self; 7] =
        [Self::Linear, Self::Mlp, Self::Cnn, Self::Rnn, Self::Lstm, Self::Gru, Self::Transformer];

    /// The name a user types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Mlp => "mlp",
            Self::Cnn => "cnn",
            Self::Rnn => "rnn",
            Self::Lstm => "lstm",
            Self::Gru => "gru",
            Self::Transformer => "transformer",
        }
    }

    /// Whether targets are classes rather than numbers.
    #[must_use]
    pub fn classifies(self) -> bool {
        !matches!(self, Self::Linear | Self::Mlp)
    }

    /// Whether a row is a sequence of tokens, followed by the next one.
    #[must_use]
    pub fn reads_tokens(self) -> bool {
        matches!(self, Self::Rnn | Self::Lstm | Self::Gru | Self::Transformer)
    }

    /// Classes a target can be; `None` where it is a number.
    pub(crate) fn classes(self) -> Option<usize> {
        match self {
            Self::Linear | Self::Mlp => None,
            Self::Cnn => Some(CLASSES),
            Self::Rnn | Self::Lstm | Self::Gru | Self::Transformer => Some(VOCABULARY),
        }
    }

    /// Sums that a recurrent cell takes of its input for each unit of its state; 0 where nothing recurs.
    pub(crate) fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
            _ => 0,
        }
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for ModelKind {
    type Err = TrainError;

    fn from_str(name: &str) -> Result<Self, TrainError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| TrainError::UnknownModel { name: name.to_owned() })
    }
}

/// A reference model with its sizes settled, so that its weights have a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSpec {
    /// Which model.
    pub kind: ModelKind,
    /// Numbers in one row of input; tokens in a sequence.
    pub features: usize,
    /// Hidden layers of the mlp, convolution blocks of the cnn, recurrent layers, transformer blocks; the
    /// linear model has none.
    pub layers: usize,
    /// Units of a hidden layer, channels of a convolution, numbers that a transformer's token is.
    pub width: usize,
    /// Side of the square convolution kernel.
    pub kernel: usize,
}

impl ModelSpec {
    /// The shapes of the weights in forward order, as the same PyTorch model lists its parameters.
    ///
    /// Fails when the convolution blocks use up the image, or the heads cannot share the width.
    pub fn shapes(&self) -> Result<Vec<WeightShape>, TrainError> {
        shapes(self)
    }

    /// Numbers the model learns.
    pub fn parameters(&self) -> Result<u64, TrainError> {
        let numbers = |shape: &WeightShape| {
            shape.dims.iter().fold(1u64, |product, size| product.saturating_mul(*size as u64))
        };
        Ok(self.shapes()?.iter().map(numbers).fold(0, u64::saturating_add))
    }

    /// Sides of the image after each convolution block of the cnn.
    pub(crate) fn image_sides(&self) -> Result<Vec<usize>, TrainError> {
        image_sides(self.layers, self.kernel)
    }

    /// An estimate of the bytes that one row's activations and their gradients take while training in 32 bits.
    ///
    /// Peak memory grew by 3.3 copies of the widest layer a row for the cnn and 3.2 for the mlp (one block, one
    /// hidden layer); four leaves some room. Later convolution blocks are smaller and are not counted. A place
    /// of a sequence took 6.5 copies of the rnn's state, 15 of the gru's and 18 of the lstm's; in a block of the
    /// transformer it took 18 copies of the token and 3 of its attention scores, and as much besides the blocks.
    #[must_use]
    pub fn bytes_per_row(&self) -> u64 {
        let [features, layers, width] = [self.features, self.layers, self.width].map(|size| size as u64);
        let values = match self.kind {
            ModelKind::Linear => features,
            ModelKind::Mlp => features.saturating_add(layers.saturating_mul(width)),
            ModelKind::Cnn => {
                let side = (IMAGE_SIDE + 1).saturating_sub(self.kernel) as u64;
                side.saturating_mul(side).saturating_mul(width)
            }
            ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => {
                let places = layers.saturating_mul(features);
                places.saturating_mul(width).saturating_mul(self.kind.gates() as u64 + 1)
            }
            ModelKind::Transformer => {
                let scores = features.saturating_mul(HEADS as u64);
                let place = width.saturating_mul(5).saturating_add(scores);
                (layers + 1).saturating_mul(features).saturating_mul(place)
            }
        };
        values.saturating_mul(4 * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_found_by_its_name() {
        for kind in ModelKind::ALL {
            assert_eq!(kind.name().parse::<ModelKind>().unwrap(), kind);
        }
        assert!("resnet".parse::<ModelKind>().is_err());
    }
}
