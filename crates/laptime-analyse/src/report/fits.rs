//! The trainings of a report.

use std::collections::BTreeMap;

use serde::Serialize;

/// One training.
#[derive(Clone, Debug, Serialize)]
pub struct FitSummary {
    /// Its number, from 0.
    pub index: u32,
    /// Its name.
    pub label: String,
    /// What trained.
    pub framework: Option<String>,
    /// The framework's version.
    pub framework_version: Option<String>,
    /// What the model is on.
    pub device: Option<String>,
    /// Rows trained on in an epoch.
    pub rows: Option<u64>,
    /// Samples in a full batch.
    pub batch: Option<u64>,
    /// Numbers the model learns.
    pub parameters: Option<u64>,
    /// Epochs that ended; 0 where the laps are windows of steps.
    pub epochs: u64,
    /// Steps that ended in its laps.
    pub steps: u64,
    /// Steps of an epoch, where known.
    pub steps_per_epoch: Option<u64>,
    /// Epochs that were asked for.
    pub planned_epochs: Option<u64>,
    /// Steps that were asked for in all, of a training without epochs.
    pub planned_steps: Option<u64>,
    /// Where the number of epochs or steps asked for was read.
    pub plan_source: Option<String>,
    /// From its begin to its end.
    pub wall_s: f64,
    /// How long its epochs took; nothing where the laps are windows of steps.
    pub epoch_s: EpochTimes,
    /// Exclusive time of the stages from its begin to its end.
    pub stages: BTreeMap<String, f64>,
    /// The same of the device it trains on, whose rows add up to `wall_s`, too; absent where only the host's times
    /// are known.
    pub device_stages: Option<BTreeMap<String, f64>>,
    /// Steps of the first epoch to leave out of every statistic; absent if it never settles.
    pub warm_up_steps: Option<u64>,
    /// The steps after warm-up, or all of them where its end is unknown; absent when no step ended.
    pub steady_steps: Option<SteadySteps>,
    /// The newest loss.
    pub loss: Option<f64>,
    /// The newest value of the metric that says most (validation before training, accuracy before loss).
    pub metric: Option<MetricValue>,
    /// The goal it was to end at, and whether and when it did; absent without one.
    pub target: Option<TargetSummary>,
    /// Compiled functions that train as a whole.
    pub compiled_functions: Vec<String>,
    /// Processes that load its data.
    pub workers: Option<u64>,
    /// The number type it computes with, where that is not the usual one.
    pub precision: Option<String>,
    /// Floating-point operations that a sample takes.
    pub flops_per_sample: Option<u64>,
    /// Floating-point operations a second of its steps.
    pub flops_per_s: Option<f64>,
    /// The same as a share of what its threads could do together, where that was measured.
    pub share_of_peak: Option<f64>,
    /// Epochs without a lower loss after which it was to end.
    pub patience: Option<u64>,
    /// Updates of the model, where gradients were thrown away.
    pub updates: Option<u64>,
    /// Backward passes whose gradients were cleared before an update used them.
    pub discarded_gradients: Option<u64>,
    /// The remaining settings.
    pub settings: BTreeMap<String, String>,
    /// All that was chosen for it by name, to be shown.
    #[serde(skip)]
    pub choices: BTreeMap<String, String>,
}

impl FitSummary {
    /// Whether its plan is only a bound, as of a loop that may be left before or an early stop: time left is at most so
    /// much then.
    #[must_use]
    pub fn may_end_early(&self) -> bool {
        let is_bound = self.plan_source.as_deref().is_some_and(|source| source.starts_with(BOUND));
        is_bound || self.patience.is_some() || self.target.is_some()
    }
}

/// What the source of a plan begins with that is only a bound.
const BOUND: &str = "at most ";

/// The steps of a fit after its warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SteadySteps {
    /// How many.
    pub count: u64,
    /// Mean, seconds.
    pub mean_s: f64,
    /// Samples a second over the steps' own time.
    pub samples_per_s: Option<f64>,
}

/// The way to a goal: a loss of at most, or an accuracy of at least, some value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetSummary {
    /// What is held against it: `loss`, `accuracy`, or the same of held-out rows, `validation_loss`, ….
    pub metric: String,
    /// The value to reach.
    pub value: f64,
    /// Whether an epoch reached it.
    pub reached: bool,
    /// Epochs to the one that reached it, which counts.
    pub epochs: Option<u64>,
    /// Steps of those epochs.
    pub steps: Option<u64>,
    /// From the fit's begin until it was known to be reached, seconds.
    pub seconds: Option<f64>,
    /// The best that any epoch came to.
    pub best: Option<f64>,
}

/// How long epochs took, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EpochTimes {
    /// Mean of all epochs that ended.
    pub mean: Option<f64>,
    /// The first epoch, which pays for warm-up.
    pub first: Option<f64>,
    /// Mean of the epochs after warm-up.
    pub steady: Option<f64>,
}

/// A named metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricValue {
    /// Such as `validation_accuracy`.
    pub name: String,
    /// Its value; absent when it is not a number.
    pub value: Option<f64>,
}
