//! Goal: the loss or accuracy that a fit was to end at.

use laptime_core::{FitFacts, Goal as Asked, Metric};

/// A loss of at most, or an accuracy of at least, some value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Goal {
    /// The value to reach.
    pub(crate) value: f64,
    /// What is held against it: of held-out rows where that is measured, else of the training's.
    pub(crate) metrics: [Metric; 2],
}

impl Goal {
    /// The goal of a fit; `None` without one.
    pub(crate) fn of(facts: &FitFacts) -> Option<Self> {
        let (value, metrics) = match facts.goal? {
            Asked::Loss(value) => (value, [Metric::ValidationLoss, Metric::Loss]),
            Asked::Accuracy(value) => (value, [Metric::ValidationAccuracy, Metric::Accuracy]),
        };
        Some(Self { value, metrics })
    }

    /// Whether less is better.
    pub(crate) fn is_loss(&self) -> bool {
        matches!(self.metrics[1], Metric::Loss)
    }

    /// Whether a value is good enough.
    pub(crate) fn is_met_by(&self, found: f64) -> bool {
        if self.is_loss() { found <= self.value } else { found >= self.value }
    }
}
