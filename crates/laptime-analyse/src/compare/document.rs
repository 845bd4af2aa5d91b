//! What a comparison finds: what text shows, and what `--json` prints as `laptime.compare/1`.

use laptime_core::{Estimate, Status};
use serde::Serialize;

/// The version of [`Comparison`]; fields may be added to it, none changes meaning.
pub const COMPARE_SCHEMA: &str = "laptime.compare/1";

/// Two sides, compared. Ratios are times of `b` over times of `a`: below 1, `b` is faster.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Always [`COMPARE_SCHEMA`].
    pub schema: &'static str,
    /// What it is compared with.
    pub a: SideSummary,
    /// What is judged.
    pub b: SideSummary,
    /// The answer.
    pub verdict: Answer,
    /// Why it cannot be told; absent where it can.
    pub because: Option<Cause>,
    /// What `a_s`, `b_s` and `ratio` are times of; absent where nothing can be compared.
    pub timed: Option<Timed>,
    /// Mean time of `a`, seconds; warm-up is not in it.
    pub a_s: Option<f64>,
    /// Mean time of `b`, seconds; warm-up is not in it.
    pub b_s: Option<f64>,
    /// Mean time of `b` over that of `a`; absent where its interval is not known.
    pub ratio: Option<Estimate>,
    /// Times within this share are the same to anybody.
    pub same_within: f64,
    /// Whether the interval comes from how the runs of a side differ; with one run a side that cannot be seen.
    pub between_runs_seen: bool,
    /// What it would take to tell; absent where it can be told, or where measuring more would not help.
    pub more: Option<More>,
    /// Whether both sides trained the same; absent where too little is known.
    pub same_training: Option<bool>,
    /// What was held against each other for that.
    pub training: Vec<Check>,
    /// Time of the stages of a step on the thread that takes the steps, most changed first.
    pub stages: Vec<StageChange>,
    /// The same of the device; absent unless all runs have its times.
    pub device_stages: Option<Vec<StageChange>>,
    /// Each fit by itself, where the runs have several.
    pub fits: Vec<FitRatio>,
    /// What is no part of steady steps.
    pub apart: Vec<Apart>,
    /// What more ranks gave; absent where both sides have as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RanksGain>,
    /// Settings, versions and machines that differ.
    pub environment: Vec<Change>,
    /// Whether the condition that was asked for is met; absent where none was.
    pub gate: Option<Gate>,
    /// The executions in turns that the times are of; absent for runs that were kept one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Pairs>,
    /// How far apart two executions of `a` were before the first pair; absent where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aa: Option<Alike>,
    /// How much of the ratio is that of the machines; absent where they are the same, or it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
}

/// The five answers, about `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Answer {
    /// It takes less time.
    #[serde(rename = "faster")]
    Faster,
    /// It takes more time.
    #[serde(rename = "slower")]
    Slower,
    /// It takes the same time within `same_within`.
    #[serde(rename = "same")]
    Same,
    /// `because` says why.
    #[serde(rename = "cannot tell")]
    CannotTell,
    /// Whatever it takes, it is for something else.
    #[serde(rename = "not the same training")]
    NotSameTraining,
}

/// Why it cannot be told which side is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The noise is larger than the difference.
    Noise,
    /// The runs are of different machines.
    DifferentMachines,
    /// A run has too few steps after its warm-up for an interval.
    TooFewSteps,
    /// Only whole runs can be compared, and one a side says nothing of their noise.
    OneRunASide,
    /// One side recorded what the other did not.
    NothingInCommon,
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Timed {
    /// A step, after the warm-up.
    Step,
    /// A training, where its steps are not known.
    Fit,
    /// The whole command, where nothing inside it is known, or where that is what counts.
    Run,
    /// A stage, by sample, else by step.
    Stage,
}

/// What it would take to tell, a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum More {
    /// So many more steps.
    Steps(u64),
    /// So many more runs.
    Runs(u64),
    /// So many more pairs of executions in turns.
    Pairs(u64),
}

/// Executions in turns: one of each side, the first by turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pairs {
    /// What was timed: `total` or a stage.
    pub measure: String,
    /// How many pairs.
    pub count: u64,
    /// Times of `a`, seconds.
    pub a_s: Vec<f64>,
    /// Times of `b`, seconds.
    pub b_s: Vec<f64>,
    /// Whether `ratio` is without the time that the commands waited for a CPU.
    pub without_waits: bool,
    /// Whether the condition was decided; absent where none was asked for.
    pub decided: Option<bool>,
}

