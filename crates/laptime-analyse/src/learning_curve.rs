//! The learning curve of a training: how well its model did, and when that was known.

use crate::report::{EpochSummary, Report};

/// How one metric of one fit changed over time.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningCurve {
    /// The fit.
    pub fit: u32,
    /// What was measured: `loss`, `accuracy`, `validation_loss` or `validation_accuracy`.
    pub metric: &'static str,
    /// Seconds from the begin of the fit until a value was known, and the value; one for each epoch.
    pub values: Vec<(f64, f64)>,
}

/// What is measured: of the training data, then of data that was held out.
const METRICS: [&str; 4] = ["loss", "validation_loss", "accuracy", "validation_accuracy"];

/// Every metric of every fit that has a value at the end of an epoch.
#[must_use]
pub fn learning_curves(report: &Report) -> Vec<LearningCurve> {
    let fits = report.fits.iter().flat_map(|fit| METRICS.map(|metric| (fit.index, metric)));
    let curves = fits.map(|(fit, metric)| {
        let epochs = report.epochs.iter().filter(|epoch| epoch.fit == fit && epoch.complete);
        LearningCurve { fit, metric, values: epochs.filter_map(|epoch| known(epoch, metric)).collect() }
    });
    curves.filter(|curve| !curve.values.is_empty()).collect()
}

/// The value of a metric at the end of an epoch; that of held-out data is known when its evaluation is over.
fn known(epoch: &EpochSummary, metric: &str) -> Option<(f64, f64)> {
    let value = if metric == "loss" { epoch.loss } else { epoch.metrics.get(metric).copied().flatten() }?;
    let evaluated_s = if metric.starts_with("validation") { epoch.evaluate_s } else { 0.0 };
    Some((epoch.ended_s? + evaluated_s, value))
}

#[cfg(test)]
mod tests {
    use laptime_core::{FitFacts, Metric, StageId};

    use super::*;
    use crate::script::Script;

    #[test]
    fn what_is_held_out_is_known_after_its_evaluation_and_each_fit_has_a_clock_of_its_own() {
        let mut script = Script::new();
        for _ in 0..2 {
            script.pass(7_000_000).fit(FitFacts::default());
            for accuracy in [0.5, 0.75] {
                script.epoch();
                script.step(&[(StageId::FORWARD, 100_000_000)], 8);
                script.end_epoch().measure(Metric::Accuracy, accuracy);
                script.stage(StageId::EVALUATE, 20_000_000).measure(Metric::ValidationAccuracy, 0.25);
            }
            script.end_fit();
        }
        let curves = learning_curves(&script.close().report());
        let names: Vec<_> = curves.iter().map(|curve| (curve.fit, curve.metric)).collect();
        let all = ["loss", "accuracy", "validation_accuracy"];
        assert_eq!(names, [0, 1].map(|fit| all.map(|metric| (fit, metric))).concat());
        for curve in curves {
            let late = if curve.metric == "validation_accuracy" { 0.02 } else { 0.0 };
            for (at, (seconds, _)) in curve.values.iter().enumerate() {
                assert!((seconds - (0.1 + 0.12 * at as f64) - late).abs() < 1e-9, "{curve:?}");
            }
        }
    }
}
