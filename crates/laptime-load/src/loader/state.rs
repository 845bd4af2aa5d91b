//! Where a loader is, to go on from there later.

use super::epoch_order::Shuffle;
use super::error::LoaderError;

/// Where a loader is, and what must be the same for it to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoaderState {
    /// Which of the possible orders.
    pub seed: u64,
    /// The epoch, counted from 0.
    pub epoch: u64,
    /// The batch of the epoch that is next; as many as the epoch has where only its end is due.
    pub batch: u64,
    /// Samples of an epoch.
    pub samples: u64,
    /// Samples of a batch.
    pub batch_size: u64,
    /// How many ranks share the samples.
    pub world: u64,
    /// Whether the last samples are left out.
    pub drop_last: bool,
    /// How samples are shuffled.
    pub shuffle: Shuffle,
}

impl LoaderState {
    /// Whether a loader with this state and as many batches can go on from here.
    pub(super) fn check(&self, now: &Self, batches: u64) -> Result<(), LoaderError> {
        let differ = [
            ("the number of samples", self.samples.to_string(), now.samples.to_string()),
            ("the batch size", self.batch_size.to_string(), now.batch_size.to_string()),
            ("the number of ranks", self.world.to_string(), now.world.to_string()),
            ("drop_last", self.drop_last.to_string(), now.drop_last.to_string()),
            ("the shuffle", format!("{:?}", self.shuffle), format!("{:?}", now.shuffle)),
        ];
        for (what, was, now) in differ {
            if was != now {
                return Err(LoaderError::OtherState { what, was, now });
            }
        }
        if self.batch > batches {
            let (was, now) = (self.batch.to_string(), format!("at most {batches}"));
            return Err(LoaderError::OtherState { what: "the batch", was, now });
        }
        Ok(())
    }
}
