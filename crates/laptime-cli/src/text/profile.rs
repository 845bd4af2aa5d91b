//! Hot functions: per stage the functions that take it, what could not be sampled, and what sampling cost.

use laptime_analyse::{
    Estimate, ProfileFunction, ProfilePart, ProfileReport, ProfileStage, Report, SampledPart,
};
use laptime_core::ProfileTrouble;

use super::report::{ended, explained, marked};
use super::shown;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units;
use super::words::stage_name;

/// From this width on a table has room for all its columns.
const ROOMY: usize = 70;

/// How much of a profile is shown.
struct Detail {
    /// Stages below this share of their part's time are left out.
    least_share: f64,
    stages: usize,
    functions: usize,
    others: bool,
}

/// The hot functions as the summary of a run has them.
pub(crate) fn profile_summary(report: &Report, style: &Style) -> String {
    text(report, &Detail { least_share: 0.02, stages: 8, functions: 2, others: false }, style)
}

/// The hot functions as the report has them.
pub(crate) fn profile_text(report: &Report, style: &Style) -> String {
    text(report, &Detail { least_share: 0.005, stages: usize::MAX, functions: 5, others: true }, style)
}

fn text(report: &Report, detail: &Detail, style: &Style) -> String {
    let Some(profile) = &report.profile else { return String::new() };
    let mut lines = Vec::new();
    let parts: Vec<&ProfilePart> = profile.parts.iter().filter(|part| is_shown(part, detail)).collect();
    let table = if parts.is_empty() { String::new() } else { table(&parts, detail, style).drawn(style) };
    lines.extend(explained(&cost(profile), style, Emphasis::Dim));
    for trouble in &profile.troubles {
        lines.extend(marked("warning", &trouble_text(trouble), Emphasis::Notice, style));
    }
    if profile.samples == 0 && profile.troubles.is_empty() {
        lines.extend(marked("warning", "it ended before a stack could be read", Emphasis::Notice, style));
    }
    table + &ended(&lines)
}

/// Other ranks do the same work as the one that is reported on.
fn is_shown(part: &ProfilePart, detail: &Detail) -> bool {
    part.rank == 0 && (detail.others || part.part != SampledPart::Others)
}

fn table(parts: &[&ProfilePart], detail: &Detail, style: &Style) -> Table {
    // Names need room to be known again; on a narrow terminal places go before they do.
    let (name, place) = if style.width < ROOMY { (10, 8) } else { (20, 14) };
    let mut table = Table::new(vec![
        Column::new("stage", Align::Left).shrinks_to(11),
        Column::new("function", Align::Left).shrinks_to(name),
        Column::new("where", Align::Left).shrinks_to(place).importance(3),
        Column::new("itself", Align::Right),
        Column::new("in all", Align::Right).importance(2),
        Column::new("waits", Align::Right).importance(1),
    ]);
    for part in parts {
        let named = match part.part {
            SampledPart::Training => None,
            SampledPart::LoaderWorkers => Some("in the loader workers:"),
            SampledPart::Others => Some("in other threads and processes:"),
        };
        if let Some(name) = named {
            table.line(name, Emphasis::Dim);
        }
        // What a worker does while it has nothing to do matters little.
        let idle = |stage: &&ProfileStage| stage.stage.as_deref() == Some("idle") && !detail.others;
        let large = |stage: &&ProfileStage| stage.share.mean >= detail.least_share;
        for stage in part.stages.iter().filter(|stage| large(stage) && !idle(stage)).take(detail.stages) {
            of_stage(stage, detail, &mut table);
        }
    }
    table
}

fn of_stage(stage: &ProfileStage, detail: &Detail, table: &mut Table) {
    let name = stage.stage.as_deref().map_or_else(|| "no stage".to_owned(), stage_name);
    // What takes nothing itself is only on the way to what does, unless nothing else is known.
    let listed = stage.functions.iter().filter(|function| function.samples > 0).take(detail.functions);
    for (at, function) in listed.enumerate() {
        let name = if at == 0 { Cell::painted(name.clone(), Emphasis::Bold) } else { "".into() };
        table.row(of_function(name, function));
    }
}

fn of_function(stage: Cell, function: &ProfileFunction) -> Vec<Cell> {
    let file = function.file.rsplit('/').next().unwrap_or(&function.file);
    vec![
        stage,
        shown(&function.name).into(),
        shown(&format!("{file}:{}", function.line)).into(),
        with_interval(&function.own).into(),
        whole_percent(function.total.mean).into(),
        whole_percent(function.waiting).into(),
    ]
}

/// `89 ±6 %`: the share, and half of its 95 % interval.
fn with_interval(share: &Estimate) -> String {
    let half = ((share.high - share.low) * 50.0).ceil();
    format!("{} ±{half:.0} %", units::fixed(share.mean * 100.0, 0))
}

fn whole_percent(share: f64) -> String {
    format!("{} %", units::fixed(share * 100.0, 0))
}

/// What the numbers mean, and what sampling cost.
fn cost(profile: &ProfileReport) -> String {
    let took = profile.cost.map_or_else(String::new, |cost| {
        let (cpu, share) = (units::duration(cost.cpu_s), units::percent(cost.share));
        format!("sampling cost {share} of one CPU ({cpu} in {})", units::duration(cost.wall_s))
    });
    if profile.samples == 0 {
        return took;
    }
    let samples = units::counted(profile.samples, "sample");
    let unread = match profile.unread {
        0 => String::new(),
        unread => format!(", {} unreadable", units::count(unread)),
    };
    let shares = format!("shares of a stage's time, ± at 95 %, from {samples}{unread}");
    [shares, took].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What could not be sampled, why, and what to do.
fn trouble_text(trouble: &ProfileTrouble) -> String {
    match trouble {
        ProfileTrouble::NoPython => {
            "cannot tell hot functions, because no Python process was found; --profile reads Python 3.11 to 3.13"
                .to_owned()
        }
        ProfileTrouble::Forbidden { pid, because } => format!(
            "cannot tell the hot functions of process {pid}, because its memory may not be read: {}; in a \
             container, add the capability SYS_PTRACE",
            shown(because)
        ),
        ProfileTrouble::UnknownPython { version } => format!(
            "cannot tell hot functions, because the memory of Python {} is not known; 3.11 to 3.13 are",
            shown(version)
        ),
        ProfileTrouble::Slowed { rate_mhz } => {
            let hz = *rate_mhz as f64 / 1000.0;
            format!("the sampling rate was lowered to {hz:.0}/s a thread to keep the cost small")
        }
        ProfileTrouble::Full => {
            "too many functions to track; the rest count towards their callers".to_owned()
        }
    }
}
