//! Evidence: what a run shows, in the quantities that rules ask for.

use crate::compare::ComparedRun;
use crate::report::{FitSummary, Report};
use crate::training::Training;

/// What a run shows of the training that takes the most time.
pub struct Evidence<'a> {
    /// The run.
    pub run: &'a ComparedRun,
    /// Its report.
    pub report: &'a Report,
    /// The fit that takes the most time.
    pub fit: &'a FitSummary,
    /// That fit beyond its first lap.
    pub training: Training,
    /// How far the mean step may be off, as a share.
    pub noise: f64,
    /// CPUs that the training may use: by affinity, and by the quota of its control group.
    pub cpus: f64,
}

impl<'a> Evidence<'a> {
    /// Of a run; `None` where no step is known.
    #[must_use]
    pub fn of(run: &'a ComparedRun) -> Option<Self> {
        let report = &run.report;
        let fit = report.fits.iter().max_by(|a, b| a.wall_s.total_cmp(&b.wall_s))?;
        let training = Training::of_fit(report, fit)?;
        let quota = report.machine.quota_cpus.unwrap_or(f64::INFINITY);
        let cpus = f64::from(report.run.cpus.max(1)).min(quota);
        Some(Self { run, report, fit, training, noise: run.step_noise(fit.index).unwrap_or(0.0), cpus })
    }

    /// How many times faster the training is when so many seconds of it are gone.
    #[must_use]
    pub fn without(&self, seconds: f64) -> f64 {
        self.training.seconds / (self.training.seconds - seconds).max(self.training.seconds * 1e-3)
    }

    /// A setting of the fit by its name.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&'a str> {
        self.fit.settings.get(name).map(String::as_str)
    }
}
