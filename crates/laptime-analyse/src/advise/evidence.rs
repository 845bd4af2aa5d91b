//! Evidence: what a run shows, in the quantities that rules ask for.

use crate::compare::ComparedRun;
use crate::report::{FitSummary, LedgerRow, Report};
use crate::training::Training;

/// Threads that take this much longer for want of CPUs are on a loaded machine.
const LOADED: f64 = 1.1;
/// Others leave at least the rest of the CPUs to a training that hardly waits for them.
const MOST_OF_THEM: f64 = 0.8;

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

    /// A stage of the thread that takes the steps, over the whole run.
    #[must_use]
    pub fn row(&self, stage: &str) -> Option<&'a LedgerRow> {
        self.report.ledger.iter().find(|row| row.stage == stage)
    }

    /// Whether the fit is of this framework.
    #[must_use]
    pub fn is_of(&self, framework: &str) -> bool {
        self.fit.framework.as_deref() == Some(framework)
    }

    /// Whether a framework of Python trains.
    #[must_use]
    pub fn is_python(&self) -> bool {
        self.fit.framework.as_deref().is_some_and(|framework| framework != "laptime")
    }

    /// Whether the CPUs compute the model.
    #[must_use]
    pub fn on_cpu(&self) -> bool {
        let device = self.fit.device.as_deref().or(self.report.run.device.as_deref());
        device.is_none_or(|device| device.to_ascii_lowercase().contains("cpu"))
    }

    /// Steps of an epoch, or of the whole fit where it has none.
    #[must_use]
    pub fn steps_per_epoch(&self) -> f64 {
        let epochs = self.fit.epochs.max(1);
        self.fit.steps_per_epoch.unwrap_or(self.fit.steps / epochs).max(1) as f64
    }

    /// How many times longer threads of the training took because they waited for CPUs, 1 or more; `None` where that was
    /// not seen.
    #[must_use]
    pub fn stretch(&self) -> Option<f64> {
        let passes = &self.run.passes;
        passes.own.stretch().or_else(|| passes.tree.stretch()).map(|stretch| stretch.max(1.0))
    }

    /// Other programs that want the CPUs as much as the training does: the kernel divides them evenly among sessions
    /// and control groups, however many threads each has. By how long its threads waited for CPUs, and by those that
    /// others keep busy.
    #[must_use]
    pub fn rivals(&self) -> f64 {
        let stretch = self.stretch().unwrap_or(1.0);
        let ready = (stretch * self.run.passes.tree.busy().unwrap_or(1.0)).max(1.0);
        let by_waiting = match ready <= self.cpus {
            true => self.cpus * (stretch - 1.0) / ready,
            false => stretch * self.cpus / ready - 1.0,
        };
        let others = self.report.machine.other_cpus.unwrap_or(0.0).min(self.cpus * MOST_OF_THEM);
        let by_use = self.cpus / (self.cpus - others) - 1.0;
        if stretch > LOADED { by_waiting.max(0.0) } else { by_use }
    }
}
