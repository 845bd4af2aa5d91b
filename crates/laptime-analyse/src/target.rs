//! Target: whether and when a fit reached the goal it was given.

use laptime_core::{Metric, Timebase};

use crate::epoch::Epoch;
use crate::fit::Fit;
use crate::goal::Goal;
use crate::report::TargetSummary;

/// The way to the goal that a fit's settings name; `None` without one.
pub(crate) fn target(fit: &Fit, timebase: &Timebase) -> Option<TargetSummary> {
    let goal = Goal::of(&fit.facts)?;
    let [held_out, trained] = goal.metrics;
    let rows = fit.epochs.rows();
    let has = |metric: Metric| rows.iter().any(|row| row.metrics.contains_key(&metric));
    let metric = if has(held_out) { held_out } else { trained };
    let extremes = fit.epochs.complete().filter_map(|row| row.extremes(metric));
    let (lowest, highest) = extremes.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unzip();
    // The first epoch that is good enough is a row of its own, however many there are.
    let met = |row: &&Epoch| row.complete && row.metrics.get(&metric).is_some_and(|v| goal.is_met_by(*v));
    let place = fit.epochs.complete().position(|row| met(&row));
    let way = |last: usize| fit.epochs.complete().take(last + 1);
    let seconds = |epoch: &Epoch| Some(timebase.seconds(epoch.measured?.since(fit.began?)));
    Some(TargetSummary {
        metric: metric.name().to_owned(),
        value: goal.value,
        reached: place.is_some(),
        epochs: place.map(|last| way(last).map(Epoch::complete_count).sum()),
        steps: place.map(|last| way(last).map(|epoch| epoch.tally.steps).sum()),
        seconds: place.and_then(|last| way(last).last().and_then(seconds)),
        best: if goal.is_loss() { lowest } else { highest },
    })
}

#[cfg(test)]
mod tests {
    use laptime_core::{FitFacts, Metric, StageId};

    use crate::TargetSummary;
    use crate::script::Script;

    /// A fit whose epochs take 100 ms and measure these values 10 ms after their end.
    fn target(setting: &str, goal: &str, measured: &[(Metric, f64)]) -> Option<TargetSummary> {
        let mut script = Script::new();
        let settings = [(setting.to_owned(), goal.to_owned())].into();
        script.pass(7_000_000).fit(FitFacts { settings, ..FitFacts::default() });
        for (metric, value) in measured {
            script.epoch();
            script.step(&[(StageId::FORWARD, 50_000_000)], 8).step(&[(StageId::FORWARD, 50_000_000)], 8);
            script.end_epoch().stage(StageId::EVALUATE, 10_000_000).measure(*metric, *value);
        }
        script.end_fit();
        script.close().report().fits[0].target.clone()
    }

    #[test]
    fn the_first_epoch_that_is_good_enough_tells_epochs_steps_and_time() {
        let values = [0.5, 0.8, 0.7, 0.9].map(|value| (Metric::Accuracy, value));
        let reached = target("until_accuracy", "0.75", &values).unwrap();
        assert_eq!((reached.metric.as_str(), reached.reached), ("accuracy", true));
        assert_eq!((reached.epochs, reached.steps, reached.best), (Some(2), Some(4), Some(0.9)));
        assert!((reached.seconds.unwrap() - 0.22).abs() < 1e-9, "{reached:?}");
    }

    #[test]
    fn a_goal_that_is_not_reached_tells_the_best() {
        let values = [2.0, 1.0, 1.5].map(|value| (Metric::ValidationLoss, value));
        let missed = target("until_loss", "0.9", &values).unwrap();
        assert_eq!((missed.metric.as_str(), missed.reached), ("validation_loss", false));
        assert_eq!((missed.epochs, missed.seconds, missed.best), (None, None, Some(1.0)));
    }

    #[test]
    fn a_fit_without_a_goal_has_no_target() {
        assert_eq!(target("lr", "0.1", &[(Metric::Loss, 1.0)]), None);
    }
}
