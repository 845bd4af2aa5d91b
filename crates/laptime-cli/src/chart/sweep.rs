//! The charts of a sweep: time along each axis that is a number, and quality over time.

use laptime_analyse::sweep::{
    Point, PointStatus, Sweep, SweepLaw, TargetMetric, Time, trained_s, value_text,
};

use super::{Axis, Chart, Mark, NamedChart, Scale, Series, Unit, scaling_series};
use crate::one_line::shown;

/// Lines that stay distinguishable in one chart.
pub(super) const MOST_LINES: usize = 8;
/// Values that span this many times themselves are spread by their ratios.
const WIDE: f64 = 8.0;

/// Every chart that the sweep has numbers for.
#[must_use]
pub fn sweep_charts(sweep: &Sweep) -> Vec<NamedChart> {
    let mut charts = Vec::new();
    for axis in &sweep.parameters {
        for time in [Time::StepS, Time::EpochS, Time::WallS, Time::TimeToTargetS] {
            charts.extend(along(sweep, &axis.name, time));
        }
    }
    for metric in [TargetMetric::Accuracy, TargetMetric::Loss] {
        charts.extend(over_time(sweep, metric));
    }
    charts.extend(frontier(sweep));
    charts
}

fn along(sweep: &Sweep, axis: &str, time: Time) -> Option<NamedChart> {
    let laws: Vec<&SweepLaw> = sweep.laws.iter().filter(|law| law.x == axis && law.y == time).collect();
    let series: Vec<Series> = laws
        .iter()
        .take(MOST_LINES)
        .map(|law| scaling_series(&slice_name(law, time), &law.law, None))
        .collect();
    let marks = || series.iter().flat_map(|series| &series.marks);
    let (xs, ys) =
        (marks().map(|mark| mark.x).collect::<Vec<_>>(), marks().map(|mark| mark.y).collect::<Vec<_>>());
    let chart = Chart {
        title: format!("{} by {}", time.name(), shown(axis)),
        x: Axis { label: shown(axis), unit: Unit::Number, scale: scale(&xs) },
        y: Axis { label: time.name().to_owned(), unit: Unit::Seconds, scale: scale(&ys) },
        series,
    };
    let file = format!("{}-by-{}.svg", time.name().replace(' ', "-"), file_name(axis));
    (!laws.is_empty()).then_some(NamedChart { file, chart, in_text: true })
}

/// A slice by the values it holds; the time itself where there is only one.
fn slice_name(law: &SweepLaw, time: Time) -> String {
    let held: Vec<String> =
        law.at.iter().map(|(name, value)| format!("{}={}", shown(name), value_text(value))).collect();
    if held.is_empty() { time.name().to_owned() } else { held.join(" ") }
}

/// By ratios where the values span many times themselves, as axes of sweeps mostly do.
pub(super) fn scale(values: &[f64]) -> Scale {
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    if low > 0.0 && high >= WIDE * low { Scale::Log } else { Scale::Linear }
}

/// Loss or accuracy over time, a line for each point; of many points the best ones.
fn over_time(sweep: &Sweep, metric: TargetMetric) -> Option<NamedChart> {
    let mut points: Vec<&Point> = sweep
        .points
        .iter()
        .filter(|point| point.status == PointStatus::Finished && point.course.len() > 1)
        .collect();
    let order = |point: &&Point| point.relative.unwrap_or(f64::INFINITY);
    points.sort_by(|a, b| order(a).total_cmp(&order(b)));
    let line = |point: &&Point| Series {
        name: point_name(sweep, point),
        marks: point
            .course
            .iter()
            .filter_map(|moment| Some(Mark::new(moment.at_s, moment.value(metric)?)))
            .collect(),
        joined: true,
        ..Series::default()
    };
    let series: Vec<Series> =
        points.iter().map(line).filter(|series| series.marks.len() > 1).take(MOST_LINES).collect();
    let values: Vec<f64> = series.iter().flat_map(|series| &series.marks).map(|mark| mark.y).collect();
    let name = metric.name();
    let sought = sweep.target.is_some_and(|target| target.metric == metric);
    let scale = if metric == TargetMetric::Loss { scale(&values) } else { Scale::Linear };
    let chart = Chart {
        title: format!("{name} over time"),
        x: Axis { label: "time".to_owned(), unit: Unit::Seconds, scale: Scale::Linear },
        y: Axis { label: name.to_owned(), unit: Unit::Number, scale },
        series,
    };
    (!chart.series.is_empty()).then_some(NamedChart {
        file: format!("{name}-over-time.svg"),
        chart,
        in_text: sought,
    })
}

/// What was reached against the time it took: all points, and those that nobody beats in both.
fn frontier(sweep: &Sweep) -> Option<NamedChart> {
    let metric = if sweep.points.iter().any(|point| point.accuracy.is_some()) {
        TargetMetric::Accuracy
    } else {
        TargetMetric::Loss
    };
    let mark = |point: &Point| {
        let reached = if metric == TargetMetric::Accuracy { point.accuracy } else { point.loss };
        Some(Mark::new(trained_s(point)?, reached?))
    };
    let finished = sweep.points.iter().filter(|point| point.status == PointStatus::Finished);
    let all =
        Series { name: "points".to_owned(), marks: finished.filter_map(mark).collect(), ..Series::default() };
    let best = sweep.frontier.iter().filter_map(|point| mark(&sweep.points[*point])).collect();
    let best = Series {
        name: "nobody is better and quicker".to_owned(),
        marks: best,
        joined: true,
        ..Series::default()
    };
    let enough = all.marks.len() > 1;
    let name = metric.name();
    let chart = Chart {
        title: format!("{name} against time"),
        x: Axis { label: "time".to_owned(), unit: Unit::Seconds, scale: Scale::Linear },
        y: Axis { label: name.to_owned(), unit: Unit::Number, scale: Scale::Linear },
        series: vec![all, best],
    };
    enough.then_some(NamedChart { file: format!("{name}-against-time.svg"), chart, in_text: false })
}

fn point_name(sweep: &Sweep, point: &Point) -> String {
    let values = sweep.parameters.iter().filter_map(|axis| {
        let value = value_text(point.values.get(&axis.name)?);
        Some(if sweep.parameters.len() > 1 { format!("{}={value}", shown(&axis.name)) } else { value })
    });
    values.collect::<Vec<_>>().join(" ")
}

/// A name that is safe as a part of a file's.
fn file_name(axis: &str) -> String {
    axis.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' })
        .collect()
}
