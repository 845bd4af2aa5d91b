//! Training: what a fit does from the end of its first lap to the end of its last, everything in between included.
//!
//! The first lap pays for warm-up, compiling and cold caches; a longer training has it once. What lies between two laps,
//! such as an evaluation, belongs to the laps that are left in proportion.

use std::collections::BTreeMap;

use crate::report::{EpochSummary, FitSummary, Report};

/// The time of a fit beyond its first lap, or all of it where it has one lap only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// Steps.
    pub steps: u64,
    /// Samples; absent where they are not known.
    pub samples: Option<u64>,
    /// Exclusive time of every stage of the thread that takes the steps, seconds; adds up to `seconds`.
    pub stages: BTreeMap<String, f64>,
    /// How long it took.
    pub seconds: f64,
    /// Laps.
    pub laps: u64,
}

impl Training {
    /// Of one fit; `None` where no step of it is known.
    #[must_use]
    pub fn of_fit(report: &Report, fit: &FitSummary) -> Option<Self> {
        let laps: Vec<&EpochSummary> = report.epochs.iter().filter(|lap| lap.fit == fit.index).collect();
        let whole: Vec<&EpochSummary> = laps.iter().copied().filter(|lap| lap.complete).collect();
        let counted = if whole.len() > 1 { &whole[1..] } else { &laps[..] };
        let count = |laps: &[&EpochSummary]| laps.iter().map(|lap| lap.count).sum::<u64>();
        let mut training = Self { laps: count(counted), ..Self::default() };
        training.steps = counted.iter().map(|lap| lap.steps).sum();
        training.samples = counted.iter().map(|lap| lap.samples).sum();
        counted.iter().for_each(|lap| training.add(&lap.stages, 1.0));
        let mut between = fit.stages.clone();
        for (stage, seconds) in laps.iter().flat_map(|lap| &lap.stages) {
            *between.entry(stage.clone()).or_default() -= seconds;
        }
        training.add(&between, training.laps as f64 / count(&laps).max(1) as f64);
        (training.steps > 0 && training.seconds > 0.0).then_some(training)
    }

    /// Of all fits of a run together; `None` where no step is known.
    #[must_use]
    pub fn of_run(report: &Report) -> Option<Self> {
        let mut fits = report.fits.iter().filter_map(|fit| Self::of_fit(report, fit));
        let mut all = fits.next()?;
        for fit in fits {
            all.add(&fit.stages, 1.0);
            all.steps += fit.steps;
            all.samples = all.samples.zip(fit.samples).map(|(one, other)| one + other);
            all.laps += fit.laps;
        }
        Some(all)
    }

    /// Seconds of a stage.
    #[must_use]
    pub fn stage_s(&self, stage: &str) -> f64 {
        self.stages.get(stage).copied().unwrap_or(0.0)
    }

    /// The share of a stage, 0 to 1.
    #[must_use]
    pub fn share(&self, stage: &str) -> f64 {
        (self.stage_s(stage) / self.seconds).clamp(0.0, 1.0)
    }

    /// Seconds a step, everything included.
    #[must_use]
    pub fn step_s(&self) -> f64 {
        self.seconds / self.steps as f64
    }

    /// Seconds a sample, or a step where samples are not known.
    #[must_use]
    pub fn pace_s(&self) -> f64 {
        self.seconds / self.samples.filter(|samples| *samples > 0).unwrap_or(self.steps) as f64
    }

    fn add(&mut self, stages: &BTreeMap<String, f64>, weight: f64) {
        for (stage, seconds) in stages {
            // A difference of two ledgers may be below zero by rounding.
            let seconds = seconds.max(0.0) * weight;
            *self.stages.entry(stage.clone()).or_default() += seconds;
            self.seconds += seconds;
        }
    }
}
