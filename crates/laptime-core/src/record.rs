//! Records: everything a log holds, in the form that travels from store to analysis.

use serde::{Deserialize, Serialize};

use crate::{
    Anchor, Closing, DeviceFacts, Event, FitFacts, GroupFacts, LaneState, LayerFacts, Sample, StageId,
    Status, Ticks, Track, Trouble,
};

/// One entry of a process' log.
///
/// A reader yields them in the order they were written; analysis folds them and never needs them all
/// in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The process that writes this log: always the first record.
    Process(ProcessFacts),
    /// The name of a user's stage; comes before the stage is used.
    Stage {
        /// Its number in this process.
        stage: StageId,
        /// Its name as the user wrote it.
        name: String,
    },
    /// A track began on a lane.
    Track {
        /// The lane's number, unique within the process.
        lane: u32,
        /// What it is of.
        track: Track,
        /// When.
        started: Ticks,
    },
    /// A device that trains.
    Device {
        /// The lane of its track.
        lane: u32,
        /// What it is.
        facts: DeviceFacts,
    },
    /// A group of ranks; comes before its first collective.
    Group {
        /// Its number within the process.
        group: u16,
        /// What it is.
        facts: GroupFacts,
    },
    /// What is known of a fit; comes before the fit begins, and again when more is known.
    Fit {
        /// Its number within the process.
        fit: u32,
        /// What is known.
        facts: Box<FitFacts>,
    },
    /// A module of a model on the sampled steps so far: the newest one of a fit and name replaces the older ones.
    Layer {
        /// The fit's number within the process.
        fit: u32,
        /// What was measured.
        facts: Box<LayerFacts>,
    },
    /// A module was imported before the first fit, outside any other import.
    Import {
        /// Its name.
        name: String,
        /// How long it took, what it imported itself included.
        length: Ticks,
    },
    /// Something happened on a lane.
    Event {
        /// The lane.
        lane: u32,
        /// What.
        event: Event,
    },
    /// Where a lane stands: the newest one of a lane replaces the older ones.
    State(LaneState),
    /// The probes were read.
    Sample(Sample),
    /// All clocks were read.
    Anchor(Anchor),
    /// Something did not work.
    Trouble(Trouble),
    /// The process ended in good order.
    Closed {
        /// When.
        at: Ticks,
        /// How.
        closing: Closing,
    },
    /// The log ends here without a [`Record::Closed`]; added by the reader.
    Ended {
        /// [`Status::Running`] while the process lives, else [`Status::Killed`].
        status: Status,
    },
}

/// What a process does in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It records its own stages.
    #[default]
    Trainer,
    /// It started the command and waits for it; its probes are those of the command and all it started.
    Supervisor,
}

impl Role {
    /// Whether it is a trainer, which goes without saying in a log.
    #[must_use]
    pub fn is_trainer(&self) -> bool {
        *self == Self::Trainer
    }
}

/// Who writes a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessFacts {
    /// Rank within the run.
    pub rank: u32,
    /// What it does in the run; a log of version 1 that does not say is a trainer's.
    #[serde(skip_serializing_if = "Role::is_trainer")]
    pub role: Role,
    /// What the machine calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Process id.
    pub pid: u32,
    /// The kernel's boot id: a pid means nothing in another boot.
    pub boot_id: String,
    /// The process' start in clock ticks since boot: a pid can be used again.
    pub pid_start: u64,
    /// Where the clock comes from: `tsc` or `monotonic`.
    pub clock: String,
    /// The length of a tick measured at start, nanoseconds.
    pub ns_per_tick: f64,
    /// The recorder's start.
    pub started: Ticks,
    /// The name of the ring in shared memory, when there is one.
    pub ring: Option<String>,
    /// What a process that joined a run knows of it and its maker did not, such as device and engine.
    #[serde(rename = "told", skip_serializing_if = "Option::is_none")]
    pub known: Option<Box<crate::RunMeta>>,
    /// The parent's pid, of a process that joined the run beside its rank's own, such as a loader worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Which worker of its loader it is, from 0, where it said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// How often its launcher had started the ranks before.
    #[serde(skip_serializing_if = "is_zero")]
    pub restart: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
