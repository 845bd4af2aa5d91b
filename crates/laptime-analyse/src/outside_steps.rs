//! Outside the steps: start-up, evaluation and checkpoints, each with its share of the run.

use laptime_core::Status;
use laptime_core::units::{duration, percent};

use crate::report::{Finding, LedgerRow, Report};
use crate::wording::how_often;

/// From this share of the run and this many seconds on it is worth a word: nobody waits for less.
const WORTH_A_WORD: (f64, f64) = (0.2, 0.5);

/// Start-up, evaluation and checkpoints that take much of the run, from the largest.
pub(crate) fn outside_steps(report: &Report) -> Vec<Finding> {
    let found = [start_up(report), repeated(report, "evaluate"), repeated(report, "checkpoint")];
    let mut found: Vec<(f64, Finding)> = found.into_iter().flatten().collect();
    let (share, seconds) = WORTH_A_WORD;
    found.retain(|(spent, _)| *spent >= share && spent * report.wall_s >= seconds);
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn row<'a>(report: &'a Report, stage: &str) -> Option<&'a LedgerRow> {
    report.ledger.iter().find(|row| row.stage == stage)
}

fn start_up(report: &Report) -> Option<(f64, Finding)> {
    // A run that has only just begun has started up for most of its life.
    if report.run.status == Status::Running {
        return None;
    }
    let (imports, rest) = (row(report, "imports"), row(report, "start_up"));
    let share = imports.map_or(0.0, |row| row.share) + rest.map_or(0.0, |row| row.share);
    let seconds = |row: Option<&LedgerRow>| row.map_or(0.0, |row| row.seconds);
    let parts = match imports {
        Some(imports) => format!("imports {}", duration(imports.seconds)),
        None => duration(seconds(rest)),
    };
    let text = format!("start-up took {} of the run ({parts})", percent(share));
    Some((share, Finding::new("start_up", text)))
}

fn repeated(report: &Report, stage: &'static str) -> Option<(f64, Finding)> {
    let row = row(report, stage)?;
    let what = if stage == "evaluate" { "evaluation" } else { "saving checkpoints" };
    let each = duration(row.seconds / row.count.max(1) as f64);
    let times = match row.count {
        0 | 1 => each,
        count => format!("{}, {each} each", how_often(count)),
    };
    let text = format!("{what} took {} of the run ({times})", percent(row.share));
    Some((row.share, Finding::new(stage, text)))
}
