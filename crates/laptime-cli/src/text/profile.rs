//! Hot functions: per stage the functions that take it, what could not be sampled, and what sampling cost.

use laptime_analyse::{
    Estimate, ProfileFunction, ProfilePart, ProfileReport, ProfileStage, Report, SampledPart,
};
use laptime_core::ProfileTrouble;

use super::report::{ended, explained, marked};
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units;
use super::words::stage_name;
use super::wrap::shown;

/// How much of a profile is shown.
struct Detail {
    /// Stages below this share of their part's time are left out.
    least_share: f64,
    functions: usize,
    others: bool,
}

/// The hot functions as the summary of a run has them.
pub(crate) fn profile_summary(report: &Report, style: &Style) -> String {
    text(report, &Detail { least_share: 0.02, functions: 2, others: false }, style)
}

/// The hot functions as the report has them.
pub(crate) fn profile_text(report: &Report, style: &Style) -> String {
    text(report, &Detail { least_share: 0.005, functions: 5, others: true }, style)
}

fn text(report: &Report, detail: &Detail, style: &Style) -> String {
    let Some(profile) = &report.profile else { return String::new() };
    let mut lines = Vec::new();
    let parts: Vec<&ProfilePart> = profile.parts.iter().filter(|part| is_shown(part, detail)).collect();
    let table = if parts.is_empty() { String::new() } else { table(&parts, detail).drawn(style) };
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

fn table(parts: &[&ProfilePart], detail: &Detail) -> Table {
    let mut table = Table::new(vec![
        Column::new("stage", Align::Left).shrinks_to(11),
        Column::new("function", Align::Left).shrinks_to(16),
        Column::new("where", Align::Left).shrinks_to(14),
        Column::new("itself", Align::Right),
        Column::new("95 %", Align::Right).importance(1),
        Column::new("with calls", Align::Right).importance(3),
        Column::new("waits", Align::Right).importance(2),
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
        for stage in part.stages.iter().filter(|stage| stage.share.mean >= detail.least_share) {
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
        units::percent_in_column(function.own.mean).into(),
        interval(&function.own).into(),
        units::percent_in_column(function.total.mean).into(),
        units::percent_in_column(function.waiting).into(),
    ]
}

/// `88–95`, in percent.
fn interval(share: &Estimate) -> String {
    let whole = |share: f64| format!("{:.0}", share * 100.0);
    format!("{}–{}", whole(share.low), whole(share.high))
}

/// `shares of each stage's time from 2,412 samples, 97/s a thread; sampling took 0.31 % of a CPU`.
fn cost(profile: &ProfileReport) -> String {
    let samples = units::counted(profile.samples, "sample");
    let took = profile.cost.map_or_else(String::new, |cost| {
        let (cpu, share) = (units::duration(cost.cpu_s), units::percent(cost.share));
        format!("; sampling took {share} of a CPU ({cpu})")
    });
    let unread = match profile.unread {
        0 => String::new(),
        unread => format!(", {} unreadable", units::count(unread)),
    };
    format!(
        "shares of a stage's time from {samples} of the stacks, {:.0}/s a thread{unread}{took}",
        profile.rate_hz
    )
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
            format!("stacks were read less often, down to {hz:.0}/s a thread, to keep the cost small")
        }
        ProfileTrouble::Full => {
            "there were more functions than are kept apart; the rest count for their callers".to_owned()
        }
    }
}
