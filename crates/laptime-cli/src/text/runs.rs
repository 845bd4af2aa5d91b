//! The list of runs, newest first.

use laptime_core::Status;

use super::shown;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units;
use super::words::{metric_column, metric_value};
use super::wrap::wrapped;

/// One run of the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunRow {
    /// Its id: the name of its directory.
    pub(crate) id: String,
    /// What the user calls it.
    pub(crate) name: String,
    /// How it stands.
    pub(crate) status: Status,
    /// When it started, RFC 3339 in UTC.
    pub(crate) started: String,
    /// How long it took, or took so far; absent when its log cannot be read.
    pub(crate) wall_s: Option<f64>,
    /// Epochs that ended.
    pub(crate) epochs: Option<u64>,
    /// Steps that ended, shown when there are no epochs.
    pub(crate) steps: Option<u64>,
    /// The newest loss, shown when there is no metric.
    pub(crate) loss: Option<f64>,
    /// The metric that says most, by name.
    pub(crate) metric: Option<(String, Option<f64>)>,
    /// Bytes it takes on disk.
    pub(crate) disk_bytes: u64,
}

/// The runs kept in `dir`, newest first, and what can be typed next.
pub(crate) fn runs_text(runs: &[RunRow], dir: &str, style: &Style) -> String {
    let dir = shown(dir);
    if runs.is_empty() {
        let hint = "hint: `laptime demo` trains a small model and keeps the first one";
        return lines(&format!("no runs yet in {dir}"), style, Emphasis::Plain)
            + &lines(hint, style, Emphasis::Dim);
    }
    let mut newest: Vec<&RunRow> = runs.iter().collect();
    newest.sort_by(|a, b| b.started.cmp(&a.started).then_with(|| b.id.cmp(&a.id)));
    let one_year = newest.iter().all(|run| run.started.get(..4) == newest[0].started.get(..4));
    let mut table = Table::new(columns());
    for run in newest {
        table.row(cells(run, one_year));
    }
    let bytes = runs.iter().map(|run| run.disk_bytes).sum();
    let total = format!("{} in {dir}, {}", units::counted(runs.len() as u64, "run"), units::bytes(bytes));
    let hint = "next: `laptime report RUN` shows one, by its name or what stands under run";
    format!(
        "{}\n{}{}",
        table.drawn(style),
        lines(&total, style, Emphasis::Plain),
        lines(hint, style, Emphasis::Dim)
    )
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("run", Align::Left),
        Column::new("name", Align::Left).shrinks_to(8),
        Column::new("status", Align::Left),
        Column::new("started UTC", Align::Left).importance(5),
        Column::new("wall", Align::Unit).importance(4),
        Column::new("epochs", Align::Right).importance(2),
        Column::new("result", Align::Left).importance(3),
        Column::new("disk", Align::Unit).importance(1),
    ]
}

fn cells(run: &RunRow, one_year: bool) -> Vec<Cell> {
    vec![
        short_id(&run.id).into(),
        Cell::painted(shown(&run.name), Emphasis::Bold),
        status_cell(run.status),
        started(&run.started, one_year).into(),
        units::or_unknown(run.wall_s, units::duration).into(),
        laps_text(run).into(),
        result_text(run).into(),
        units::bytes(run.disk_bytes).into(),
    ]
}

/// `3`, or `200 steps` of a training without epochs.
pub(crate) fn laps_text(run: &RunRow) -> String {
    match (run.epochs, run.steps) {
        (Some(0), Some(steps)) if steps > 0 => units::counted(steps, "step"),
        (epochs, _) => units::or_unknown(epochs, units::count),
    }
}

/// The random part of an id, which is enough to name a run; the rest is when it started.
fn short_id(id: &str) -> String {
    shown(id.rsplit('-').next().unwrap_or(id))
}

/// To the minute; the year only where the list spans several.
fn started(rfc3339: &str, one_year: bool) -> String {
    let day = if one_year { rfc3339.get(5..10) } else { rfc3339.get(..10) };
    match (day, rfc3339.get(11..16)) {
        (Some(day), Some(time)) => format!("{} {}", shown(day), shown(time)),
        _ => shown(rfc3339),
    }
}

fn status_cell(status: Status) -> Cell {
    match status {
        Status::Running => Cell::painted("running", Emphasis::Notice),
        Status::Finished => Cell::painted("finished", Emphasis::Good),
        Status::Failed => Cell::painted("failed", Emphasis::Bad),
        Status::Killed => Cell::painted("killed", Emphasis::Bad),
    }
}

/// The metric that says most, else the loss.
pub(crate) fn result_text(run: &RunRow) -> String {
    match (&run.metric, run.loss) {
        (Some((name, value)), _) => format!("{} {}", metric_column(name), metric_value(name, *value)),
        (None, Some(loss)) => format!("loss {}", units::number(loss)),
        (None, None) => units::UNKNOWN.to_owned(),
    }
}

fn lines(text: &str, style: &Style, paint: Emphasis) -> String {
    wrapped(text, style.width, "", "  ")
        .iter()
        .map(|line| format!("{}\n", style.paint(&style.fitted(line), paint)))
        .collect()
}