/// Two executions of the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alike {
    /// Time of the second over that of the first.
    pub ratio: f64,
}

/// How machines compare by laptime's reference models, which are the same everywhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// Step time on the machine of `b` over that on the machine of `a`.
    pub ratio: Estimate,
    /// The models that both machines trained.
    pub models: Vec<String>,
    /// What is left of the ratio of the sides beyond that of their machines.
    pub beyond: Estimate,
}

/// What the ranks of `b` do beside those of `a`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RanksGain {
    /// Ranks of `a`.
    pub a_ranks: u32,
    /// Ranks of `b`.
    pub b_ranks: u32,
    /// Samples a second of all ranks of `a`.
    pub a_samples_per_s: f64,
    /// Samples a second of all ranks of `b`.
    pub b_samples_per_s: f64,
    /// How many times as many `b` does.
    pub speedup: f64,
    /// That over how many times as many ranks it has: 1 is perfect.
    pub efficiency: f64,
}

/// The runs of a side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideSummary {
    /// What it is shown by.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunRef>,
}

/// One of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRef {
    /// Its id.
    pub id: String,
    /// What the user calls it.
    pub name: String,
    /// How it stands.
    pub status: Status,
    /// Steps that ended.
    pub steps: u64,
    /// Steps of warm-up that were left out.
    pub warm_up_steps: u64,
    /// Share of the CPUs that other programs kept busy, else of the time in which some task waited for one, 0 to 1.
    pub contention: Option<f64>,
    /// Whether its steps settle; absent with too few of them.
    pub settled: Option<bool>,
}

/// One thing that the same training has in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What: `fits`, `samples an epoch`, `samples a step`, `tokens a step`, `batch`, `parameters` or `loss curve`.
    pub what: &'static str,
    /// Of `a`, in words.
    pub a: Option<String>,
    /// Of `b`, in words.
    pub b: Option<String>,
    /// How they compare.
    pub outcome: Outcome,
    /// How far the losses of `b` are above those of `a`, as a share; of the loss curve only.
    pub apart: Option<Estimate>,
}

/// Whether two things are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// They are, within noise.
    Agree,
    /// They are not.
    Differ,
    /// One is not known.
    Unknown,
}

/// A stage, by step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageChange {
    /// The stage.
    pub stage: String,
    /// Of `a`, seconds a step.
    pub a_s: f64,
    /// Of `b`, seconds a step.
    pub b_s: f64,
    /// Its share of a step of `a`, 0 to 1.
    pub a_share: f64,
    /// Its share of a step of `b`, 0 to 1.
    pub b_share: f64,
    /// Time of `b` over that of `a`; absent where a side has none, or too few laps for an interval.
    pub ratio: Option<Estimate>,
    /// Whether the step changed by it, beyond the noise.
    pub changed: bool,
}

/// One of several fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitRatio {
    /// Its number, from 0.
    pub index: u32,
    /// Its name in `b`.
    pub label: String,
    /// Mean step of `a`, seconds.
    pub a_s: f64,
    /// Mean step of `b`, seconds.
    pub b_s: f64,
    /// Time of `b` over that of `a`.
    pub ratio: Option<Estimate>,
}

/// What is no part of steady steps, mean of the runs of a side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// What: `start-up`, `imports`, `warm-up`, `first epoch`, `evaluation an epoch` or `whole run`.
    pub what: &'static str,
    /// Of `a`, seconds.
    pub a_s: f64,
    /// Of `b`, seconds.
    pub b_s: f64,
    /// Time of `b` over that of `a`; absent unless both sides have several runs.
    pub ratio: Option<Estimate>,
}

/// Something that differs between the sides; where runs of a side differ, their values are joined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What.
    pub what: String,
    /// Of `a`.
    pub a: Option<String>,
    /// Of `b`.
    pub b: Option<String>,
    /// What kind of thing it is.
    pub kind: ChangeKind,
}

/// What kind of thing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Somebody chose it.
    Configuration,
    /// Versions.
    Environment,
    /// What it ran on.
    Machine,
}

/// A condition on how much slower `b` may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// The share by which it may be slower.
    pub fail_if_slower: f64,
    /// Whether it is met: not where `b` is slower by more, is not the same training, or cannot be compared at all. Runs
    /// of different machines always meet it.
    pub met: bool,
    /// Whether it is met only because a baseline of another machine decides nothing.
    pub warns: bool,
}
