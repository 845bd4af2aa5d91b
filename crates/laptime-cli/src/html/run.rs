//! The page of one run.

use laptime_analyse::advise::{Advice, Item, Speedup};
use laptime_analyse::{Finding, LayerSummary, Report, StepTimes, Warning};
use laptime_core::{Status, Trouble, command_line, units};

use super::figure::figures;
use super::page::{Shell, page};
use super::section::{Section, described_list, sections};
use super::table::Table;
use super::tiles::tiles;
use crate::chart::{
    Figure, bytes_figure, fan_figure, flame_figures, laps_figure, ledger_figures, ranks_figure, run_charts,
    spread_figure, timeline_figure, tracks_figure, trend_figure,
};
use crate::markup::{isolated, name};
use crate::one_line::shown;
use crate::run_story::RunStory;
use crate::text::{facts, warning_text};

/// Fits that have charts of their own.
const MOST_FITS: usize = 4;
/// Layers in the table.
const MOST_LAYERS: usize = 100;

/// Everything that is known of a run, as one page.
pub(crate) fn run_page(story: &RunStory, shell: &Shell<'_>) -> String {
    let report = &story.report;
    let all = vec![
        Section::new("verdict", "Verdict", verdict(report)),
        Section::new("advice", "What to change", advice(&story.advice)),
        Section::new("laps", "Laps", figures(laps_figure(report))),
        Section::new("step", "One step", figures(story.timeline.as_ref().map(timeline_figure))),
        Section::new("steps", "Steps", steps(story)),
        Section::new("ledger", "Where the time went", ledgers(report)),
        Section::new("ranks", "Ranks", figures(ranks_figure(report))),
        Section::new("forecast", "Forecast", figures(fan_figure(report))),
        Section::new("learning", "Learning", learning(report)),
        Section::new("bytes", "Data", figures(bytes_figure(report))),
        Section::new("functions", "Functions", figures(flame_figures(&story.stacks))),
        Section::new("layers", "Layers", layers(report)),
        Section::new("facts", "Numbers", known_facts(report)),
        Section::new("environment", "Environment", environment(report)),
    ];
    page(&report.run.name, &format!("{}{}{}", title(report), tiles(report), sections(all)), shell)
}

fn title(report: &Report) -> String {
    let run = &report.run;
    let status = status_word(run.status);
    let command = name(&command_line::join(&run.command));
    let message = run.message.as_deref().filter(|_| run.status != Status::Finished);
    let message = message.map(|text| format!("<p class=\"bad\">{}</p>\n", name(text))).unwrap_or_default();
    format!(
        "<header class=\"title\"><h1>{}</h1> <p class=\"status {status}\">{status}</p>\
         \n<p class=\"command\"><code>{command}</code></p>\n\
         <p class=\"when\">{} · run {}</p>\n{message}</header>\n",
        isolated(&run.name),
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

fn advice(advice: &Advice) -> String {
    advice.items.iter().map(advised).collect()
}

fn advised(item: &Item) -> String {
    let Speedup { low, high, typical } = item.speedup;
    let expected = if typical { "usually" } else { "expected" };
    format!(
        "<article class=\"advice\"><h3>{}</h3><p class=\"gain\">{expected} {}–{} × as fast</p>\
         <p>{}</p><p>{}</p><p><code>{}</code></p></article>\n",
        name(&item.title),
        units::three_digits(low),
        units::three_digits(high),
        name(&item.because),
        name(&item.change),
        name(&item.prove_command)
    )
}

/// The distribution and the trend of the steps of each fit, as many as can be looked at.
fn steps(story: &RunStory) -> String {
    // The statistics are of all fits together.
    let statistics = story.report.steps.filter(|_| story.step_times.len() == 1);
    let of_fit = |times: &StepTimes| {
        let fit = story.report.fits.iter().find(|fit| fit.index == times.fit);
        let several = story.step_times.len() > 1;
        let heading = fit
            .filter(|_| several)
            .map(|fit| format!("<h3 class=\"fit\">fit {} {}</h3>\n", fit.index + 1, isolated(&fit.label)));
        let both = spread_figure(times, statistics).into_iter().chain(trend_figure(times));
        format!("{}{}", heading.unwrap_or_default(), figures(both))
    };
    story.step_times.iter().take(MOST_FITS).map(of_fit).collect()
}

fn ledgers(report: &Report) -> String {
    figures(ledger_figures(report).into_iter().chain(tracks_figure(report)))
}

fn learning(report: &Report) -> String {
    let charts = run_charts(report);
    figures(
        charts
            .iter()
            .enumerate()
            .map(|(at, named)| Figure::of_chart(&format!("learning-{}", at + 1), &named.chart)),
    )
}

fn layers(report: &Report) -> String {
    let Some(layers) = report.layers.as_deref().filter(|layers| !layers.is_empty()) else {
        return String::new();
    };
    let on_device = LayerSummary::are_on_device(layers);
    let heads =
        ["layer", "kind", "share", "forward", "backward", "calls a step", "parameters"].map(str::to_owned);
    let row = |layer: &LayerSummary| {
        let (forward, backward) = layer.times(on_device);
        let name = if layer.name.is_empty() { "the model itself" } else { &layer.name };
        vec![
            shown(name),
            shown(&layer.kind),
            units::percent_in_column(layer.share),
            units::duration(forward),
            units::or_unknown(backward, units::duration),
            units::number(layer.calls),
            units::count(layer.parameters),
        ]
    };
    let rows: Vec<Vec<String>> = layers.iter().take(MOST_LAYERS).map(row).collect();
    Table { caption: "Time of each layer in a step, longest first", heads: &heads, rows: &rows, words: false }
        .drawn()
}

fn known_facts(report: &Report) -> String {
    described_list(facts(report))
}

/// What it ran on and with.
fn environment(report: &Report) -> String {
    let run = &report.run;
    let cpus = match run.threads {
        Some(threads) => format!("{}, {} used", run.cpus, units::counted(u64::from(threads), "thread")),
        None => run.cpus.to_string(),
    };
    let frameworks = report.fits.iter().filter_map(|fit| {
        Some(format!(
            "{} {}",
            fit.framework.as_deref()?,
            fit.framework_version.as_deref().unwrap_or_default()
        ))
    });
    let mut frameworks: Vec<String> = frameworks.collect();
    frameworks.dedup();
    if frameworks.is_empty() {
        frameworks.clone_from(&run.frameworks);
    }
    let mut rows = vec![
        ("command", command_line::join(&run.command)),
        ("started", run.started.clone()),
        ("run", run.id.clone()),
        ("frameworks", frameworks.join(", ")),
        ("engine", run.engine.clone().unwrap_or_default()),
        ("device", run.device.clone().unwrap_or_default()),
        ("CPUs", if run.cpus > 0 { cpus } else { String::new() }),
    ];
    if run.ranks > 1 {
        rows.push(("ranks", run.ranks.to_string()));
    }
    for device in report.devices.iter().flatten() {
        let memory = device.memory_bytes.map(units::bytes);
        let driver = device.driver.as_deref().map(|driver| format!("driver {driver}"));
        let parts = [Some(device.device.clone()), device.name.clone(), memory, driver];
        rows.push(("accelerator", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    }
    for fit in report.fits.iter().take(MOST_FITS) {
        let choices: Vec<String> =
            fit.choices.iter().map(|(name, value)| format!("{name}={value}")).collect();
        rows.push(("settings", choices.join("  ")));
    }
    described_list(rows.into_iter().filter(|(_, value)| !value.trim().is_empty()))
}
