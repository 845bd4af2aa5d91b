//! Target: whether and when a fit reached the goal it was given.

use laptime_core::{Metric, Timebase};

use crate::epoch::Epoch;
use crate::fit::Fit;
use crate::report::TargetSummary;
use crate::summary::metric_name;

/// The settings that name a goal, with the metrics that are held against it: held-out rows before others.
const GOALS: [(&str, [Metric; 2]); 2] = [
    ("until_loss", [Metric::ValidationLoss, Metric::Loss]),
    ("until_accuracy", [Metric::ValidationAccuracy, Metric::Accuracy]),
];

/// The way to the goal that a fit's settings name; `None` without one.
pub(crate) fn target(fit: &Fit, timebase: &Timebase) -> Option<TargetSummary> {
    let goal = |(setting, metrics)| {
        let value: f64 = fit.facts.settings.get(setting)?.parse().ok()?;
        Some((value, metrics))
    };
    let (value, [held_out, trained]): (f64, [Metric; 2]) = GOALS.into_iter().find_map(goal)?;
    let told = |metric: Metric| fit.epochs.iter().any(|epoch| epoch.metrics.contains_key(&metric));
    let metric = if told(held_out) { held_out } else { trained };
    let lower = matches!(metric, Metric::Loss | Metric::ValidationLoss);
    let values = || fit.complete_epochs().filter_map(|epoch| epoch.metrics.get(&metric).copied());
    let best = values().filter(|value| value.is_finite()).reduce(if lower { f64::min } else { f64::max });
    let met = |found: f64| if lower { found <= value } else { found >= value };
    let place = fit.complete_epochs().position(|epoch| epoch.metrics.get(&metric).copied().is_some_and(met));
    let way = |last: usize| fit.complete_epochs().take(last + 1);
    let seconds = |epoch: &Epoch| Some(timebase.seconds(epoch.measured?.since(fit.began?)));
    Some(TargetSummary {
        metric: metric_name(metric).to_owned(),
        value,
        reached: place.is_some(),
        epochs: place.map(|last| last as u64 + 1),
        steps: place.map(|last| way(last).map(|epoch| epoch.tally.steps).sum()),
        seconds: place.and_then(|last| way(last).last().and_then(seconds)),
        best,
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
