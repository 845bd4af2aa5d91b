//! The forecast: what text shows, and what `--json` prints as `laptime.forecast/1`.

use laptime_core::Estimate;
use serde::{Deserialize, Serialize};

use super::deadline::Course;

/// The version of [`Forecast`]; fields may be added to it, none changes meaning.
pub const FORECAST_SCHEMA: &str = "laptime.forecast/1";

/// How much there is to do, as it was asked; what is absent is read from the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plan {
    /// Epochs of the whole training.
    pub epochs: Option<u64>,
    /// Steps of the whole training.
    pub steps: Option<u64>,
    /// It is done once the loss is at most this.
    pub until_loss: Option<f64>,
}

/// What is to be different from the run that was seen; what is absent stays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WhatIf {
    /// Rows of an epoch.
    pub rows: Option<Rows>,
    /// Samples in a batch.
    pub batch: Option<u64>,
    /// Processes that load data.
    pub workers: Option<u64>,
}

impl WhatIf {
    /// Whether anything is to be different.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        *self != Self::default()
    }
}

/// Rows of an epoch, as a number or as so many times those there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rows {
    /// A number.
    Count(u64),
    /// So many times those there are.
    Times(f64),
}

/// A forecast of this machine whose run has finished.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The logarithm of what the run took over what was expected.
    pub log_ratio: f64,
    /// [`Forecast::width`] as it was then.
    pub width: f64,
    /// How much of the run had passed, 0 to 1.
    pub progress: f64,
}

/// How long a training will take, what it will move, and how sure that is. What cannot be told is `None`.
#[derive(Clone, Debug, Serialize)]
pub struct Forecast {
    /// Always [`FORECAST_SCHEMA`].
    pub schema: &'static str,
    /// From the start of the command to its end, seconds.
    pub total_s: Estimate,
    /// Of a run that is running: from now to its end, seconds.
    pub left_s: Option<Estimate>,
    /// An epoch with everything that follows it, seconds.
    pub epoch_s: EpochForecast,
    /// Where the time will go, in the order of the training; adds up to the mean of `total_s`.
    pub parts: Vec<ForecastPart>,
    /// Parts that were not reached and that something else tells the length of; among `parts`.
    pub estimated: Vec<EstimatedPart>,
    /// Parts that a training may have and that were not reached; no part of `total_s`.
    pub not_seen: Vec<NotSeen>,
    /// When the loss is low enough or no longer falls; absent where neither was asked for.
    pub convergence: Option<Convergence>,
    /// Bytes that the whole training moves.
    pub transfer: ForecastTransfer,
    /// The most memory it needs.
    pub memory: ForecastMemory,
    /// What makes the interval as wide as it is, the largest share first; the shares add up to 1.
    pub width_from: Vec<WidthCause>,
    /// Half the width of the interval of `total_s` in logarithms, before it was calibrated.
    pub width: f64,
    /// Whether finished forecasts of this machine say how wide the interval has to be.
    pub calibrated: bool,
    /// What a change asked for makes of the time; absent where none was asked for.
    pub change: Option<ForecastChange>,
    /// What all this is based on.
    pub basis: Basis,
    /// The time of any number of epochs.
    #[serde(skip)]
    pub(super) course: Course,
}

/// Time of epochs, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EpochForecast {
    /// The first one, which pays for warm-up.
    pub first: Option<f64>,
    /// Each later one, in the mean.
    pub later: Option<f64>,
}

/// A part of the training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForecastPart {
    /// `start_up`, `other_trainings`, `warm_up`, `training`, `stalls`, `evaluation`, `checkpoint`, `between_epochs` or
    /// `tear_down`.
    pub name: &'static str,
    /// How long it takes in all.
    pub seconds: f64,
}

/// A part that was not reached, as it is expected to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EstimatedPart {
    /// Its name among the parts.
    pub name: &'static str,
    /// How long it takes each time.
    pub seconds_each: f64,
    /// What that is estimated from, in words.
    pub because: String,
}

