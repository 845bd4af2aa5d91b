//! A setting with what all its trials measured.

use serde::Serialize;

use super::{Enough, Setting, Trial};

/// One setting, its trials taken together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// What was tried.
    pub setting: Setting,
    /// Samples a second; 0 where it failed.
    pub samples_per_s: f64,
    /// Half the width of its 95 % interval, as a share of it.
    pub error: Option<f64>,
    /// From the begin of a pass to its first batch, the mean, seconds.
    pub first_batch_s: f64,
    /// Mean time between batches, seconds.
    pub batch_s: f64,
    /// CPUs that the process of the training used.
    pub main_cpus: f64,
    /// CPUs that all workers together used.
    pub worker_cpus: f64,
    /// CPUs that other programs used.
    pub other_cpus: f64,
    /// How much the times of rounds vary.
    pub unevenness: Option<f64>,
    /// Whether its data came from disk.
    pub cold: bool,
    /// Why the last trial ended.
    pub ended: Option<Enough>,
    /// How often it was measured.
    pub trials: usize,
    /// Why it could not be measured.
    pub failed: Option<String>,
}

impl Point {
    /// What the setting takes, for ordering: processes before memory.
    pub(super) fn cost(&self) -> (u32, u32, bool) {
        (self.setting.workers, self.setting.prefetch.unwrap_or(0), self.setting.pin)
    }

    /// CPUs that the loader used.
    pub(super) fn own_cpus(&self) -> f64 {
        self.main_cpus + self.worker_cpus
    }

    fn of(trials: &[&Trial]) -> Option<Self> {
        let last = trials.last()?;
        // A trial whose data came from disk is left out where another found it in memory.
        let warm: Vec<&Trial> = trials.iter().copied().filter(|trial| !trial.is_cold()).collect();
        let cold = warm.is_empty();
        let counted = if cold { trials } else { &warm };
        let seconds: f64 = counted.iter().map(|trial| trial.seconds).sum();
        let weigh = |value: &dyn Fn(&Trial) -> f64| match seconds > 0.0 {
            true => counted.iter().map(|trial| value(trial) * trial.seconds).sum::<f64>() / seconds,
            false => value(last),
        };
        let samples_per_s = weigh(&|trial| trial.samples_per_s);
        Some(Self {
            setting: last.setting,
            samples_per_s,
            error: error(counted, samples_per_s, seconds),
            first_batch_s: counted.iter().map(|trial| trial.first_batch_s).sum::<f64>()
                / counted.len() as f64,
            batch_s: weigh(&|trial| trial.batch_s),
            main_cpus: weigh(&|trial| trial.main_cpus),
            worker_cpus: weigh(&|trial| trial.worker_cpus),
            other_cpus: weigh(&|trial| trial.other_cpus),
            unevenness: last.unevenness,
            cold,
            ended: last.ended,
            trials: trials.len(),
            failed: last.failed.clone(),
        })
    }
}

/// The error of the mean of several trials: what each saw by itself, and at least what they differ by.
fn error(trials: &[&Trial], mean: f64, seconds: f64) -> Option<f64> {
    let mut squares = 0.0;
    for trial in trials {
        squares += (trial.error? * trial.seconds / seconds).powi(2);
    }
    let rates = || trials.iter().map(|trial| trial.samples_per_s);
    let apart = rates().fold(f64::MIN, f64::max) - rates().fold(f64::MAX, f64::min);
    Some(squares.sqrt().max(if mean > 0.0 { apart / 2.0 / mean } else { 0.0 }))
}

/// The settings that were tried, in the order of their first trials.
pub(super) fn points(trials: &[Trial]) -> Vec<Point> {
    let mut settings: Vec<Setting> = Vec::new();
    for trial in trials {
        if !settings.contains(&trial.setting) {
            settings.push(trial.setting);
        }
    }
    let of = |setting: &Setting| -> Vec<&Trial> {
        trials.iter().filter(|trial| trial.setting == *setting).collect()
    };
    settings.iter().filter_map(|setting| Point::of(&of(setting))).collect()
}

/// Whether a trial is one of this point.
pub(super) fn same(trial: &Trial, point: &Point) -> bool {
    trial.setting == point.setting
}
