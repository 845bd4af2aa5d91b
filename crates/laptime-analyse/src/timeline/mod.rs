//! Timeline: every record of a run on one axis of time, as rows of slices and amounts.

mod axis;
mod in_order;
mod lanes;
mod marks;
mod names;
mod nest;
mod quantity;
mod readings;
mod steps;
#[cfg(test)]
mod tests;

use laptime_core::{CollectiveKind, StageId};

pub use axis::{Timeline, TimelineProcess};
pub use marks::TimelineMarks;
pub use quantity::{Quantity, QuantityUnit};
pub(crate) use readings::Readings;
pub use steps::{StepRow, StepRows};

/// Where marks stand: within a row slices nest and never overlap otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Row {
    /// The trainings of a thread.
    Fits {
        /// Its lane.
        lane: u32,
    },
    /// Their epochs.
    Epochs {
        /// The thread's lane.
        lane: u32,
    },
    /// Their steps.
    Steps {
        /// The thread's lane.
        lane: u32,
        /// 0, or which row beside that for steps that overlap.
        beside: u16,
    },
    /// The stages of a thread, device or worker.
    Stages {
        /// Its lane.
        lane: u32,
        /// 0, or which row beside that for spans that overlap it, as those of generators and tasks may.
        beside: u16,
    },
    /// What one stream of a device works on.
    Stream {
        /// The device's lane.
        lane: u32,
        /// The stream's number.
        stream: u16,
    },
    /// The collectives of a group of ranks.
    Group {
        /// Its number within the process.
        group: u16,
        /// 0, or which row beside that for collectives under way at the same time.
        beside: u16,
    },
    /// How much of something there is, over time.
    Amount(Quantity),
}

/// What a slice is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slice {
    /// A stage.
    Stage(StageId),
    /// A step, by its number within the fit.
    Step(u64),
    /// An epoch, by its number within the fit.
    Epoch(u32),
    /// A fit.
    Fit(u32),
    /// A collective.
    Collective(CollectiveKind),
}

/// What happens at a mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A slice begins, inside those of its row that are open.
    Begin(Slice),
    /// The innermost open slice of the row ends.
    End,
    /// There is so much from here on.
    Amount(f64),
}

/// One thing at one moment; the marks of a row come in time order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// The number of the log it comes from.
    pub log: usize,
    /// Where it stands.
    pub row: Row,
    /// When, nanoseconds since the run's begin.
    pub at_ns: u64,
    /// What happens.
    pub what: What,
}
