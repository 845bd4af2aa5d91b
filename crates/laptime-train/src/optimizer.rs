//! The optimizers, with PyTorch's defaults.

use std::fmt;
use std::str::FromStr;

use crate::TrainError;

/// Which optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptimizerKind {
    /// Stochastic gradient descent.
    Sgd,
    /// Stochastic gradient descent with momentum 0.9.
    Momentum,
    /// Adam with betas 0.9 and 0.999.
    Adam,
    /// Adam with decoupled weight decay of 0.01.
    AdamW,
    /// RMSprop with a smoothing of 0.99.
    RmsProp,
}

impl OptimizerKind {
    /// Every optimizer, in the order they are listed to a user.
    pub const ALL: [Self; 5] = [Self::Sgd, Self::Momentum, Self::Adam, Self::AdamW, Self::RmsProp];

    /// The name a user types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd => "sgd",
            Self::Momentum => "momentum",
            Self::Adam => "adam",
            Self::AdamW => "adamw",
            Self::RmsProp => "rmsprop",
        }
    }

    /// The learning rate used when none is given: 0.01 for plain and momentum descent and for RMSprop, as
    /// PyTorch's RMSprop has it, and 0.001 for the Adam family.
    #[must_use]
    pub fn default_lr(self) -> f64 {
        match self {
            Self::Sgd | Self::Momentum | Self::RmsProp => 1e-2,
            Self::Adam | Self::AdamW => 1e-3,
        }
    }
}

impl fmt::Display for OptimizerKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for OptimizerKind {
    type Err = TrainError;

    fn from_str(name: &str) -> Result<Self, TrainError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| TrainError::UnknownOptimizer { name: name.to_owned() })
    }
}

/// An optimizer with its learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimizerSpec {
    /// Which optimizer.
    pub kind: OptimizerKind,
    /// Learning rate, the same at every step.
    pub lr: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_optimizer_is_found_by_its_name() {
        for kind in OptimizerKind::ALL {
            assert_eq!(kind.name().parse::<OptimizerKind>().unwrap(), kind);
        }
        assert!("lion".parse::<OptimizerKind>().is_err());
    }
}