/// A part that was not reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotSeen {
    /// Its name among the parts.
    pub name: &'static str,
    /// Why it was not seen, in words.
    pub because: String,
    /// Of checkpoints: bytes that one has at least; absent where that is not known.
    pub bytes: Option<u64>,
}

/// How long it takes until the loss is low enough, or until it no longer falls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Convergence {
    /// The loss: `validation_loss`, or `loss` of the training.
    pub metric: &'static str,
    /// What it has to come down to; absent where it ends by patience.
    pub target: Option<f64>,
    /// Epochs without a lower loss after which the training ends; absent where a loss was asked for.
    pub patience: Option<u64>,
    /// Epochs or steps until then; absent where that cannot be told.
    pub laps: Option<Estimate>,
    /// What `laps` are: `epoch` or `step`.
    pub unit: &'static str,
    /// Whether it was reached in what was seen.
    pub reached: bool,
    /// Why it cannot be told, in words.
    pub because: Option<String>,
}

impl Convergence {
    /// Nothing can be told.
    pub(super) fn unknown(metric: &'static str, because: &str) -> Self {
        let because = Some(because.to_owned()).filter(|because| !because.is_empty());
        let (target, patience, laps, reached) = (None, None, None, false);
        Self { metric, target, patience, laps, unit: "epoch", reached, because }
    }
}

/// Bytes that a training moves in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForecastTransfer {
    /// Fetched from storage, or read from data files where the kernel says nothing.
    pub storage_bytes: Option<u64>,
    /// Copied to a device.
    pub host_to_device_bytes: Option<u64>,
    /// Exchanged between ranks; absent where that is not recorded.
    pub between_ranks_bytes: Option<u64>,
}

/// The most memory that a training needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForecastMemory {
    /// On the host, bytes.
    pub host_peak_bytes: Option<u64>,
    /// On the device, bytes.
    pub device_peak_bytes: Option<u64>,
    /// Memory of the host, bytes.
    pub host_bytes: Option<u64>,
    /// Memory of the device, bytes.
    pub device_bytes: Option<u64>,
    /// Whether it fits.
    pub fits: Fits,
}

/// Whether a training fits into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Fits {
    /// It does.
    #[serde(rename = "yes")]
    Yes,
    /// It does not.
    #[serde(rename = "no")]
    No,
    /// Too little is known.
    #[default]
    #[serde(rename = "cannot tell")]
    CannotTell,
}

/// One reason why an interval is wide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WidthCause {
    /// The reason.
    pub cause: Cause,
    /// Its share of the variance, 0 to 1.
    pub share: f64,
}

/// Why a forecast may be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Steps take longer at one time than at another.
    StepsVary,
    /// Other programs want the CPUs.
    OtherPrograms,
    /// Few steps were seen.
    FewSteps,
    /// Rare stalls were seen so seldom that their rate is not known.
    RareStalls,
    /// Evaluation, checkpoints or what else follows an epoch were seen once or not at all.
    Surroundings,
    /// What was asked for is outside what was seen.
    Extrapolation,
    /// How many epochs it takes until the loss is low enough is not known better.
    Convergence,
}

impl Cause {
    /// The cause in words: `… of the width comes from WORDS`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::StepsVary => "steps that take longer at one time than at another",
            Self::OtherPrograms => "other programs on this machine",
            Self::FewSteps => "the few steps that were seen",
            Self::RareStalls => "stalls too rare to know how often they come",
            Self::Surroundings => "what follows an epoch, seen once or not at all",
            Self::Extrapolation => "asking for what was not measured",
            Self::Convergence => "how many epochs the loss takes to come down",
        }
    }
}

/// What a change makes of the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForecastChange {
    /// The mean of the total without it, seconds.
    pub unchanged_s: f64,
    /// The total with the change over the one without; its interval leaves out what both have in common.
    pub ratio: Estimate,
}

