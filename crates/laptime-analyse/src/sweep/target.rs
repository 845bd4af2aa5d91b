//! Time to a target: how long, and how many epochs and steps, training took to a loss or an accuracy.

use serde::Serialize;

use super::estimate::Repeated;
use super::plan::Target;
use super::repeat::{Measured, Moment, Repeat};

/// How long training took to its target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ToTarget {
    /// Repeats that reached it.
    pub reached: u64,
    /// Repeats that were to reach it.
    pub tried: u64,
    /// Epochs to it, over the repeats that reached it.
    pub epochs: Option<Repeated>,
    /// Steps to it.
    pub steps: Option<Repeated>,
    /// Seconds of a step on the way.
    pub step_s: Option<Repeated>,
    /// Seconds to it, from the begin of training.
    pub time_s: Option<Repeated>,
    /// The longest training that did not reach it, seconds.
    pub not_within_s: Option<f64>,
}

/// What all points are to reach; `None` where they have different goals, which cannot be compared.
pub(super) fn target(repeats: &[Repeat]) -> Option<Target> {
    let mut targets = repeats.iter().filter_map(|repeat| repeat.measured.target);
    let first = targets.next()?;
    targets.all(|other| other == first).then_some(first)
}

/// Over the repeats a point's means rest on; `None` when they do not report its metric.
pub(super) fn to_target(repeats: &[&Repeat], target: Target) -> Option<ToTarget> {
    let reports =
        |measured: &&Measured| measured.course.iter().any(|moment| moment.value(target.metric).is_some());
    let reporting: Vec<&Measured> = repeats.iter().map(|repeat| &repeat.measured).filter(reports).collect();
    if reporting.is_empty() {
        return None;
    }
    let arrivals: Vec<Moment> = reporting.iter().filter_map(|measured| measured.arrival).collect();
    let late = reporting.iter().filter(|measured| measured.arrival.is_none());
    let over = |of: fn(&Moment) -> f64| Repeated::of(&arrivals.iter().map(of).collect::<Vec<_>>());
    Some(ToTarget {
        reached: arrivals.len() as u64,
        tried: reporting.len() as u64,
        epochs: over(|moment| moment.epochs as f64),
        steps: over(|moment| moment.steps as f64),
        step_s: over(|moment| moment.at_s / moment.steps.max(1) as f64),
        time_s: over(|moment| moment.at_s),
        not_within_s: late.filter_map(|measured| Some(measured.course.last()?.at_s)).reduce(f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::TargetMetric;
    use crate::sweep::planted::finished;
    use crate::sweep::schedule::Turn;

    const LOSS: Target = Target { metric: TargetMetric::Loss, value: 0.1 };

    /// Epochs of two steps and a second each; the loss is reached at the end of that one.
    fn trained(epochs: u64, arrival: Option<u64>) -> Repeat {
        let mut repeat = finished(Turn { round: 0, point: 0 }, 9.0);
        let moment = |epochs: u64| Moment {
            epochs,
            steps: 2 * epochs,
            at_s: epochs as f64,
            loss: Some(0.5),
            accuracy: None,
        };
        repeat.measured.course = (1..=epochs).map(moment).collect();
        (repeat.measured.target, repeat.measured.arrival) = (Some(LOSS), arrival.map(moment));
        repeat
    }

    #[test]
    fn epochs_steps_and_seconds_to_the_target_are_means_over_repeats() {
        let to = to_target(&[&trained(4, Some(2)), &trained(4, Some(4))], LOSS).unwrap();
        assert_eq!((to.reached, to.tried, to.not_within_s), (2, 2, None));
        assert_eq!(to.epochs.unwrap().mean, 3.0);
        assert_eq!(to.steps.unwrap().mean, 6.0);
        assert_eq!(to.step_s.unwrap().mean, 0.5);
        assert_eq!(to.time_s.unwrap().mean, 3.0);
    }

    #[test]
    fn who_does_not_arrive_is_reported_with_the_time_it_had() {
        let to = to_target(&[&trained(2, None)], LOSS).unwrap();
        assert_eq!((to.reached, to.time_s, to.not_within_s), (0, None, Some(2.0)));
        assert_eq!(to_target(&[&finished(Turn { round: 0, point: 0 }, 1.0)], LOSS), None);
        let accuracy = Target { metric: TargetMetric::Accuracy, value: 0.9 };
        assert_eq!(to_target(&[&trained(2, None)], accuracy), None);
    }

    #[test]
    fn commands_with_different_targets_have_none_in_common() {
        let mut other = trained(2, None);
        other.measured.target = Some(Target { value: 0.2, ..LOSS });
        assert_eq!(target(&[trained(2, None), trained(3, None)]), Some(LOSS));
        assert_eq!(target(&[trained(2, None), other]), None);
    }
}
