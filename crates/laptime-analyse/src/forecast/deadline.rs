//! Deadline: how many epochs fit into a time.

use super::document::Forecast;

/// The time of any number of epochs, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Course {
    /// What is paid however many there are.
    pub(super) fixed_s: f64,
    /// What each takes with all that follows it.
    pub(super) epoch_s: f64,
    /// Those that were planned.
    pub(super) epochs: u64,
}

/// Epochs that fit into a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochsWithin {
    /// As expected.
    pub expected: u64,
    /// Even if all takes as long as the interval of the forecast allows.
    pub surely: u64,
    /// Those that were planned.
    pub planned: u64,
}

impl Forecast {
    /// How many of the planned epochs are done after so many seconds from the command's start; `None` of a training
    /// without epochs.
    #[must_use]
    pub fn epochs_within(&self, seconds: f64) -> Option<EpochsWithin> {
        let slowest = self.total_s.high / self.total_s.mean.max(f64::MIN_POSITIVE);
        let within = |factor: f64| self.course.within(seconds / factor);
        (self.course.epochs > 0).then(|| EpochsWithin {
            expected: within(1.0),
            surely: within(slowest),
            planned: self.course.epochs,
        })
    }
}

impl Course {
    fn within(&self, seconds: f64) -> u64 {
        let epochs = (seconds - self.fixed_s) / self.epoch_s.max(f64::MIN_POSITIVE);
        // A time that was added up from parts is not the last bit of what it stands for.
        ((epochs + 1e-9).max(0.0) as u64).min(self.epochs)
    }
}
