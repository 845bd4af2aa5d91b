//! Stages: the named kinds of work that time is booked on.

use serde::{Deserialize, Serialize};

/// A stage's number within one process: built-in stages have fixed numbers, a user's follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StageId(pub u16);

/// Stages one process can distinguish; later names share [`StageId::OTHER`].
pub const MAX_STAGES: u16 = 256;

/// The first number given to a user's stage; the numbers below are built in or reserved.
pub const FIRST_USER_STAGE: u16 = 32;

/// The names of the built-in stages, each at the index that is its number; logs hold the numbers, so none ever moves.
pub const BUILT_IN_STAGES: [&str; 20] = [
    "unaccounted",
    "start_up",
    "data_wait",
    "host_to_device",
    "forward",
    "loss",
    "backward",
    "optimizer",
    "communication",
    "evaluate",
    "checkpoint",
    "between_epochs",
    "tear_down",
    "<other>",
    "prepare",
    "garbage_collection",
    "imports",
    "callbacks",
    "after_update",
    "device_wait",
];

impl StageId {
    /// Time no stage claims, inside an epoch.
    pub const UNACCOUNTED: Self = Self(0);
    /// From the recorder's start to the first fit.
    pub const START_UP: Self = Self(1);
    /// Waiting for the next batch.
    pub const DATA_WAIT: Self = Self(2);
    /// Handing a batch to the device, or to the engine's own memory on a CPU.
    pub const HOST_TO_DEVICE: Self = Self(3);
    /// The model's forward pass.
    pub const FORWARD: Self = Self(4);
    /// Computing the loss.
    pub const LOSS: Self = Self(5);
    /// The backward pass.
    pub const BACKWARD: Self = Self(6);
    /// The optimizer's update.
    pub const OPTIMIZER: Self = Self(7);
    /// Blocking exchange between ranks.
    pub const COMMUNICATION: Self = Self(8);
    /// An evaluation pass with everything inside it.
    pub const EVALUATE: Self = Self(9);
    /// Saving the model.
    pub const CHECKPOINT: Self = Self(10);
    /// Time of a fit outside its epochs that no stage claims.
    pub const BETWEEN_EPOCHS: Self = Self(11);
    /// From the last fit's end to the recorder's finish.
    pub const TEAR_DOWN: Self = Self(12);
    /// Where stages go once [`MAX_STAGES`] names are taken.
    pub const OTHER: Self = Self(13);
    /// From a batch, or from an update where the script makes its own batches, to the model's call.
    pub const PREPARE: Self = Self(14);
    /// Python's garbage collector.
    pub const GARBAGE_COLLECTION: Self = Self(15);
    /// Importing modules before the first fit.
    pub const IMPORTS: Self = Self(16);
    /// Callbacks, handlers and loggers of a trainer class.
    pub const CALLBACKS: Self = Self(17);
    /// From an update, or a backward pass without one, to the request for the next batch: logging, metrics,
    /// progress bars.
    pub const AFTER_UPDATE: Self = Self(18);
    /// The host blocked until a device has done what it was given.
    pub const DEVICE_WAIT: Self = Self(19);

    /// The number of a built-in stage with this name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let at = BUILT_IN_STAGES.iter().position(|known| *known == name)?;
        u16::try_from(at).ok().map(Self)
    }

    /// The name, when the stage is built in.
    #[must_use]
    pub fn built_in_name(self) -> Option<&'static str> {
        BUILT_IN_STAGES.get(usize::from(self.0)).copied()
    }

    /// Whether everything inside this stage is booked on it (an evaluation's forward pass is `evaluate`).
    #[must_use]
    pub fn absorbs_children(self) -> bool {
        self == Self::EVALUATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_names_agree() {
        let pairs = [
            (StageId::UNACCOUNTED, "unaccounted"),
            (StageId::START_UP, "start_up"),
            (StageId::DATA_WAIT, "data_wait"),
            (StageId::HOST_TO_DEVICE, "host_to_device"),
            (StageId::FORWARD, "forward"),
            (StageId::LOSS, "loss"),
            (StageId::BACKWARD, "backward"),
            (StageId::OPTIMIZER, "optimizer"),
            (StageId::COMMUNICATION, "communication"),
            (StageId::EVALUATE, "evaluate"),
            (StageId::CHECKPOINT, "checkpoint"),
            (StageId::BETWEEN_EPOCHS, "between_epochs"),
            (StageId::TEAR_DOWN, "tear_down"),
            (StageId::OTHER, "<other>"),
            (StageId::PREPARE, "prepare"),
            (StageId::GARBAGE_COLLECTION, "garbage_collection"),
            (StageId::IMPORTS, "imports"),
            (StageId::CALLBACKS, "callbacks"),
            (StageId::AFTER_UPDATE, "after_update"),
            (StageId::DEVICE_WAIT, "device_wait"),
        ];
        for (stage, name) in pairs {
            assert_eq!(StageId::built_in(name), Some(stage));
            assert_eq!(stage.built_in_name(), Some(name));
        }
        assert_eq!(pairs.len(), BUILT_IN_STAGES.len());
    }
}
