//! What a report concludes and what went wrong.

use laptime_core::{Estimate, Trouble};
use serde::Serialize;

use crate::scaling::{Coefficient, Model};

/// How time changes through fits that differ in one value: the straight line, and the law that explains them
/// best, which may be another.
#[derive(Clone, Debug, Serialize)]
pub struct Law {
    /// What differs: `rows`, `batch`, `parameters` or a setting.
    pub x: String,
    /// What it is a law of: `epoch_s` or `step_s`.
    pub y: String,
    /// Value of `y` at zero, seconds.
    pub intercept: Estimate,
    /// Seconds for one more of `x`.
    pub slope: Estimate,
    /// Share of the variance that the line explains.
    pub r2: f64,
    /// The points it goes through: `x`, mean `y`.
    pub points: Vec<(f64, f64)>,
    /// The shape that explains the points best.
    pub model: Model,
    /// The numbers of that shape.
    pub coefficients: Vec<Coefficient>,
    /// That law in words.
    pub text: String,
}

/// A stage that was open when the process died.
#[derive(Clone, Debug, Serialize)]
pub struct OpenStageSummary {
    /// The thread.
    pub thread: String,
    /// The stage.
    pub stage: String,
    /// How long it had been open at the last instant known, seconds.
    pub open_s: f64,
}

/// A process of the run that did not end by itself.
#[derive(Clone, Debug, Serialize)]
pub struct Death {
    /// What it did in the run.
    pub part: Part,
    /// Its rank, or the rank it worked for.
    pub rank: u32,
    /// Which worker of its loader, from 0; absent where that is unknown.
    pub worker: Option<u32>,
    /// What its machine calls itself, where the run has several.
    pub host: Option<String>,
    /// Process id.
    pub pid: u32,
    /// The fit that was open, from 0.
    pub fit: Option<u32>,
    /// The newest epoch of that fit, from 0.
    pub epoch: Option<u32>,
    /// The step it was in, from 0, of that epoch, else of the fit; absent where the pass had ended, or the
    /// training paused.
    pub step: Option<u64>,
    /// Steps of a fit without epochs that had ended; absent where there were none.
    pub steps_done: Option<u64>,
    /// Stages that were open, from the outermost of each thread.
    pub open_stages: Vec<OpenStageSummary>,
}

/// What a process does in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It is a rank's own: it trains.
    Rank,
    /// It trains beside its rank's own, or in its place.
    Trainer,
    /// It loads data for one that trains.
    LoaderWorker,
    /// It recorded beside its rank's own.
    Process,
}

/// What analysis concluded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// A stable name, such as `data_bound`.
    pub id: &'static str,
    /// One sentence with numbers.
    pub text: String,
    /// The fit it is about; absent where it is about the run or about all fits.
    pub fit: Option<u32>,
    /// Whether it says what limits the steps.
    pub verdict: bool,
}

impl Finding {
    /// A finding about the run as a whole.
    #[must_use]
    pub fn new(id: &'static str, text: impl Into<String>) -> Self {
        Self { id, text: text.into(), fit: None, verdict: false }
    }
}

/// What is missing or doubtful.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Warning {
    /// The recorder met trouble.
    Trouble {
        /// What.
        trouble: Trouble,
    },
    /// Single spans were dropped because the ring was full; totals and ledgers still hold all time.
    SpansDropped {
        /// How many.
        count: u64,
    },
    /// The training is on a device whose own times were not recorded: the device works on after the host's.
    HostTimes {
        /// The device.
        device: String,
    },
    /// The wall clock was stepped; durations are not affected.
    ClockStepped {
        /// By how much, seconds.
        seconds: f64,
    },
    /// The machine slept; the time is not in the ledger.
    Suspended {
        /// For how long, seconds.
        seconds: f64,
    },
    /// Some ranks of the run left nothing on record.
    RanksMissing {
        /// Which.
        ranks: Vec<u32>,
        /// How many ranks the run has.
        world: u32,
    },
    /// Ranks trained together and none of their collectives was seen.
    CollectivesNotSeen,
}
