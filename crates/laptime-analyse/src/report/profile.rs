//! What a report says of hot functions.

use laptime_core::{Estimate, ProfileTrouble};
use serde::Serialize;

/// The functions that take the stages, as samples of the stacks show them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileReport {
    /// Samples a second of each thread that were asked for.
    pub rate_hz: f64,
    /// Stacks that were read.
    pub samples: u64,
    /// Stacks that changed while they were read and are not counted.
    pub unread: u64,
    /// What sampling cost; absent before it is known.
    pub cost: Option<SamplingCost>,
    /// Who was sampled, the training first.
    pub parts: Vec<ProfilePart>,
    /// What could not be sampled.
    pub troubles: Vec<ProfileTrouble>,
}

/// What sampling cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SamplingCost {
    /// CPU time of the sampling thread, which is not the command's, seconds.
    pub cpu_s: f64,
    /// How long was sampled, seconds.
    pub wall_s: f64,
    /// Their ratio: the share of one CPU.
    pub share: f64,
}

/// Who was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SampledPart {
    /// The thread that takes the steps; of a command that recorded nothing, the first thread of each process.
    Training,
    /// Processes that load data for it.
    LoaderWorkers,
    /// All other threads and processes.
    Others,
}

/// The samples of one part of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfilePart {
    /// Which part.
    pub part: SampledPart,
    /// The rank it belongs to.
    pub rank: u32,
    /// Samples of its threads.
    pub samples: u64,
    /// Its stages, those with the most time first.
    pub stages: Vec<ProfileStage>,
}

/// The samples of one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileStage {
    /// The stage; absent where no stage was recorded.
    pub stage: Option<String>,
    /// Samples that fell into it.
    pub samples: u64,
    /// Its share of the part's time.
    pub share: Estimate,
    /// Its functions, the one that takes most itself first; at most 50.
    pub functions: Vec<ProfileFunction>,
}

/// One function within a stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileFunction {
    /// Its qualified name; comprehensions and generator expressions count as the function they stand in.
    pub name: String,
    /// The file it stands in.
    pub file: String,
    /// The line it begins at.
    pub line: u32,
    /// Samples that had it innermost.
    pub samples: u64,
    /// Share of the stage's time that it takes itself, with the C code it calls.
    pub own: Estimate,
    /// Share of the stage's time in it and in what it calls.
    pub total: Estimate,
    /// Share of its own time that it waits: for a lock, a file, another process or the clock.
    pub waiting: f64,
}
