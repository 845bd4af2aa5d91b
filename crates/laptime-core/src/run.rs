//! Runs: what is known of one execution of a command.

use serde::{Deserialize, Serialize};

/// What is written about a run when it starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunMeta {
    /// The run's directory name: UTC start and a random part.
    pub id: String,
    /// What the user calls it; never used as a path.
    pub name: String,
    /// The command line.
    pub command: Vec<String>,
    /// When it started, nanoseconds since 1970.
    pub started_real_ns: u64,
    /// The process that started it, by id.
    pub pid: u32,
    /// The kernel's boot id: a pid means nothing in another boot.
    pub boot_id: String,
    /// That process' start in clock ticks since boot: a pid can be used again.
    pub pid_start: u64,
    /// Processes that train.
    pub ranks: u32,
    /// The name of the launch that started them: the same in all its ranks, on any machine, also after a restart. No
    /// other launch at that time has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<String>,
    /// Frameworks seen.
    pub frameworks: Vec<String>,
    /// What computes, such as `cpu`.
    pub device: Option<String>,
    /// Threads the engine was configured to use.
    pub threads: Option<u32>,
    /// The engine and its version.
    pub engine: Option<String>,
    /// The most floating-point operations a second that its threads could do together, measured before it trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_flops_per_s: Option<f64>,
    /// What it ran on.
    pub machine: Machine,
}

/// The machine a run was on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// CPUs the process may use.
    pub cpus: u32,
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// Memory of the machine, bytes.
    pub memory_bytes: Option<u64>,
    /// Kernel and version.
    pub kernel: Option<String>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its process is alive.
    Running,
    /// It ended as intended.
    Finished,
    /// The training failed.
    Failed,
    /// It ended without a word, or was asked to stop.
    Killed,
}

/// The last words of a process: how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// How it ended.
    pub status: Status,
    /// Why, when it did not finish.
    pub message: Option<String>,
    /// Spans put on record or counted, over all threads.
    pub spans: u64,
    /// What one span costs in a hot loop, nanoseconds, measured at start.
    pub span_cost_ns: f64,
}

/// What the recorder could not do; it counts trouble instead of raising it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Trouble {
    /// The log could not be written.
    LogNotWritten {
        /// The system's words.
        because: String,
        /// Blocks given up for good.
        lost_blocks: u64,
        /// Events in those blocks.
        lost_events: u64,
    },
    /// No ring that survives a kill could be made; up to 100 ms may be lost when the process is killed.
    RingNotKept {
        /// Why.
        because: String,
    },
    /// Recording met a fault of its own and stopped; the training went on.
    RecorderBroke {
        /// What happened.
        because: String,
    },
    /// The command's Python could not be given laptime's hooks.
    HooksNotAttached {
        /// Why.
        because: String,
        /// What to type or to do instead.
        hint: String,
    },
    /// The script's own laptime writes another log than is read here, so another package recorded it.
    PackageReplaced {
        /// Where the script's own package is.
        folder: String,
        /// The log it writes, in words.
        log: String,
        /// The log that is read here, in words.
        needed: String,
    },
    /// The command's Python had laptime's hooks, and nothing for them to record.
    NothingToRecord {
        /// Why.
        because: String,
    },
    /// One hook could not attach, or failed and was switched off; the training went on.
    HookOff {
        /// The hook.
        hook: String,
        /// Why.
        because: String,
    },
    /// Times of a device could not be taken, or no longer: its times are the host's.
    DeviceTimesOff {
        /// Why.
        because: String,
    },
    /// Times of layers were asked for and could not be taken.
    LayerTimesOff {
        /// Why.
        because: String,
    },
    /// Not all exchange between ranks or devices is seen.
    CollectivesNotSeen {
        /// Why.
        because: String,
    },
    /// A thread was not recorded because all lanes were taken.
    ThreadsNotRecorded {
        /// How many.
        threads: u64,
    },
    /// Part of a log could not be read.
    DamagedLog {
        /// The file's name.
        file: String,
        /// Bytes skipped.
        bytes: u64,
    },
}
