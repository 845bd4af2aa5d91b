//! The whole report of a run, from its title to what to type next.

use laptime_analyse::{Finding, FitSummary, Report, TrackSummary, Warning};
use laptime_core::{Status, TrackKind, Trouble};

use super::deaths::death_lines;
use super::epochs::epochs_text;
use super::facts::facts_text;
use super::fits::shared_facts;
use super::layers::layers_text;
use super::ledger::{device_ledger_text, ledger_text};
use super::profile::profile_text;
use super::ranks::ranks_text;
use super::shown;
use super::style::{Emphasis, Style};
use super::time_left::left_text;
use super::units;
use super::warnings::warning_text;
use super::wrap::{shortened, wrapped};

/// The report as text, sections apart by an empty line. `kept` is where the run is kept on disk.
pub(crate) fn report_text(report: &Report, kept: Option<&str>, style: &Style) -> String {
    let sections = [
        title(report, style),
        epochs_text(report, style),
        ledger_text(&report.ledger, report.wall_s, style),
        device_ledger(report, style),
        ranks_text(report, style),
        profile_text(report, style),
        layers_text(report, style),
        facts_text(report, style),
        warnings(report, style),
        verdict(report, &IN_REPORT, style),
        ending(report, kept, style),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Who ran, how it stands and for how long; then on what.
fn title(report: &Report, style: &Style) -> String {
    let mut lines = painted_title(report, style);
    let run = &report.run;
    let facts = shared_facts(&report.fits, &shown(&run.name));
    if !facts.is_empty() {
        lines.extend(explained(&facts.join(" · "), style, Emphasis::Plain));
    }
    lines.extend(explained(&circumstances(report), style, Emphasis::Dim));
    lines.extend(why(report, style));
    ended(&lines)
}

/// Why it did not finish, and where its processes were.
pub(super) fn why(report: &Report, style: &Style) -> Vec<String> {
    let message = report.run.message.as_deref().filter(|_| report.run.status != Status::Finished);
    let because = message.map(|message| marked("because", &shown(message), Emphasis::Bad, style));
    let died = death_lines(report).into_iter().flat_map(|place| explained(&place, style, Emphasis::Bad));
    because.into_iter().flatten().chain(died).collect()
}

/// A status and how it is painted.
pub(crate) fn status_word(status: Status) -> (&'static str, Emphasis) {
    match status {
        Status::Running => ("running", Emphasis::Notice),
        Status::Finished => ("finished", Emphasis::Good),
        Status::Failed => ("failed", Emphasis::Bad),
        Status::Killed => ("killed", Emphasis::Bad),
    }
}

fn painted_title(report: &Report, style: &Style) -> Vec<String> {
    let (status, paint) = status_word(report.run.status);
    let name = shortened(&shown(&report.run.name), style.width * 2 / 5);
    let text = format!("{name} · {status} · {} · {}", laps_done(report), units::duration(report.wall_s));
    let may_end_early = report.fits.last().is_some_and(FitSummary::may_end_early);
    let left = report.time_left.map(|left| format!(" · {}", left_text(left, may_end_early)));
    let mut lines = wrapped(&format!("{text}{}", left.unwrap_or_default()), style.width, "", "  ");
    if let Some(first) = lines.first_mut() {
        // Painted after wrapping, because codes would count as letters.
        *first = style.fitted(first).replacen(status, &style.paint(status, paint), 1);
        if let Some(rest) = first.strip_prefix(&style.fitted(&name)) {
            *first = format!("{}{rest}", style.paint(&style.fitted(&name), Emphasis::Bold));
        }
    }
    lines
}

/// `3 epochs`, `1 of 3 epochs`, `6 epochs in 3 fits`; `200 steps` of a fit without epochs.
pub(crate) fn laps_done(report: &Report) -> String {
    let by_steps = |fit: &&FitSummary| fit.epochs == 0 && fit.planned_epochs.is_none() && fit.steps > 0;
    let (steps, epochs): (Vec<&FitSummary>, Vec<&FitSummary>) = report.fits.iter().partition(by_steps);
    let mut done = Vec::new();
    if !epochs.is_empty() || steps.is_empty() {
        let planned = epochs.iter().map(|fit| fit.planned_epochs).sum();
        done.push(done_of(epochs.iter().map(|fit| fit.epochs).sum(), planned, "epoch"));
    }
    if !steps.is_empty() {
        let planned = steps.iter().map(|fit| fit.planned_steps).sum();
        done.push(done_of(steps.iter().map(|fit| fit.steps).sum(), planned, "step"));
    }
    let done = done.join(" and ");
    if report.fits.len() < 2 {
        return done;
    }
    format!("{done} in {}", units::counted(report.fits.len() as u64, "fit"))
}

fn done_of(done: u64, planned: Option<u64>, unit: &str) -> String {
    match planned {
        Some(planned) if planned != done => {
            format!("{} of {}", units::count(done), units::counted(planned, unit))
        }
        _ if done == 0 => format!("no {unit}s"),
        _ => units::counted(done, unit),
    }
}

/// Engine, device, threads and start, as far as they are known.
fn circumstances(report: &Report) -> String {
    let run = &report.run;
    let mut facts: Vec<String> = Vec::new();
    match run.engine.as_deref().and_then(|engine| engine.strip_prefix("laptime cpu ")) {
        // The engine is on the CPU by its name.
        Some(instructions) => facts.extend(["cpu engine".to_owned(), shown(instructions)]),
        None => facts.extend([&run.engine, &run.device].into_iter().flatten().map(|fact| shown(fact))),
    }
    facts.extend(device_busy(report));
    let cpus = units::counted(u64::from(run.cpus), "CPU");
    facts.push(match run.threads {
        Some(threads) => format!("{} on {cpus}", units::counted(u64::from(threads), "thread")),
        None => cpus,
    });
    if run.ranks > 1 {
        facts.push(format!("{} ranks", units::count(u64::from(run.ranks))));
    }
    facts.push(started(&run.started));
    facts.retain(|fact| !fact.is_empty());
    facts.join(" · ")
}

/// `device busy 98 %`, and what the device is.
pub(super) fn device_busy(report: &Report) -> Vec<String> {
    let Some(device) = report.devices.iter().flatten().next() else { return Vec::new() };
    let busy = device.busy_share.map(|share| format!("device busy {}", units::percent(share)));
    busy.into_iter().chain(device.name.as_deref().map(shown)).collect()
}

/// An RFC 3339 instant to the minute: `2026-03-01 10:15 UTC`.
fn started(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16)) {
        (Some(day), Some(time)) => format!("{} {} UTC", shown(day), shown(time)),
        _ => shown(rfc3339),
    }
}

