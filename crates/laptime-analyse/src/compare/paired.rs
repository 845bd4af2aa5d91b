//! Pairs: two sides that ran in alternation, one execution each, so that what the machine did to one it did to both.

use laptime_core::Estimate;

use super::ratio::LEVEL;
use super::run::ComparedRun;
use crate::statistics::{mean, t_width, variance};
use crate::training::Training;

/// Taking the waits off must make the pairs agree this much better, else they are left as they are.
const BETTER: f64 = 0.8;
/// A command computes all the time where its CPU time is this share of its time without waits; more is several threads.
const COMPUTING: std::ops::RangeInclusive<f64> = 0.85..=1.02;
/// Waits that differ between the sides with this certainty are the change's own, not the machine's.
const OWN_WAITS: f64 = 0.9;

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
    /// What it is called: `total`, `training` or the stage.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Total => "total",
            Self::Training => "training",
            Self::Stage(stage) => stage,
        }
    }

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

/// Pairs as they are judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgedPairs {
    /// Seconds of both sides.
    pub pairs: Vec<(f64, f64)>,
    /// Whether the time that the commands waited for a CPU is taken off.
    pub without_waits: bool,
}

/// The pairs of executions that are to be judged; those of which a side has no such time are left out.
///
/// How long a command waits for a CPU depends on what else the machine does, and differs from one execution to the next
/// far more than its work does: on a machine of 2 CPUs with a load of 7, pairs of equal commands of a second were 10 %
/// apart, and 3 % without their waits. So whole commands are judged without them, on two conditions. The pairs must
/// agree better so, which they do not where it is not the CPU that is waited for. And the waits of one side must not be
/// the longer ones again and again: then they come from the change, such as more threads than CPUs, and count. What is
/// hidden by that is a change that only waits more, on a machine so busy that the waits of equal commands differ as much.
#[must_use]
pub fn judged_pairs(measure: &Measure, a: &[ComparedRun], b: &[ComparedRun]) -> JudgedPairs {
    let both = |of: &dyn Fn(&ComparedRun) -> Option<f64>| -> Vec<Option<(f64, f64)>> {
        a.iter().zip(b).map(|(a, b)| of(a).zip(of(b))).collect()
    };
    let whole: Vec<(f64, f64)> = both(&|run| measure.of(run)).into_iter().flatten().collect();
    let as_it_is = JudgedPairs { pairs: whole.clone(), without_waits: false };
    if *measure != Measure::Total {
        return as_it_is;
    }
    let Some(rest) = both(&without_waits).into_iter().collect::<Option<Vec<_>>>() else { return as_it_is };
    if rest.len() != whole.len() || !waits_are_the_machines(&whole, &rest) {
        return as_it_is;
    }
    let computing = both(&computing).into_iter().collect::<Option<Vec<_>>>();
    let computing = computing.filter(|computing| waits_are_the_machines(&rest, computing));
    JudgedPairs { pairs: computing.unwrap_or(rest), without_waits: true }
}

/// What a command would have taken had it never waited for a CPU, seconds. Where several of its threads want to run at
/// once, their waits pass at the same time.
fn without_waits(run: &ComparedRun) -> Option<f64> {
    let wall = run.report.wall_s;
    let (cpu, wait) = (run.report.machine.cpu_s?, run.report.machine.cpu_wait_s?);
    let at_once = ((cpu + wait) / wall).max(1.0);
    Some(wall - wait / at_once).filter(|seconds| *seconds > 0.0)
}

/// CPU time of a command that does nothing but compute, on one thread at a time. What else it took is mostly how late its
/// start and its end were noticed: on a busy machine laptime waits for a CPU, too, up to a tenth of a short command.
fn computing(run: &ComparedRun) -> Option<f64> {
    let share = run.report.machine.cpu_s? / without_waits(run)?;
    run.report.machine.cpu_s.filter(|_| COMPUTING.contains(&share))
}

fn waits_are_the_machines(whole: &[(f64, f64)], rest: &[(f64, f64)]) -> bool {
    let logs = |pairs: &[(f64, f64)]| pairs.iter().map(|(a, b)| (b / a).ln()).collect::<Vec<f64>>();
    let (whole, rest) = (logs(whole), logs(rest));
    let waits: Vec<f64> = whole.iter().zip(&rest).map(|(whole, rest)| whole - rest).collect();
    let (Some(middle), Some(spread)) = (mean(&waits), variance(&waits)) else { return false };
    let count = waits.len() as f64;
    let own = middle.abs() > t_width(OWN_WAITS, count - 1.0) * (spread / count).sqrt();
    !own && scatter(&rest) < BETTER * scatter(&whole)
}

/// Mean distance from the median.
fn scatter(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    values.iter().map(|value| (value - median).abs()).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;
    use crate::compare::sequential::{Decision, decision};

    /// Pairs of equal work whose waits scatter; those of the second side are longer by `own`, as a share.
    fn waiting(own: f64, trial: u64) -> [Vec<(f64, f64)>; 2] {
        let mut chance = Chance::new(trial);
        let pair = |_| {
            let (a, b) = ((0.02 * chance.normal()).exp(), (0.02 * chance.normal()).exp());
            let [first, second] = [0.0, own].map(|own| (0.1 * chance.normal() + own).exp());
            ((a * first, b * second), (a, b))
        };
        let (whole, rest) = (0..6).map(pair).unzip();
        [whole, rest]
    }

    #[test]
    fn waits_for_a_cpu_are_taken_off_where_they_only_scatter() {
        let taken_off = (1..=100).filter(|trial| {
            let [whole, rest] = waiting(0.0, *trial);
            waits_are_the_machines(&whole, &rest)
        });
        assert!(taken_off.count() >= 80);
    }

    #[test]
    fn waits_that_one_side_has_more_of_count() {
        let found = (1..=100).filter(|trial| {
            let [whole, rest] = waiting(0.5, *trial);
            !waits_are_the_machines(&whole, &rest) && decision(&whole, 0.05) == Decision::Slower
        });
        assert!(found.count() >= 95);
    }

    #[test]
    fn pairs_that_agree_without_it_are_left_as_they_are() {
        let alike = [(1.0, 1.01), (1.0, 0.99), (1.0, 1.0), (1.0, 1.01), (1.0, 1.0)];
        assert!(!waits_are_the_machines(&alike, &alike));
    }
}
