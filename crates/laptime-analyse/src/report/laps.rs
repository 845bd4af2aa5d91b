//! The laps and steps of a report.

use std::collections::BTreeMap;

use laptime_core::Estimate;
use serde::Serialize;

/// What a lap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LapKind {
    /// One pass over the training data.
    Epoch,
    /// Neighbouring epochs added up, where there are very many.
    Folded,
    /// Some steps of a fit without epochs. What lies between two windows, such as an evaluation, is part of
    /// neither.
    Window,
}

/// One lap: an epoch, or a window of steps.
#[derive(Clone, Debug, Serialize)]
pub struct EpochSummary {
    /// The fit it belongs to.
    pub fit: u32,
    /// Its number within the fit, from 0; of folded epochs, the first one's.
    pub index: u32,
    /// Whether it is an epoch.
    pub kind: LapKind,
    /// Laps that this row stands for.
    pub count: u64,
    /// Whether the pass ended; a killed run's last epoch did not.
    pub complete: bool,
    /// How long the pass took; of folded epochs, all passes without what lies between them.
    pub wall_s: f64,
    /// From the begin of its fit to the end of the pass, seconds; absent while the pass lasts.
    pub ended_s: Option<f64>,
    /// What the wall clock showed at the end of the pass, seconds since 1970; absent while the pass lasts.
    pub ended_unix_s: Option<f64>,
    /// Whether nothing will be added to it: the next epoch has begun, or the training is over.
    pub settled: bool,
    /// Steps of the fit before it.
    pub first_step: u64,
    /// Steps that ended in it.
    pub steps: u64,
    /// Samples trained on; unknown where neither a loader nor the model's input says.
    pub samples: Option<u64>,
    /// Samples a second of the pass.
    pub samples_per_s: Option<f64>,
    /// Tokens trained on; absent where the input has none.
    pub tokens: Option<u64>,
    /// Tokens a second of the pass.
    pub tokens_per_s: Option<f64>,
    /// Exclusive time of every stage within the pass; adds up to `wall_s`.
    pub stages: BTreeMap<String, f64>,
    /// The same of the device it trains on, whose rows add up to `wall_s`, too; absent where only the host's times
    /// are known.
    pub device_stages: Option<BTreeMap<String, f64>>,
    /// Evaluation that followed the pass, seconds.
    pub evaluate_s: f64,
    /// Saving the model that followed the pass, seconds.
    pub checkpoint_s: f64,
    /// Mean training loss, as it was measured, else of the steps that have one; of folded epochs, the last one's.
    pub loss: Option<f64>,
    /// What was measured at its end, by name.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Time to the end of the planned epochs, as it was predicted at the end of the pass.
    pub time_left: Option<Estimate>,
}

impl EpochSummary {
    /// How long a pass took, on average where several are folded.
    #[must_use]
    pub fn mean_wall_s(&self) -> f64 {
        self.wall_s / self.count.max(1) as f64
    }

    /// Steps of the fit up to its end.
    #[must_use]
    pub fn last_step(&self) -> u64 {
        self.first_step.saturating_add(self.steps)
    }
}

/// How long steps took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepStatistics {
    /// Steps that ended.
    pub count: u64,
    /// Mean, seconds: what forecasts a sum.
    pub mean_s: f64,
    /// Median, seconds.
    pub p50_s: f64,
    /// 95th percentile, seconds.
    pub p95_s: f64,
    /// Samples a second over the steps' own time; where several trainers work side by side, of all of them.
    pub samples_per_s: Option<f64>,
    /// Tokens a second in the same way; absent where the input has none.
    pub tokens_per_s: Option<f64>,
}
