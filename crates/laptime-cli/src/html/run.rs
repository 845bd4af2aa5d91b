//! The page of one run.

use laptime_analyse::advise::{Item, Speedup};
use laptime_analyse::{Finding, Report, Warning};
use laptime_core::{Status, Trouble, command_line, units};

use super::page::{Shell, page};
use super::section::{Section, sections};
use super::table::Table;
use crate::markup::{escaped, isolated, name};
use crate::run_story::RunStory;
use crate::stage_words::stage_name;
use crate::text::{facts, laps_done, warning_text};

/// Everything that is known of a run, as one page.
pub(crate) fn run_page(story: &RunStory, shell: &Shell<'_>) -> String {
    let report = &story.report;
    let all = vec![
        Section::new("verdict", "Verdict", verdict(report)),
        Section::new("advice", "What to change", story.advice.items.iter().map(advised).collect()),
        Section::new("ledger", "Where the time went", ledger(report)),
        Section::new("facts", "Numbers", known_facts(report)),
    ];
    page(&report.run.name, &format!("{}{}", title(report), sections(all)), shell)
}

fn title(report: &Report) -> String {
    let run = &report.run;
    let status = status_word(run.status);
    let done = format!("{} · {}", laps_done(report), units::duration(report.wall_s));
    let command = name(&command_line::join(&run.command));
    let message = run.message.as_deref().filter(|_| run.status != Status::Finished);
    let message = message.map(|text| format!("<p class=\"bad\">{}</p>\n", name(text))).unwrap_or_default();
    format!(
        "<header class=\"title\"><h1>{}</h1> <p class=\"status {status}\">{status}</p>\
         <p class=\"done\">{}</p>\n<p class=\"command\"><code>{command}</code></p>\n\
         <p class=\"when\">{} · run {}</p>\n{message}</header>\n",
        isolated(&run.name),
        escaped(&done),
        name(&run.started),
        name(&run.id)
    )
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::Finished => "finished",
        Status::Failed => "failed",
        Status::Killed => "killed",
    }
}

/// What limits the run, what else was found, and what is doubtful.
fn verdict(report: &Report) -> String {
    let is_verdict = |at: usize, finding: &Finding| at == 0 || (finding.verdict && finding.fit.is_some());
    let findings = report.findings.iter().enumerate().map(|(at, finding)| {
        let class = if is_verdict(at, finding) { "verdict" } else { "also" };
        format!("<p class=\"{class}\">{}</p>\n", name(&finding.text))
    });
    let warnings = report.warnings.iter().filter(|warning| !is_in_verdict(warning));
    let warnings =
        warnings.map(|warning| format!("<p class=\"warning\">{}</p>\n", name(&warning_text(warning))));
    findings.chain(warnings).collect()
}

/// Why nothing was recorded is the verdict.
fn is_in_verdict(warning: &Warning) -> bool {
    use Trouble::{HooksNotAttached, NothingToRecord};
    matches!(warning, Warning::Trouble { trouble: HooksNotAttached { .. } | NothingToRecord { .. } })
}

fn advised(item: &Item) -> String {
    let Speedup { low, high, typical } = item.speedup;
    let expected = if typical { "usually" } else { "expected" };
    format!(
        "<article class=\"advice\"><h3>{}. {}</h3><p class=\"gain\">{expected} {}–{} × as fast</p>\
         <p>{}</p><p>{}</p><p><code>{}</code></p></article>\n",
        item.number,
        name(&item.title),
        units::three_digits(low),
        units::three_digits(high),
        name(&item.because),
        name(&item.change),
        name(&item.prove_command)
    )
}

fn ledger(report: &Report) -> String {
    let heads = ["stage", "time", "share", "spans", "mean", "p95"].map(str::to_owned);
    let rows: Vec<Vec<String>> = report
        .ledger
        .iter()
        .map(|row| {
            vec![
                stage_name(&row.stage),
                units::duration(row.seconds),
                units::percent_in_column(row.share),
                units::count(row.count),
                units::or_unknown(row.mean_s, units::duration),
                units::or_unknown(row.p95_s, units::duration),
            ]
        })
        .collect();
    let caption = "Exclusive time of every stage; it adds up to the wall time";
    Table { caption, heads: &heads, rows: &rows, words: false }.drawn()
}

fn known_facts(report: &Report) -> String {
    let rows = facts(report).into_iter().map(|(label, fact)| {
        let lines: Vec<String> = fact.lines().map(isolated).collect();
        format!("<dt>{label}</dt><dd>{}</dd>\n", lines.join("<br>"))
    });
    format!("<dl>{}</dl>\n", rows.collect::<String>())
}
