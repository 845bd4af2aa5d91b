//! Pairs: two sides that ran in alternation, one execution each, so that what the machine did to one it did to both.

use laptime_core::Estimate;

use super::ratio::LEVEL;
use super::run::ComparedRun;
use crate::statistics::{mean, t_width, variance};
use crate::training::Training;

/// What is taken of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The whole command.
    Total,
    /// Everything from the end of the first lap on, by sample.
    Training,
    /// A stage of that, by sample.
    Stage(String),
}

impl Measure {
    /// Seconds of one execution; `None` where it has no such time.
    #[must_use]
    pub fn of(&self, run: &ComparedRun) -> Option<f64> {
        let training = || Training::of_run(&run.report);
        let seconds = match self {
            Self::Total => Some(run.report.wall_s),
            Self::Training => training().map(|training| training.pace_s()),
            Self::Stage(stage) => {
                training().map(|training| training.pace_s() * training.stage_s(stage) / training.seconds)
            }
        };
        seconds.filter(|seconds| *seconds > 0.0)
    }
}

/// The ratio of the second of each pair over the first, with its interval; `None` of fewer than two pairs.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    let (middle, spread) = (mean(&logs)?, variance(&logs)?);
    let half = t_width(LEVEL, logs.len() as f64 - 1.0) * (spread / logs.len() as f64).sqrt();
    let at = |log: f64| log.exp();
    Some(Estimate { mean: at(middle), low: at(middle - half), high: at(middle + half), level: LEVEL })
}
