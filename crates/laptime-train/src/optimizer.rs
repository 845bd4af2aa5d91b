//! The optimizers, with PyTorch's defaults.

use std::fmt;
use std::str::FromStr;

use crate::unknown_name::UnknownName;

/// Which optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptimizerKind {
    /// Stochastic gradient descent.
    Sgd,
    /// Stochastic gradient descent with momentum 0.9.
    Momentum,
    /// Adam with betas 0.9 and 0.999.
    Adam,
    /// Adam whose weight decay, 0.01 unless chosen, stays out of the gradient.
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

    /// The weight decay used when none is given: AdamW's 0.01, none for the others.
    #[must_use]
    pub fn default_weight_decay(self) -> f64 {
        if self == Self::AdamW { 0.01 } else { 0.0 }
    }
}

impl fmt::Display for OptimizerKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for OptimizerKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("optimizer", Self::ALL, Self::name, name)
    }
}

/// An optimizer with its numbers settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimizerSpec {
    /// Which optimizer.
    pub kind: OptimizerKind,
    /// Learning rate that the schedule starts from.
    pub lr: f64,
    /// How strongly weights are drawn to zero: AdamW takes it off the weight times the rate, the others add it
    /// times the weight to the gradient.
    pub weight_decay: f64,
}

impl OptimizerSpec {
    /// The optimizer with its defaults.
    #[must_use]
    pub fn new(kind: OptimizerKind) -> Self {
        Self { kind, lr: kind.default_lr(), weight_decay: kind.default_weight_decay() }
    }
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
