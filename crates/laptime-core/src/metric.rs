//! Metrics: how well the model does, as reported by the training.

use serde::{Deserialize, Serialize};

/// What is measured. The number is what the log stores and never changes meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Mean training loss of an epoch.
    Loss = 0,
    /// Share of right answers on the training data, 0 to 1.
    Accuracy = 1,
    /// Loss on held-out data.
    ValidationLoss = 2,
    /// Share of right answers on held-out data, 0 to 1.
    ValidationAccuracy = 3,
}

impl Metric {
    /// Every metric, at the index that is its number.
    pub const ALL: [Self; 4] = [Self::Loss, Self::Accuracy, Self::ValidationLoss, Self::ValidationAccuracy];

    /// The metric with this number; `None` for one from a newer version.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Its name, as reports write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Accuracy => "accuracy",
            Self::ValidationLoss => "validation_loss",
            Self::ValidationAccuracy => "validation_accuracy",
        }
    }

    /// The metric with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }
}
