//! The reference models: what they compute.

use std::fmt;
use std::str::FromStr;

use crate::unknown_name::UnknownName;

/// Classes the cnn distinguishes.
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
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("model", Self::ALL, Self::name, name)
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
