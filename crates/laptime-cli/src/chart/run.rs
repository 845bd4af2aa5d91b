//! The charts of a run: loss and accuracy over time.

use laptime_analyse::{LearningCurve, Report, learning_curves};

use super::sweep::{MOST_LINES, scale};
use super::{Axis, Chart, Mark, NamedChart, Scale, Series, Unit};
use crate::one_line::shown;

/// Every chart that the run has numbers for.
#[must_use]
pub fn run_charts(report: &Report) -> Vec<NamedChart> {
    let curves = learning_curves(report);
    ["accuracy", "loss"].iter().filter_map(|metric| over_time(report, &curves, metric)).collect()
}

/// A metric of the training and of held-out data, a line for each and for each fit.
fn over_time(report: &Report, curves: &[LearningCurve], metric: &str) -> Option<NamedChart> {
    let lines = curves.iter().filter(|curve| curve.metric.ends_with(metric)).take(MOST_LINES);
    let series: Vec<Series> = lines.map(|curve| line(report, curve)).collect();
    let values: Vec<f64> = series.iter().flat_map(|series| &series.marks).map(|mark| mark.y).collect();
    let chart = Chart {
        title: format!("{}: {metric} over time", shown(&report.run.name)),
        x: Axis { label: "time".to_owned(), unit: Unit::Seconds, scale: Scale::Linear },
        y: Axis {
            label: metric.to_owned(),
            unit: Unit::Number,
            scale: if metric == "loss" { scale(&values) } else { Scale::Linear },
        },
        series,
    };
    let file = format!("{metric}-over-time.svg");
    (!chart.series.is_empty()).then_some(NamedChart { file, chart, in_text: true })
}

fn line(report: &Report, curve: &LearningCurve) -> Series {
    let metric = curve.metric.replace('_', " ");
    let fit = report.fits.iter().find(|fit| fit.index == curve.fit).filter(|_| report.fits.len() > 1);
    let number = u64::from(curve.fit) + 1;
    let name = match fit {
        Some(fit) if fit.label.is_empty() => format!("fit {number}: {metric}"),
        Some(fit) => format!("fit {number} {}: {metric}", shown(&fit.label)),
        None => metric,
    };
    // Time begins with the fit, so the first value stands at the first epoch's end.
    let marks = curve.values.iter().map(|(seconds, value)| Mark::new(*seconds, *value)).collect();
    Series { name, marks, joined: true, ..Series::default() }
}
