//! One repeat of one point: how it ended, what it measured, and what the machine did meanwhile.

use serde::{Deserialize, Serialize};

use super::machine::{MachineDuring, Taint};
use super::machines::Node;
use super::plan::{Target, TargetMetric};
use crate::report::{FitSummary, LapKind, Report, TargetSummary};

/// Moments of a course that are kept; more would say nothing new in a chart.
const MOST_MOMENTS: usize = 200;

/// One repeat, as it is kept on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Which point of the grid.
    pub point: usize,
    /// The round it was made in, from 0; every round has an order of its own.
    pub round: u32,
    /// Its run: the name of a folder in the sweep's.
    pub run: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// What it measured.
    pub measured: Measured,
    /// What the machine did meanwhile.
    pub machine: MachineDuring,
    /// Why it is not to be trusted; nothing when it is.
    pub taints: Vec<Taint>,
    /// Where it was made; `None` where the sweep was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
}

/// How a repeat ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum Outcome {
    /// Well.
    Finished,
    /// With an exit code that says it failed.
    Failed {
        /// Why, in one line.
        reason: String,
    },
    /// By a signal, such as the kernel's when memory runs out.
    Killed {
        /// Why, in one line.
        reason: String,
    },
    /// By laptime, when its time was over.
    TimedOut {
        /// Why, in one line.
        reason: String,
    },
}

impl Outcome {
    /// Why it did not end well; `None` when it did.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Finished => None,
            Self::Failed { reason } | Self::Killed { reason } | Self::TimedOut { reason } => Some(reason),
        }
    }
}

/// What one repeat measured; what it did not record is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measured {
    /// From the command's start to its end, seconds.
    pub wall_s: f64,
    /// Mean step after warm-up, seconds.
    pub step_s: Option<f64>,
    /// Mean epoch after warm-up, seconds.
    pub epoch_s: Option<f64>,
    /// Samples a second after warm-up.
    pub samples_per_s: Option<f64>,
    /// Epochs that ended.
    pub epochs: Option<u64>,
    /// Steps that ended.
    pub steps: Option<u64>,
    /// Rows of an epoch, as the training reports.
    pub rows: Option<u64>,
    /// Samples of a full batch, as the training reports.
    pub batch: Option<u64>,
    /// Numbers the model learns.
    pub parameters: Option<u64>,
    /// Floating-point operations that a sample takes, as the training reports.
    pub flops_per_sample: Option<f64>,
    /// The most memory that was resident, bytes.
    pub peak_rss_bytes: Option<u64>,
    /// The last loss, of validation where there is one.
    pub loss: Option<f64>,
    /// The last accuracy, of validation where there is one.
    pub accuracy: Option<f64>,
    /// What training was to reach: the goal of the sweep, else of the command itself.
    pub target: Option<Target>,
    /// When it reached that; `None` when it did not.
    pub arrival: Option<Moment>,
    /// Loss and accuracy over time, from the begin of the training.
    pub course: Vec<Moment>,
}

/// How far training had come at the end of an epoch, or of a window of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Epochs that ended by then; 0 where there are none.
    pub epochs: u64,
    /// Steps that ended by then.
    pub steps: u64,
    /// Seconds since training began.
    pub at_s: f64,
    /// Loss, of validation where there is one.
    pub loss: Option<f64>,
    /// Accuracy, of validation where there is one.
    pub accuracy: Option<f64>,
}

impl Measured {
    /// What a run's report says, with what the sweep is to reach. Several fits in one run count together.
    #[must_use]
    pub fn of(report: &Report, asked: Option<Target>) -> Self {
        let course = course(report);
        let own = report.fits.last().and_then(|fit| fit.target.as_ref());
        let target = asked.or_else(|| own.map(Target::of));
        let seen = target.and_then(|target| course.iter().find(|moment| moment.reaches(target)).copied());
        // What the training reports of its own goal is exact to the moment.
        let arrival = if asked.is_none() { own.and_then(|own| arrival(own, &course)) } else { seen };
        let last = course.last().copied().unwrap_or_default();
        let steps: Vec<_> = report.fits.iter().filter_map(|fit| fit.steady_steps).collect();
        let count: u64 = steps.iter().map(|steps| steps.count).sum();
        let seconds: f64 = steps.iter().map(|steps| steps.mean_s * steps.count as f64).sum();
        let samples: f64 = steps
            .iter()
            .filter_map(|steps| Some(steps.samples_per_s? * steps.mean_s * steps.count as f64))
            .sum();
        let epochs: Vec<f64> = report.fits.iter().filter_map(epoch_s).collect();
        let rate = samples / seconds * together(report);
        Self {
            wall_s: report.wall_s,
            step_s: (count > 0).then(|| seconds / count as f64),
            epoch_s: crate::statistics::mean(&epochs),
            samples_per_s: Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0),
            epochs: report
                .fits
                .iter()
                .any(has_epochs)
                .then(|| report.fits.iter().map(|fit| fit.epochs).sum()),
            steps: report.steps.map(|steps| steps.count),
            rows: report.fits.last().and_then(|fit| fit.rows),
            batch: report.fits.last().and_then(|fit| fit.batch),
            parameters: report.fits.last().and_then(|fit| fit.parameters),
            flops_per_sample: report
                .fits
                .last()
                .and_then(|fit| fit.flops_per_sample)
                .map(|flops| flops as f64),
            peak_rss_bytes: report.memory.peak_rss_bytes,
            loss: last.loss.or_else(|| report.fits.last()?.loss),
            accuracy: last.accuracy,
            target,
            arrival,
            course: thinned(course),
        }
    }

    /// The time that says how fast the point is: its step, else its epoch, else the whole command.
    #[must_use]
    pub fn finest_s(&self) -> f64 {
        self.step_s.or(self.epoch_s).unwrap_or(self.wall_s)
    }
}

