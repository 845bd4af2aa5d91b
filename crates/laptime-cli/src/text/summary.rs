//! The summary after `laptime run`: the laps, the verdict and where the run is; the report has the rest.

use laptime_analyse::Report;
use laptime_core::{Status, display_name};

use super::epochs::epochs_text;
use super::facts::used_text;
use super::layers::layers_text;
use super::ledger::ledger_text;
use super::profile::profile_summary;
use super::ranks::ranks_text;
use super::report::{
    Excerpt, device_busy, ended, explained, laps_done, not_kept, status_word, verdict, warnings, why,
};
use super::style::{Emphasis, Style};
use super::units;
use super::workers::loader_line;

use super::shown;
use super::wrap::{shortened, wrapped};

/// What a summary shows of the findings.
const IN_SUMMARY: Excerpt = Excerpt { most: 3, more: "in `laptime report`" };

/// The summary as text, its tables apart by an empty line. `kept` is where the run is kept on disk.
pub(crate) fn summary_text(report: &Report, kept: Option<&str>, style: &Style) -> String {
    let table =
        if report.epochs.is_empty() { without_epochs(report, style) } else { epochs_text(report, style) };
    let conclusion = [
        warnings(report, style),
        verdict(report, &IN_SUMMARY, style),
        law_line(report).map(|line| ended(&explained(&line, style, Emphasis::Plain))).unwrap_or_default(),
        loader_line(report).map(|line| ended(&explained(&line, style, Emphasis::Plain))).unwrap_or_default(),
        ended(&ending(report, kept, style)),
    ];
    let profile = profile_summary(report, style);
    let layers = layers_text(report, style);
    let sections =
        [title(report, style), table, ranks_text(report, style), profile, layers, conclusion.concat()];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

/// `laptime  train.py  3 epochs  4m12s   waiting for data 61 %`, and why it did not finish.
fn title(report: &Report, style: &Style) -> String {
    let (status, paint) = status_word(report.run.status);
    let name = shortened(&shown(&report.run.name), style.width * 2 / 5);
    let mut words = vec!["laptime".to_owned(), name];
    words.extend((report.run.status != Status::Finished).then(|| status.to_owned()));
    words.extend((!report.fits.is_empty()).then(|| laps_done(report)));
    words.push(units::duration(report.wall_s));
    let busy: String = device_busy(report).iter().map(|fact| format!("   {fact}")).collect();
    let most = if busy.is_empty() { late(report).unwrap_or_default() } else { busy };
    let text = format!("{}{most}", words.join("  "));
    let mut lines: Vec<String> =
        wrapped(&text, style.width, "", "  ").iter().map(|line| style.fitted(line)).collect();
    if let Some(first) = lines.first_mut()
        && let Some((before, after)) = first.split_once(&format!("  {status}  "))
    {
        // Painted after wrapping, because codes would count as letters.
        *first = format!("{before}  {}  {after}", style.paint(status, paint));
    }
    lines.extend(why(report, style));
    ended(&lines)
}

/// The share of a step until its batch is ready: waited for, or prepared in the loop where that takes longer.
fn late(report: &Report) -> Option<String> {
    let (waiting, preparing) = (report.step_share("data_wait")?, report.step_share("prepare")?);
    let (what, share) = match preparing > waiting {
        true => ("preparing batches", preparing),
        false => ("waiting for data", waiting),
    };
    Some(format!("   {what} {}", units::percent(share)))
}

/// What the fits of a script that trains on several sizes have in common.
fn law_line(report: &Report) -> Option<String> {
    report.law.as_ref().map(|law| format!("law: {}", display_name(&law.text)))
}

/// The stages of a command that recorded any, else what it used.
fn without_epochs(report: &Report, style: &Style) -> String {
    match report.ledger.iter().any(|row| row.count > 0) {
        true => ledger_text(&report.ledger, report.wall_s, style),
        false => used_text(report, style),
    }
}

fn ending(report: &Report, kept: Option<&str>, style: &Style) -> Vec<String> {
    match kept {
        Some(place) => {
            explained(&format!("run kept in {}   laptime report", shown(place)), style, Emphasis::Plain)
        }
        None => explained(&not_kept(&report.warnings), style, Emphasis::Bad),
    }
}
