//! A sweep as text: what it was, its table, what follows from it, what went wrong, what to type next.

use laptime_analyse::sweep::{Point, PointStatus, Sweep, SweepStatus, value_text};
use laptime_core::Estimate;

use super::shown;
use super::style::{Emphasis, Style};
use super::sweep_table::sweep_table;
use super::table::{Align, Column, Table};
use super::units;
use super::wrap::wrapped;
use crate::chart::{Sheet, sweep_charts, terminal};

/// Points whose failure is listed one by one; the table marks all.
const MOST_REASONS: usize = 8;

/// Charts that are drawn in the text, and the lines of each.
const MOST_CHARTS: usize = 2;
const CHART_LINES: usize = 15;

/// The sweep, sections apart by an empty line. `kept` is where it is kept on disk.
pub(crate) fn sweep_text(sweep: &Sweep, kept: &str, style: &Style) -> String {
    let sections = [
        title(sweep, style),
        sweep_table(sweep, None).drawn(style),
        machines(sweep, style),
        findings(sweep, style),
        drawn_charts(sweep, style),
        troubles(sweep, style),
        next(sweep, kept, style),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

/// How far it is: `sweep 3f9a2c71 · finished · 9 of 9 points · 31 repeats · 1m12s`.
pub(crate) fn sweep_heading(sweep: &Sweep) -> String {
    let status = match sweep.sweep.status {
        SweepStatus::Running => "running",
        SweepStatus::Finished => "finished",
        SweepStatus::Interrupted => "interrupted",
        SweepStatus::BudgetSpent => "out of time",
    };
    let tried = sweep.points.iter().filter(|point| point.status != PointStatus::NotRun).count();
    format!(
        "sweep {} · {status} · {} of {} · {} · {}",
        short_id(&sweep.sweep.id),
        units::count(tried as u64),
        units::counted(sweep.points.len() as u64, "point"),
        units::counted(sweep.sweep.repeats, "repeat"),
        units::duration(sweep.sweep.wall_s),
    )
}

/// The random part of an id, which is enough to name a sweep.
fn short_id(id: &str) -> String {
    shown(id.rsplit('-').next().unwrap_or(id))
}

fn title(sweep: &Sweep, style: &Style) -> String {
    let command = sweep.sweep.command.join(" ");
    lines(&sweep_heading(sweep), style, Emphasis::Bold) + &lines(&shown(&command), style, Emphasis::Dim)
}

/// The machines of a cluster; one alone is a line.
fn machines(sweep: &Sweep, style: &Style) -> String {
    if let [one] = sweep.machines.as_slice() {
        let cpus = units::counted(u64::from(one.cpus), "CPU");
        return lines(&format!("all on {}, a machine with {cpus}", shown(&one.name)), style, Emphasis::Dim);
    }
    if sweep.machines.is_empty() {
        return String::new();
    }
    let right = |title| Column::new(title, Align::Right);
    let head = vec![Column::new("machine", Align::Left), right("CPUs"), right("repeats"), right("time")];
    let mut table = Table::new(head);
    for machine in &sweep.machines {
        let times = |relative: Estimate| format!("{} ×", units::three_digits(relative.mean));
        table.row(vec![
            shown(&machine.name).into(),
            units::count(machine.cpus.into()).into(),
            units::count(machine.repeats).into(),
            units::or_unknown(machine.relative, times).into(),
        ]);
    }
    table.drawn(style)
}

fn findings(sweep: &Sweep, style: &Style) -> String {
    sweep.findings.iter().map(|finding| lines(&finding.text, style, Emphasis::Plain)).collect()
}

/// As many charts as a person looks at; the others are files.
fn drawn_charts(sweep: &Sweep, style: &Style) -> String {
    let sheet = Sheet { width: style.width, height: CHART_LINES, color: style.color, unicode: style.unicode };
    let all = sweep_charts(sweep);
    let drawn = all.iter().filter(|named| named.in_text).take(MOST_CHARTS);
    let mut text: Vec<String> = drawn
        .map(|named| {
            let lines = terminal(&named.chart, &sheet);
            lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
        })
        .collect();
    let more = all.len() - text.len();
    if more > 0 {
        let more = units::counted(more as u64, "more chart");
        let hint = format!("{more}: laptime report {} --svg DIR", short_id(&sweep.sweep.id));
        text.push(lines(&hint, style, Emphasis::Dim));
    }
    text.join("\n")
}

/// What failed and why, and what is not to be trusted.
fn troubles(sweep: &Sweep, style: &Style) -> String {
    let failed: Vec<&Point> = sweep.points.iter().filter(|point| point.reason.is_some()).collect();
    let mut text: String = failed
        .iter()
        .take(MOST_REASONS)
        .map(|point| {
            let reason = shown(point.reason.as_deref().unwrap_or_default());
            let tried = point.tried;
            let before = if tried > 1 { format!(" (repeat {tried} of it)") } else { String::new() };
            lines(&format!("{}{before}: {reason}", name(sweep, point)), style, Emphasis::Bad)
        })
        .collect();
    if failed.len() > MOST_REASONS {
        let more = format!("and {} more (--json has all)", failed.len() - MOST_REASONS);
        text += &lines(&more, style, Emphasis::Dim);
    }
    text + &tainted(sweep, style)
}

fn tainted(sweep: &Sweep, style: &Style) -> String {
    let points = sweep.points.iter().filter(|point| point.tainted).count();
    let repeats: u64 = sweep.points.iter().map(|point| point.tainted_repeats).sum();
    if repeats == 0 {
        return String::new();
    }
    let mut causes: Vec<&str> = Vec::new();
    for taint in sweep.points.iter().flat_map(|point| &point.taints) {
        if !causes.contains(&taint.text()) {
            causes.push(taint.text());
        }
    }
    let all = units::count(sweep.sweep.repeats);
    let made = format!("{} of {all} repeats were tainted: {}", units::count(repeats), causes.join(", "));
    let text = if points == 0 {
        format!("{made}; the means rest on the others")
    } else {
        format!("{made}; of {} the mean rests on them", units::counted(points as u64, "point"))
    };
    lines(&text, style, Emphasis::Notice)
}

/// A point in words: `rows=1,000 batch=32`.
fn name(sweep: &Sweep, point: &Point) -> String {
    let named = sweep.parameters.iter().filter_map(|axis| {
        Some(format!("{}={}", shown(&axis.name), value_text(point.values.get(&axis.name)?)))
    });
    named.collect::<Vec<_>>().join(" ")
}

fn next(sweep: &Sweep, kept: &str, style: &Style) -> String {
    let id = short_id(&sweep.sweep.id);
    let next = match sweep.sweep.status {
        SweepStatus::Finished => format!("`laptime report {id}` shows it again"),
        _ => format!("`laptime sweep --resume {id}` continues it"),
    };
    lines(&format!("kept in {kept}"), style, Emphasis::Dim)
        + &lines(&format!("next: {next}"), style, Emphasis::Dim)
}

fn lines(text: &str, style: &Style, paint: Emphasis) -> String {
    wrapped(text, style.width, "", "  ")
        .iter()
        .map(|line| format!("{}\n", style.paint(&style.fitted(line), paint)))
        .collect()
}