impl Moment {
    /// The value of a metric then.
    #[must_use]
    pub fn value(&self, metric: TargetMetric) -> Option<f64> {
        match metric {
            TargetMetric::Loss => self.loss,
            TargetMetric::Accuracy => self.accuracy,
        }
    }

    fn reaches(&self, target: Target) -> bool {
        self.value(target.metric).is_some_and(|value| match target.metric {
            TargetMetric::Loss => value <= target.value,
            TargetMetric::Accuracy => value >= target.value,
        })
    }
}

/// How much more all trainers side by side do than the one that the report is about.
fn together(report: &Report) -> f64 {
    let trainers = report.trainers.iter().flatten().filter(|one| one.side_by_side);
    let rates: Option<Vec<f64>> = trainers.clone().map(|one| one.samples_per_s).collect();
    let own = trainers.max_by_key(|one| one.steps).and_then(|one| one.samples_per_s);
    rates.zip(own).map_or(1.0, |(rates, own)| rates.iter().sum::<f64>() / own)
}

/// Whether the laps of a fit are epochs; windows of steps are not counted as such.
fn has_epochs(fit: &FitSummary) -> bool {
    fit.epochs > 0 || fit.steps == 0
}

fn epoch_s(fit: &FitSummary) -> Option<f64> {
    fit.epoch_s.steady.or(fit.epoch_s.mean)
}

impl Target {
    fn of(summary: &TargetSummary) -> Self {
        let accuracy = summary.metric.contains("accuracy");
        let metric = if accuracy { TargetMetric::Accuracy } else { TargetMetric::Loss };
        Self { metric, value: summary.value }
    }
}

/// When a training came to the goal it was given.
fn arrival(summary: &TargetSummary, course: &[Moment]) -> Option<Moment> {
    let (epochs, steps, at_s) = (summary.epochs?, summary.steps?, summary.seconds?);
    let seen = course.iter().find(|moment| moment.epochs == epochs).copied().unwrap_or_default();
    Some(Moment { epochs, steps, at_s, ..seen })
}

/// The laps of the last fit as moments of its training. A validation's result is known when it is over.
fn course(report: &Report) -> Vec<Moment> {
    let Some(fit) = report.fits.last() else { return Vec::new() };
    let (mut epochs, mut steps) = (0, 0);
    let ended = report.epochs.iter().filter(|epoch| epoch.fit == fit.index && epoch.complete);
    let moments = ended.filter_map(|epoch| {
        (epochs, steps) = (epochs + epoch.count, steps + epoch.steps);
        let metric = |name: &str| epoch.metrics.get(name).copied().flatten();
        let (loss, accuracy) = (metric("validation_loss"), metric("validation_accuracy"));
        let known_s = if loss.or(accuracy).is_some() { epoch.evaluate_s } else { 0.0 };
        Some(Moment {
            epochs: if epoch.kind == LapKind::Window { 0 } else { epochs },
            steps,
            at_s: epoch.ended_s? + known_s,
            loss: loss.or(epoch.loss),
            accuracy: accuracy.or_else(|| metric("accuracy")),
        })
    });
    moments.collect()
}

/// As many moments as a chart can show, evenly spread, the last one among them.
fn thinned(course: Vec<Moment>) -> Vec<Moment> {
    if course.len() <= MOST_MOMENTS {
        return course;
    }
    (1..=MOST_MOMENTS).filter_map(|at| course.get(at * course.len() / MOST_MOMENTS - 1).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_keeps_its_shape_and_its_end() {
        let course: Vec<Moment> = (1..=1_003).map(|epochs| Moment { epochs, ..Moment::default() }).collect();
        let kept = thinned(course);
        assert_eq!((kept.len(), kept.last().map(|moment| moment.epochs)), (MOST_MOMENTS, Some(1_003)));
        assert!(kept.windows(2).all(|pair| pair[0].epochs < pair[1].epochs));
    }

    #[test]
    fn a_target_is_reached_from_its_own_side() {
        let moment = Moment { loss: Some(0.1), accuracy: Some(0.9), ..Moment::default() };
        let reaches = |metric, value| moment.reaches(Target { metric, value });
        assert!(reaches(TargetMetric::Loss, 0.1) && !reaches(TargetMetric::Loss, 0.09));
        assert!(reaches(TargetMetric::Accuracy, 0.9) && !reaches(TargetMetric::Accuracy, 0.91));
        assert!(!Moment::default().reaches(Target { metric: TargetMetric::Loss, value: 1.0 }));
    }

    #[test]
    fn a_command_that_records_nothing_is_measured_by_its_wall_time() {
        let bare = Measured { wall_s: 2.0, ..Measured::default() };
        assert_eq!(bare.finest_s(), 2.0);
        assert_eq!(Measured { step_s: Some(0.1), ..bare }.finest_s(), 0.1);
    }
}
