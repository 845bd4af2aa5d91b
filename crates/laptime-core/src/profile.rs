//! Profiles: what a sampler saw of the stacks of a run's processes, in the form that travels to analysis.

use serde::{Deserialize, Serialize};

use crate::StageId;

/// One entry of a profile.
///
/// Numbers of processes, threads, functions and nodes are the sampler's own, from 0; each is recorded before it
/// is used.
#[derive(Clone, Debug, PartialEq)]
pub enum ProfileRecord {
    /// How the sampler began: always the first record.
    Began(ProfileFacts),
    /// A process whose stacks are read.
    Process(SampledProcess),
    /// A thread of such a process.
    Thread(SampledThread),
    /// A function that was met.
    Function(SampledFunction),
    /// A place in the tree of calls.
    Node(CallNode),
    /// What was seen since the last time, of one place of one thread.
    Seen(Sighting),
    /// What sampling has cost so far; the newest replaces the older ones.
    Cost(ProfileCost),
    /// What could not be sampled.
    Trouble(ProfileTrouble),
}

/// How a profile began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileFacts {
    /// The rank whose command is sampled.
    pub rank: u32,
    /// Samples a second of each thread that were asked for.
    pub rate_hz: f64,
}

/// A process whose stacks are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledProcess {
    /// Its number in the profile.
    pub process: u32,
    /// Process id.
    pub pid: u32,
    /// Its start in clock ticks since boot: a pid can be used again.
    pub pid_start: u64,
    /// What interprets, such as `Python 3.12`.
    pub runtime: String,
}

/// A thread whose stack is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledThread {
    /// Its number in the profile.
    pub thread: u32,
    /// The number of its process.
    pub process: u32,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The lane it records on; `None` while it records nothing.
    pub lane: Option<u32>,
}

/// A function as its source names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SampledFunction {
    /// Its number in the profile.
    pub function: u32,
    /// Its qualified name.
    pub name: String,
    /// The file it stands in.
    pub file: String,
    /// The line it begins at.
    pub line: u32,
}

/// One function, called from one place in the tree of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallNode {
    /// Its number in the profile.
    pub node: u32,
    /// Who called it; `None` for the outermost.
    pub caller: Option<u32>,
    /// The function.
    pub function: u32,
}

/// How often one thread was seen in one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// The thread.
    pub thread: u32,
    /// The stage that its time was booked on; `None` where the thread records nothing.
    pub stage: Option<StageId>,
    /// Whether it slept: waited for a lock, a file, a child or the clock.
    pub waiting: bool,
    /// The innermost function.
    pub node: u32,
    /// Samples.
    pub samples: u64,
    /// The time these samples stand for, microseconds.
    pub micros: u64,
}

/// What sampling cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileCost {
    /// How long was sampled, nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the sampling thread, nanoseconds.
    pub cpu_ns: u64,
    /// Stacks read.
    pub samples: u64,
    /// Stacks that changed under the reader each time it tried, and are not counted.
    pub unread: u64,
    /// Samples a second of each thread now, thousandths.
    pub rate_mhz: u64,
}

/// What could not be sampled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum ProfileTrouble {
    /// Nothing of the command was Python.
    NoPython,
    /// The system forbids reading a process' memory.
    Forbidden {
        /// Its id.
        pid: u32,
        /// The system's words.
        because: String,
    },
    /// A Python whose memory this build cannot read.
    UnknownPython {
        /// Its version, or what is known of it.
        version: String,
    },
    /// The rate was lowered to keep the cost small.
    Slowed {
        /// Samples a second of each thread since, thousandths.
        rate_mhz: u64,
    },
    /// More functions and places were met than are kept apart.
    Full,
}
