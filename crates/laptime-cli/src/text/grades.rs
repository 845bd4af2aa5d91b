//! The grades of a machine's forecasts as a table.

use laptime_analyse::{Grades, MarkGrades};
use laptime_core::units;

use super::report::{ended, explained};
use super::shown;
use super::style::{Emphasis, Style};

/// A row for each point of a run; `place` is where they are kept.
pub(crate) fn grades_text(grades: &Grades, place: &str, style: &Style) -> String {
    if grades.marks.is_empty() {
        let mut lines = explained("no forecast has been graded yet", style, Emphasis::Notice);
        let next = "every `laptime run` of 10 s or more that makes its plan is; \
                    next: laptime run -- python train.py";
        lines.extend(explained(next, style, Emphasis::Plain));
        return ended(&lines);
    }
    let head = format!(
        "{:>7}  {:>9}  {:>12}  {:>6}  {:<20}  {:>5}",
        "made at", "forecasts", "median error", "bias", "coverage (95 %)", "width"
    );
    let mut lines = vec![style.paint(&style.fitted(head.trim_end()), Emphasis::Dim)];
    lines.extend(grades.marks.iter().map(|mark| style.fitted(&row(mark))));
    let level = units::percent(grades.level).replace(".0 %", " %");
    let text = format!("intervals should cover {level}; error, bias and width are shares of the whole run");
    lines.extend(explained(&text, style, Emphasis::Plain));
    lines.extend(explained(&format!("kept in {}", shown(place)), style, Emphasis::Dim));
    ended(&lines)
}

fn row(mark: &MarkGrades) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let coverage = format!(
        "{:.0} % ({:.0}–{:.0})",
        100.0 * mark.coverage,
        100.0 * mark.coverage_low,
        100.0 * mark.coverage_high
    );
    format!(
        "{:>7}  {:>9}  {:>12}  {:>6}  {coverage:<20}  {:>5}",
        format!("{:.0} %", 100.0 * mark.mark),
        units::count(mark.forecasts),
        percent(mark.median_error),
        format!("{:+.1} %", 100.0 * mark.median_bias),
        percent(mark.median_width),
    )
    .trim_end()
    .to_owned()
}
