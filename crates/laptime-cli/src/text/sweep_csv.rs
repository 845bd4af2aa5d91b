//! The points of a sweep as comma-separated values, one line each, with every digit.

use std::fmt::Write;

use laptime_analyse::sweep::{Point, PointStatus, Repeated, Sweep, Value};

/// The points with a head line; unknown values are empty.
pub(crate) fn sweep_csv(sweep: &Sweep) -> String {
    let axes: Vec<&str> = sweep.parameters.iter().map(|axis| axis.name.as_str()).collect();
    let mut head: Vec<String> = axes.iter().map(|name| quoted(name)).collect();
    head.extend(["status", "reason", "repeats", "tried", "tainted", "tainted_repeats"].map(str::to_owned));
    for (name, _) in measures() {
        head.extend([name.to_owned(), format!("{name}_low"), format!("{name}_high")]);
    }
    head.extend(
        [
            "relative",
            "epochs",
            "steps",
            "parameters",
            "flops_per_sample",
            "loss",
            "accuracy",
            "peak_rss_bytes",
        ]
        .map(str::to_owned),
    );
    let mut text = head.join(",") + "\n";
    for point in &sweep.points {
        let _ = writeln!(text, "{}", line(point, &axes));
    }
    text
}

type Of = fn(&Point) -> Option<Repeated>;

fn measures() -> [(&'static str, Of); 7] {
    [
        ("step_s", |point| point.step_s),
        ("epoch_s", |point| point.epoch_s),
        ("samples_per_s", |point| point.samples_per_s),
        ("wall_s", |point| point.wall_s),
        ("epochs_to_target", |point| point.to_target?.epochs),
        ("steps_to_target", |point| point.to_target?.steps),
        ("time_to_target_s", |point| point.to_target?.time_s),
    ]
}

fn line(point: &Point, axes: &[&str]) -> String {
    let mut cells: Vec<String> =
        axes.iter().map(|axis| point.values.get(*axis).map(value).unwrap_or_default()).collect();
    let status = match point.status {
        PointStatus::NotRun => "not_run",
        PointStatus::Finished => "finished",
        PointStatus::Failed => "failed",
        PointStatus::Killed => "killed",
        PointStatus::TimedOut => "timed_out",
    };
    cells.extend([
        status.to_owned(),
        quoted(point.reason.as_deref().unwrap_or_default()),
        point.repeats.to_string(),
        point.tried.to_string(),
        point.tainted.to_string(),
        point.tainted_repeats.to_string(),
    ]);
    for (_, of) in measures() {
        let measured = of(point);
        cells.extend([
            number(measured.map(|measured| measured.mean)),
            number(measured.and_then(|measured| measured.low)),
            number(measured.and_then(|measured| measured.high)),
        ]);
    }
    let count = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    cells.extend([
        number(point.relative),
        count(point.epochs),
        count(point.steps),
        count(point.parameters),
        number(point.flops_per_sample),
        number(point.loss),
        number(point.accuracy),
        count(point.peak_rss_bytes),
    ]);
    cells.join(",")
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn value(value: &Value) -> String {
    match value {
        Value::Whole(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Word(word) => quoted(word),
    }
}

/// A field as RFC 4180 has it.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_quotes_do_not_break_a_line() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
