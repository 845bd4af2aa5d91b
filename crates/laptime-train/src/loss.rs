//! The losses a model can be trained on, as PyTorch computes them.

use std::fmt;
use std::str::FromStr;

use crate::model_kind::ModelKind;
use crate::unknown_name::UnknownName;

/// What training makes small: a mean over rows, and over the places of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossKind {
    /// Squared error.
    Mse,
    /// Absolute error.
    Mae,
    /// Half the squared error up to 1, then the absolute error less a half.
    Huber,
    /// Minus the logarithm of the share given to the right class.
    CrossEntropy,
}

impl LossKind {
    /// Every loss, in the order they are listed to a user.
    pub const ALL: [Self; 4] = [Self::Mse, Self::Mae, Self::Huber, Self::CrossEntropy];

    /// The name a user types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mse => "mse",
            Self::Mae => "mae",
            Self::Huber => "huber",
            Self::CrossEntropy => "cross-entropy",
        }
    }

    /// The loss used when none is given.
    #[must_use]
    pub fn default_of(model: ModelKind) -> Self {
        if model.classifies() { Self::CrossEntropy } else { Self::Mse }
    }

    /// Whether a model has what this loss compares: classes for the cross-entropy, numbers for the others.
    #[must_use]
    pub fn fits(self, model: ModelKind) -> bool {
        (self == Self::CrossEntropy) == model.classifies()
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for LossKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("loss", Self::ALL, Self::name, name)
    }
}
