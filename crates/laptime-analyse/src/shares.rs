//! Shares: where the time of the steps went, of one fit or of several together.

use std::collections::BTreeMap;

use crate::report::{FitSummary, Report};

/// What a fit does beside its steps, even where it does so in the middle of a pass.
const BESIDE: [&str; 2] = ["evaluate", "checkpoint"];
/// Stages of computing that have a name of their own.
const COMPUTING: [&str; 4] = ["forward", "loss", "backward", "optimizer"];

/// Exclusive seconds of the stages of the steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares<'a> {
    stages: BTreeMap<&'a str, f64>,
    compiled: Vec<&'a str>,
    seconds: f64,
}

impl<'a> Shares<'a> {
    /// The steps of one fit: its laps, or all of it where no lap is known.
    pub(crate) fn of_fit(report: &'a Report, fit: &'a FitSummary) -> Self {
        let mut shares = Self::default();
        shares.compiled.extend(fit.compiled_functions.iter().map(String::as_str));
        let laps: Vec<_> = report.epochs.iter().filter(|epoch| epoch.fit == fit.index).collect();
        laps.iter().flat_map(|lap| &lap.stages).for_each(|(stage, seconds)| shares.add(stage, *seconds));
        if laps.is_empty() {
            // Without laps everything is between them.
            let name = |stage: &'a str| if stage == "between_epochs" { "unaccounted" } else { stage };
            fit.stages.iter().for_each(|(stage, seconds)| shares.add(name(stage), *seconds));
        }
        shares
    }

    /// The steps of all fits together.
    pub(crate) fn of_run(report: &'a Report) -> Self {
        let mut all = Self::default();
        for fit in &report.fits {
            let Self { stages, compiled, .. } = Self::of_fit(report, fit);
            stages.into_iter().for_each(|(stage, seconds)| all.add(stage, seconds));
            all.compiled.extend(compiled);
        }
        all.compiled.sort_unstable();
        all.compiled.dedup();
        all
    }

    fn add(&mut self, stage: &'a str, seconds: f64) {
        if !BESIDE.contains(&stage) && seconds.is_finite() {
            *self.stages.entry(stage).or_default() += seconds;
            self.seconds += seconds;
        }
    }

    /// Whether any time of steps is known.
    pub(crate) fn is_known(&self) -> bool {
        self.seconds > 0.0
    }

    /// The share of a stage, 0 to 1.
    pub(crate) fn of(&self, stage: &str) -> f64 {
        let spent = self.stages.get(stage).copied().unwrap_or(0.0);
        if self.is_known() { (spent / self.seconds).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Stages of computing from the largest.
    pub(crate) fn computing(&self) -> Vec<(&'a str, f64)> {
        let stages = COMPUTING.into_iter().chain(self.compiled.iter().copied());
        let mut shares: Vec<_> = stages.map(|stage| (stage, self.of(stage))).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }

    /// The share of all computing.
    pub(crate) fn computing_sum(&self) -> f64 {
        self.computing().iter().map(|stage| stage.1).sum()
    }

    /// The share until a batch is ready for the model: waiting for it, and preparing it in the loop.
    pub(crate) fn late(&self) -> f64 {
        self.of("data_wait") + self.of("prepare")
    }

    /// The largest stage that is neither data, computing nor communication, such as one of the user's.
    pub(crate) fn largest_other(&self) -> Option<(&'a str, f64)> {
        let known = ["data_wait", "prepare", "communication", "unaccounted", "between_epochs"];
        let others = self.stages.keys().copied().filter(|stage| {
            !known.contains(stage) && !COMPUTING.contains(stage) && !self.compiled.contains(stage)
        });
        others.map(|stage| (stage, self.of(stage))).max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl Report {
    /// The share of the steps that a stage takes, all fits together; `None` where no step is known.
    #[must_use]
    pub fn step_share(&self, stage: &str) -> Option<f64> {
        let stepped = self.steps.is_some() || !self.epochs.is_empty();
        let shares = Shares::of_run(self);
        (stepped && shares.is_known()).then(|| shares.of(stage))
    }
}