/// What a forecast is based on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Basis {
    /// The runs it was made from, by id; the one that was forecast is first.
    pub runs: Vec<String>,
    /// How long that one was seen, seconds.
    pub seen_s: f64,
    /// Stretches of steps whose means the interval is made from.
    pub blocks: u64,
    /// Steps that were seen.
    pub steps_seen: u64,
    /// Those of them that are warm-up.
    pub warm_up_steps: u64,
    /// Epochs of the whole training; absent of one that only has steps.
    pub epochs: Option<u64>,
    /// Steps of the whole training.
    pub steps: u64,
    /// Steps of an epoch.
    pub steps_per_epoch: Option<u64>,
    /// Where the number of epochs or steps is from.
    pub plan: PlanSource,
    /// The line that said so, such as `range(num_epochs)`; absent where none did.
    pub plan_text: Option<String>,
    /// Whether that is only a bound: the training may end before.
    pub is_bound: bool,
    /// Finished forecasts behind the calibration.
    pub scores: u64,
}

/// Where a number of epochs or steps is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanSource {
    /// It was given.
    Given,
    /// The script said so.
    Script,
    /// The framework said so.
    Framework,
    /// The run finished, so that is what it was.
    Finished,
    /// The loss will be low enough by then, or no longer fall.
    Loss,
}

/// Why nothing can be forecast.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CannotForecast {
    /// Nothing was trained.
    NeverStepped,
    /// Fewer steps ended than an estimate needs.
    TooFewSteps {
        /// Those that did.
        steps: u64,
        /// Those it takes.
        needed: u64,
    },
    /// Neither the script nor the user says how much there is to do.
    NoPlan,
    /// Epochs were asked for, and how many steps an epoch has is not known.
    NoEpochLength,
    /// How long it takes until the loss is low enough is not known, and neither is the length of the training.
    NeverLowEnough {
        /// The loss that was asked for.
        loss: String,
        /// Why it is not known.
        because: String,
    },
    /// More was done than was asked for.
    AlreadyPast {
        /// Steps that were.
        steps: u64,
    },
    /// A change was asked for and what it changes is not known.
    CannotChange {
        /// The setting.
        what: &'static str,
        /// Why not.
        because: String,
    },
}

impl CannotForecast {
    /// What to type next; `None` where nothing helps.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NeverStepped => None,
            Self::TooFewSteps { .. } => Some("look longer: `--seconds 5m`"),
            Self::NoPlan => Some("say how much there is to do: `--epochs N` or `--steps N`"),
            Self::NoEpochLength => Some("say how many steps there are: `--steps N`"),
            Self::AlreadyPast { .. } => {
                Some("ask for more than the run has done: `--epochs N` or `--steps N`")
            }
            Self::NeverLowEnough { .. } => Some("say how much there is to do: `--epochs N` or `--steps N`"),
            Self::CannotChange { .. } => None,
        }
    }
}

impl std::fmt::Display for CannotForecast {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NeverStepped => write!(out, "no training step was seen"),
            Self::TooFewSteps { steps: 1, needed } => {
                write!(out, "one step was seen, a forecast needs {needed}")
            }
            Self::TooFewSteps { steps, needed } => {
                write!(out, "{steps} steps were seen, a forecast needs {needed}")
            }
            Self::NoPlan => write!(out, "the script does not say how many epochs or steps it takes"),
            Self::NoEpochLength => write!(out, "no epoch ended, so the steps of an epoch are not known"),
            Self::AlreadyPast { steps } => {
                write!(out, "the run has done {steps} steps, more than there are to forecast")
            }
            Self::NeverLowEnough { loss, because } => {
                write!(out, "cannot tell when the loss comes down to {loss}: {because}")
            }
            Self::CannotChange { what, because } => {
                write!(out, "what {what} changes is not known: {because}")
            }
        }
    }
}

impl std::error::Error for CannotForecast {}
