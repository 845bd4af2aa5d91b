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

#[cfg(test)]
mod tests {
    use laptime_core::{FitFacts, StageId};

    use super::*;
    use crate::script::Script;

    const MS: u64 = 1_000_000;

    /// Epochs whose steps take these times each, with an evaluation of 10 ms after each.
    fn trained(steps_ms: &[u64]) -> Report {
        let mut script = Script::new();
        script.pass(5 * MS).fit(FitFacts::default());
        for step in steps_ms {
            script.epoch();
            (0..4).for_each(|_| {
                script.step(&[(StageId::FORWARD, step * MS)], 8);
            });
            script.end_epoch().stage(StageId::EVALUATE, 10 * MS);
        }
        script.end_fit().pass(3 * MS);
        script.close().report()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-6 * expected, "{found}, not {expected}");
    }

    #[test]
    fn the_first_lap_does_not_count_and_what_lies_between_the_others_does() {
        let report = trained(&[100, 20, 20, 20]);
        let training = Training::of_run(&report).unwrap();
        assert_eq!((training.steps, training.samples, training.laps), (12, Some(96), 3));
        near(training.stage_s("forward"), 0.240);
        near(training.stage_s("evaluate"), 0.030);
        near(training.seconds, training.stages.values().sum());
        near(training.pace_s(), training.seconds / 96.0);
    }

    #[test]
    fn of_one_lap_all_counts() {
        let training = Training::of_run(&trained(&[20])).unwrap();
        assert_eq!(training.steps, 4);
        near(training.stage_s("forward"), 0.080);
        near(training.stage_s("evaluate"), 0.010);
    }

    #[test]
    fn a_run_without_steps_has_no_training() {
        let mut script = Script::new();
        script.pass(5 * MS);
        assert_eq!(Training::of_run(&script.close().report()), None);
    }
}
