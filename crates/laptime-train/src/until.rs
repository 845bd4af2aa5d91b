//! When a training has done enough: a goal is reached, or it gets no better.

use crate::epoch_result::EpochResult;

/// A goal that ends the training when an epoch reaches it.
///
/// Held-out rows decide where there are any, else the rows trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// A loss of at most this.
    Loss(f64),
    /// A share of right answers of at least this.
    Accuracy(f64),
}

impl Until {
    pub(crate) fn reached(self, epoch: &EpochResult) -> bool {
        match self {
            Self::Loss(most) => epoch.judged_loss() <= most,
            Self::Accuracy(least) => epoch.judged_accuracy().is_some_and(|accuracy| accuracy >= least),
        }
    }
}

/// Counts the epochs since the loss was last lower than ever before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    allowed: u64,
    lowest: f64,
    since: u64,
}

impl Patience {
    pub(crate) fn new(allowed: u64) -> Self {
        Self { allowed, lowest: f64::INFINITY, since: 0 }
    }

    /// Takes an epoch's loss and returns whether that was one too many without getting better.
    pub(crate) fn runs_out(&mut self, loss: f64) -> bool {
        if loss < self.lowest {
            (self.lowest, self.since) = (loss, 0);
        } else {
            self.since += 1;
        }
        self.since >= self.allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(loss: f64, accuracy: Option<f64>) -> EpochResult {
        EpochResult { loss, accuracy, validation_loss: None, validation_accuracy: None }
    }

    #[test]
    fn held_out_rows_decide_where_there_are_any() {
        let trained = epoch(0.1, Some(0.9));
        assert!(Until::Loss(0.1).reached(&trained) && Until::Accuracy(0.9).reached(&trained));
        let held_out = EpochResult { validation_loss: Some(0.3), validation_accuracy: Some(0.7), ..trained };
        assert!(!Until::Loss(0.1).reached(&held_out) && Until::Loss(0.3).reached(&held_out));
        assert!(!Until::Accuracy(0.9).reached(&held_out) && Until::Accuracy(0.7).reached(&held_out));
        assert!(!Until::Accuracy(0.0).reached(&epoch(0.1, None)));
    }

    #[test]
    fn patience_runs_out_after_that_many_epochs_without_a_lower_loss() {
        let mut patience = Patience::new(2);
        let losses = [3.0, 2.0, 2.0, 1.5, 1.6, 1.5, 1.0];
        let ends: Vec<bool> = losses.iter().map(|loss| patience.runs_out(*loss)).collect();
        assert_eq!(ends, [false, false, false, false, false, true, false]);
    }
}
