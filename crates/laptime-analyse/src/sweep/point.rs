//! One point: its repeats, folded.

use super::document::{Point, PointStatus};
use super::estimate::Repeated;
use super::machine::{MachineDuring, Taint};
use super::plan::{Plan, Target};
use super::repeat::{Measured, Outcome, Repeat};
use super::schedule::trusted;
use super::target::to_target;
use crate::statistics::mean;

/// Folds the repeats of one point.
pub(super) fn point(plan: &Plan, at: usize, repeats: &[&Repeat], target: Option<Target>) -> Point {
    let (used, tainted) = trusted(&plan.goal, repeats);
    let over = |of: fn(&Measured) -> Option<f64>| {
        let values: Vec<f64> = used.iter().filter_map(|repeat| of(&repeat.measured)).collect();
        // A mean over some repeats only would be one of other repeats than its neighbours.
        Repeated::of(&values).filter(|_| values.len() == used.len())
    };
    let last = used.last().map(|repeat| &repeat.measured);
    let (status, reason) = status(repeats);
    let places = plan.places(at);
    let values = plan.parameters.iter().zip(places);
    Point {
        values: values.map(|(axis, place)| (axis.name.clone(), axis.typed()[place].clone())).collect(),
        repeats: used.len() as u64,
        tried: repeats.len() as u64,
        status,
        reason,
        tainted,
        tainted_repeats: repeats.iter().filter(|repeat| !repeat.taints.is_empty()).count() as u64,
        taints: taints(repeats),
        step_s: over(|measured| measured.step_s),
        epoch_s: over(|measured| measured.epoch_s),
        samples_per_s: over(|measured| measured.samples_per_s),
        wall_s: over(|measured| Some(measured.wall_s)),
        relative: None,
        epochs: last.and_then(|measured| measured.epochs),
        steps: last.and_then(|measured| measured.steps),
        parameters: last.and_then(|measured| measured.parameters),
        flops_per_sample: last.and_then(|measured| measured.flops_per_sample),
        peak_rss_bytes: used.iter().filter_map(|repeat| repeat.measured.peak_rss_bytes).max(),
        loss: over(|measured| measured.loss).map(|loss| loss.mean),
        accuracy: over(|measured| measured.accuracy).map(|accuracy| accuracy.mean),
        to_target: target.and_then(|target| to_target(&used, target)),
        course: used.first().map(|repeat| repeat.measured.course.clone()).unwrap_or_default(),
        machine: machine(repeats),
    }
}

/// One repeat that did not end well decides: the point does not work, or not always.
fn status(repeats: &[&Repeat]) -> (PointStatus, Option<String>) {
    let bad = repeats.iter().map(|repeat| &repeat.outcome).find(|outcome| outcome.reason().is_some());
    let status = match bad {
        None if repeats.is_empty() => PointStatus::NotRun,
        None | Some(Outcome::Finished) => PointStatus::Finished,
        Some(Outcome::Failed { .. }) => PointStatus::Failed,
        Some(Outcome::Killed { .. }) => PointStatus::Killed,
        Some(Outcome::TimedOut { .. }) => PointStatus::TimedOut,
    };
    (status, bad.and_then(Outcome::reason).map(str::to_owned))
}

fn taints(repeats: &[&Repeat]) -> Vec<Taint> {
    let mut found: Vec<Taint> = Vec::new();
    for taint in repeats.iter().flat_map(|repeat| &repeat.taints) {
        if !found.contains(taint) {
            found.push(*taint);
        }
    }
    found
}

/// Means over all repeats, tainted or not: this is about the machine, not about the command.
fn machine(repeats: &[&Repeat]) -> MachineDuring {
    let over = |of: fn(&MachineDuring) -> Option<f64>| {
        mean(&repeats.iter().filter_map(|repeat| of(&repeat.machine)).collect::<Vec<_>>())
    };
    let sum = |of: fn(&MachineDuring) -> Option<u64>| {
        repeats.iter().filter_map(|repeat| of(&repeat.machine)).reduce(u64::saturating_add)
    };
    MachineDuring {
        load: over(|machine| machine.load),
        other_cpus: over(|machine| machine.other_cpus),
        steal: over(|machine| machine.steal),
        cpu_pressure: over(|machine| machine.cpu_pressure),
        held_back: over(|machine| machine.held_back),
        clock_mhz: over(|machine| machine.clock_mhz),
        throttles: sum(|machine| machine.throttles),
        memory_kills: sum(|machine| machine.memory_kills),
    }
}
