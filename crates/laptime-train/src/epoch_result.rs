//! How well the model did in one epoch.

use laptime_core::Metric;
use laptime_record::measured;

/// How well the model did in one epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochResult {
    /// Mean training loss over the epoch's rows, each taken before its own step.
    pub loss: f64,
    /// Share of right answers on the training rows; `None` for a model that does not classify.
    pub accuracy: Option<f64>,
    /// Mean loss on the held-out rows after the epoch.
    pub validation_loss: Option<f64>,
    /// Share of right answers on the held-out rows.
    pub validation_accuracy: Option<f64>,
}

impl EpochResult {
    /// The loss on held-out rows, else on those trained on.
    pub(crate) fn judged_loss(&self) -> f64 {
        self.validation_loss.unwrap_or(self.loss)
    }

    /// The accuracy on held-out rows, else on those trained on.
    pub(crate) fn judged_accuracy(&self) -> Option<f64> {
        self.validation_accuracy.or(self.accuracy)
    }

    /// Puts it on record.
    pub(crate) fn record(&self) {
        let metrics = [
            (Metric::Loss, Some(self.loss)),
            (Metric::Accuracy, self.accuracy),
            (Metric::ValidationLoss, self.validation_loss),
            (Metric::ValidationAccuracy, self.validation_accuracy),
        ];
        for (metric, value) in metrics {
            if let Some(value) = value {
                measured(metric, value);
            }
        }
    }
}