fn device_ledger(report: &Report, style: &Style) -> String {
    let devices = report.tracks.iter().filter(|track| track.kind == TrackKind::Device);
    let table = |track: &TrackSummary| {
        let known = report.devices.iter().flatten().find(|device| device.device == track.name);
        let name = known.and_then(|device| device.name.as_deref()).map(|name| format!(", {}", shown(name)));
        let head = format!("on {}{}", shown(&track.name), name.unwrap_or_default());
        let head = style.paint(&style.fitted(&head), Emphasis::Bold);
        format!("{head}\n{}", device_ledger_text(&track.ledger, track.wall_s, style))
    };
    devices.map(table).collect()
}

/// Before the verdict, which is to be read with them in mind.
pub(super) fn warnings(report: &Report, style: &Style) -> String {
    let mut lines = Vec::new();
    for warning in report.warnings.iter().filter(|warning| !is_in_verdict(warning)) {
        lines.extend(marked("warning", &warning_text(warning), Emphasis::Notice, style));
    }
    ended(&lines)
}

/// Why nothing was recorded is the verdict.
fn is_in_verdict(warning: &Warning) -> bool {
    use Trouble::{HooksNotAttached, NothingToRecord};
    matches!(warning, Warning::Trouble { trouble: HooksNotAttached { .. } | NothingToRecord { .. } })
}

/// How much is shown of the findings.
pub(super) struct Excerpt {
    /// Of each kind at most this many.
    pub(super) most: usize,
    /// Where the others are.
    pub(super) more: &'static str,
}

/// What a report shows of its findings; only a run of very many fits has more.
const IN_REPORT: Excerpt = Excerpt { most: 12, more: "with --json" };

/// The verdicts, and what else was found.
pub(super) fn verdict(report: &Report, excerpt: &Excerpt, style: &Style) -> String {
    let is_verdict = |at: usize, finding: &Finding| at == 0 || (finding.verdict && finding.fit.is_some());
    let numbered = report.findings.iter().enumerate();
    let (verdicts, others): (Vec<_>, Vec<_>) = numbered.partition(|(at, finding)| is_verdict(*at, finding));
    let mut lines = Vec::new();
    for (mark, findings) in [("verdict", &verdicts), ("also", &others)] {
        for (_, finding) in findings.iter().take(excerpt.most) {
            lines.extend(marked(mark, &shown(&finding.text), Emphasis::Bold, style));
        }
    }
    let more: usize = [verdicts, others].iter().map(|kind| kind.len().saturating_sub(excerpt.most)).sum();
    if more > 0 {
        lines.extend(explained(&format!("{more} more {}", excerpt.more), style, Emphasis::Dim));
    }
    ended(&lines)
}

fn ending(report: &Report, kept: Option<&str>, style: &Style) -> String {
    let Some(place) = kept else {
        return ended(&explained(&not_kept(&report.warnings), style, Emphasis::Bad));
    };
    let mut lines = explained(&format!("run kept in {}", shown(place)), style, Emphasis::Plain);
    let next = "next: `laptime report` shows this again, `laptime report --json` has all";
    lines.extend(explained(next, style, Emphasis::Dim));
    ended(&lines)
}

pub(super) fn not_kept(warnings: &[Warning]) -> String {
    let because = warnings.iter().find_map(|warning| match warning {
        Warning::Trouble { trouble: Trouble::LogNotWritten { because, .. } } => Some(shown(because)),
        _ => None,
    });
    because.map_or_else(|| "run not kept".to_owned(), |because| format!("run not kept: {because}"))
}

/// A sentence after a painted mark, hanging under itself.
pub(super) fn marked(mark: &str, text: &str, paint: Emphasis, style: &Style) -> Vec<String> {
    let mut lines = wrapped(text, style.width, &format!("{mark}: "), "  ");
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(mark, &style.paint(mark, paint), 1);
    }
    lines.iter().map(|line| style.fitted(line)).collect()
}

pub(super) fn explained(text: &str, style: &Style, paint: Emphasis) -> Vec<String> {
    wrapped(text, style.width, "", "  ").iter().map(|line| style.paint(&style.fitted(line), paint)).collect()
}

pub(super) fn ended(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
