//! The laps: one row an epoch or a window of steps, its wall time split into the stages that matter.

use std::collections::BTreeMap;

use laptime_analyse::{EpochSummary, FitSummary, LapKind, Report};

use super::epoch_unit::EpochUnit;
use super::fits::{epoch_times, own_facts};
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units::{self, UNKNOWN};
use super::words::{metric_column, metric_value, stage_column};
use super::wrap::{shortened, wrapped};

/// A stage below this share of every epoch together goes into `rest` from the start.
const MATTERS: f64 = 0.005;
/// The same of a row of a device, where little things are what is asked for.
const MATTERS_ON_DEVICE: f64 = 0.0005;

/// Letters that the name of a stage has at most, and where there is no room for all of them.
const LONGEST_NAME: usize = 24;
const CUT_NAME: usize = 8;

/// Rows of a device in which it had nothing to do; their columns stand together.
const IDLE: [&str; 3] = ["idle_data", "idle_host", "idle_sync"];

/// What a column of the table shows.
#[derive(Clone, Debug, PartialEq)]
enum Shown {
    Lap,
    Wall,
    Stage(String),
    Rest,
    Evaluate,
    Steps,
    SampleRate,
    TokenRate,
    Loss,
    Metric(String),
}

/// The table of epochs with what explains it; empty when no epoch began.
pub(crate) fn epochs_text(report: &Report, style: &Style) -> String {
    if report.epochs.is_empty() {
        return String::new();
    }
    let unit = EpochUnit::of(&report.epochs);
    let mut shown = columns_of(report);
    let mut hidden = Vec::new();
    // Names are cut only where there is no room for them, and then the note has them in full.
    let room = if table(report, &shown, &unit, LONGEST_NAME).width() > style.width {
        CUT_NAME
    } else {
        LONGEST_NAME
    };
    while table(report, &shown, &unit, room).width() > style.width {
        let Some(least) = least_important(report, &shown) else { break };
        hidden.push(shown.remove(least));
    }
    let mut text = table(report, &shown, &unit, room).drawn(style);
    for note in notes(report, &shown, &hidden, &unit, room) {
        for line in wrapped(&note, style.width, "", "  ") {
            text.push_str(&format!("{}\n", style.paint(&style.fitted(&line), Emphasis::Dim)));
        }
    }
    text
}

fn columns_of(report: &Report) -> Vec<Shown> {
    let mut shown = vec![Shown::Lap, Shown::Wall];
    let matters = if on_device(report) { MATTERS_ON_DEVICE } else { MATTERS };
    let stages = stage_order(report).into_iter().filter(|stage| stage_share(report, stage) >= matters);
    shown.extend(stages.map(Shown::Stage));
    shown.push(Shown::Rest);
    if report.epochs.iter().any(|epoch| epoch.evaluate_s > 0.0) {
        shown.push(Shown::Evaluate);
    }
    if steps_of_every_epoch(report).is_none() && !windows_only(report) {
        shown.push(Shown::Steps);
    }
    shown.push(rate_of(report));
    if report.epochs.iter().any(|epoch| epoch.loss.is_some()) {
        shown.push(Shown::Loss);
    }
    shown.extend(metric_of(report).map(Shown::Metric));
    shown
}

/// Whether the first column says which steps a row has.
fn windows_only(report: &Report) -> bool {
    report.epochs.iter().all(|lap| lap.kind == LapKind::Window)
}

/// Samples a second, or tokens where only those are known.
fn rate_of(report: &Report) -> Shown {
    let samples = report.epochs.iter().any(|lap| lap.samples_per_s.is_some());
    let tokens = report.epochs.iter().any(|lap| lap.tokens_per_s.is_some());
    if tokens && !samples { Shown::TokenRate } else { Shown::SampleRate }
}

/// Every stage seen within an epoch, in the order of the ledger; time nobody claims is part of `rest`.
fn stage_order(report: &Report) -> Vec<String> {
    let ledger: Vec<String> = match (on_device(report), &report.device_ledger) {
        (true, Some(rows)) => rows.iter().map(|row| row.row.clone()).collect(),
        _ => report.ledger.iter().map(|row| row.stage.clone()).collect(),
    };
    let mut order: Vec<String> =
        ledger.into_iter().filter(|stage| stage_share(report, stage) > 0.0).collect();
    for stage in report.epochs.iter().flat_map(|epoch| parts(epoch).keys()) {
        if !order.contains(stage) {
            order.push(stage.clone());
        }
    }
    order.retain(|stage| stage != unclaimed(report));
    // Idling comes last.
    order.sort_by_key(|stage| IDLE.iter().position(|idle| idle == stage).map_or(0, |at| at + 1));
    order.dedup();
    order
}

/// Whether the stages are those of a device; the host's only launch them.
fn on_device(report: &Report) -> bool {
    report.epochs.iter().any(|epoch| epoch.device_stages.is_some())
}

/// The parts of an epoch's wall time: of the device, where it is known.
fn parts(epoch: &EpochSummary) -> &BTreeMap<String, f64> {
    epoch.device_stages.as_ref().unwrap_or(&epoch.stages)
}

/// What nobody claims.
fn unclaimed(report: &Report) -> &'static str {
    if on_device(report) { "unexplained" } else { "unaccounted" }
}

fn stage_share(report: &Report, stage: &str) -> f64 {
    let wall: f64 = report.epochs.iter().map(|epoch| epoch.wall_s).sum();
    let spent: f64 = report.epochs.iter().filter_map(|epoch| parts(epoch).get(stage)).sum();
    if wall > 0.0 { spent / wall } else { 0.0 }
}

/// The metric that says most, unless it is the loss, which has its own column.
fn metric_of(report: &Report) -> Option<String> {
    let best = report.fits.iter().rev().find_map(|fit| fit.metric.as_ref())?;
    let measured = report.epochs.iter().any(|epoch| epoch.metrics.contains_key(&best.name));
    (best.name != "loss" && measured).then(|| best.name.clone())
}

/// Steps of an epoch, when every complete epoch has as many and none is cut short.
fn steps_of_every_epoch(report: &Report) -> Option<u64> {
    let first = report.epochs.first()?.steps;
    let is_like_it = |lap: &EpochSummary| lap.steps == first.saturating_mul(lap.count) && lap.complete;
    report.epochs.iter().all(is_like_it).then_some(first)
}

/// Which column to give up next. Stages are missed by their share of the time; the numbers are set so that a
/// stage of a tenth is worth a column of its own, and one of a fiftieth is not.
fn least_important(report: &Report, shown: &[Shown]) -> Option<usize> {
    let importance = |column: &Shown| match column {
        Shown::Lap | Shown::Wall | Shown::Rest => None,
        Shown::Stage(stage) => Some(stage_share(report, stage)),
        Shown::Steps => Some(0.04),
        Shown::Evaluate => Some(0.06),
        Shown::SampleRate | Shown::TokenRate => Some(0.12),
        Shown::Metric(_) => Some(0.15),
        Shown::Loss => Some(0.3),
    };
    let ranked = shown.iter().enumerate().filter_map(|(at, column)| Some((at, importance(column)?)));
    ranked.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

fn table(report: &Report, shown: &[Shown], unit: &EpochUnit, room: usize) -> Table {
    let heads = shown.iter().enumerate().map(|(at, column)| match column {
        Shown::Evaluate => Column::new(evaluate_head(shown), Align::Right),
        _ => head(report, shown, at, room),
    });
    let mut table = Table::new(heads.collect());
    for fit in &report.fits {
        let epochs: Vec<&EpochSummary> =
            report.epochs.iter().filter(|epoch| epoch.fit == fit.index).collect();
        if report.fits.len() > 1 {
            table.line(fit_line(fit, &report.fits), Emphasis::Bold);
        }
        add_rows(&mut table, &epochs, report.fits.len(), shown, unit);
    }
    let known = |epoch: &&EpochSummary| report.fits.iter().any(|fit| fit.index == epoch.fit);
    let strays: Vec<&EpochSummary> = report.epochs.iter().filter(|epoch| !known(epoch)).collect();
    add_rows(&mut table, &strays, 1, shown, unit);
    table
}

/// The head of the evaluation that follows a pass; another one where there is also one within it.
fn evaluate_head(shown: &[Shown]) -> &'static str {
    let within = shown.contains(&Shown::Stage("evaluate".to_owned()));
    if within { "eval after" } else { "eval" }
}

/// Whether the first of the columns in which a device idles stands here.
fn is_first_idle(shown: &[Shown], at: usize) -> bool {
    let is_idle = |column: &Shown| matches!(column, Shown::Stage(stage) if IDLE.contains(&stage.as_str()));
    shown.iter().position(is_idle) == Some(at)
}

fn head(report: &Report, shown: &[Shown], at: usize, room: usize) -> Column {
    match &shown[at] {
        Shown::Lap => Column::new(lap_title(report), Align::Right),
        Shown::Wall => Column::new("wall", Align::Right),
        // Stages stand close together after an equals sign: they are the parts of the wall time.
        Shown::Stage(stage) => {
            let title = shortened(&stage_column(stage), room);
            let title = match is_first_idle(shown, at) {
                true => format!("| idle: {title}"),
                false => title,
            };
            let device = if on_device(report) { "device " } else { "" };
            Column::new(if at == 2 { format!("= {device}{title}") } else { title }, Align::Right).gap(1)
        }
        Shown::Rest => Column::new("rest", Align::Right).gap(1),
        Shown::Evaluate => Column::new("eval", Align::Right),
        Shown::Steps => Column::new("steps", Align::Right),
        Shown::SampleRate => Column::new("samples/s", Align::Right),
        Shown::TokenRate => Column::new("tokens/s", Align::Right),
        Shown::Loss => Column::new("loss", Align::Right),
        Shown::Metric(name) => Column::new(shortened(&metric_column(name), 10), Align::Right),
    }
}

/// What the rows are called: runs may have fits with epochs and fits without.
fn lap_title(report: &Report) -> &'static str {
    match (windows_only(report), report.epochs.iter().any(|lap| lap.kind == LapKind::Window)) {
        (true, _) => "steps",
        (false, true) => "lap",
        (false, false) => "epoch",
    }
}

/// Which epoch a row is, from 1, or which steps it has: `129–256`.
fn lap_name(lap: &EpochSummary) -> String {
    let mark = if lap.complete { "" } else { "*" };
    let (first, last) = (units::count(lap.first_step + 1), units::count(lap.last_step()));
    match lap.kind {
        LapKind::Epoch => format!("{}{mark}", lap.index + 1),
        LapKind::Folded => format!("{}–{}{mark}", lap.index + 1, u64::from(lap.index) + lap.count),
        LapKind::Window if lap.steps < 2 => format!("{first}{mark}"),
        LapKind::Window => format!("{first}–{last}{mark}"),
    }
}

/// A fit among others: what sets it apart and how long its epochs took.
fn fit_line(fit: &FitSummary, fits: &[FitSummary]) -> String {
    let mut facts = vec![format!("fit {}", fit.index + 1)];
    facts.extend(own_facts(fit, fits));
    facts.extend(epoch_times(fit).map(|times| times.replace("   ", " · ")));
    facts.join(" · ")
}

/// Long fits show how they began and how they ended; what lies between is counted.
fn add_rows(table: &mut Table, epochs: &[&EpochSummary], fits: usize, shown: &[Shown], unit: &EpochUnit) {
    let (most, ends) = if fits > 1 { (5, 2) } else { (12, 3) };
    let decimals = unit.decimals(epochs);
    let rows = |table: &mut Table, some: &[&EpochSummary]| {
        for epoch in some {
            table.row(shown.iter().map(|column| cell(epoch, column, shown, unit, decimals)).collect());
        }
    };
    if epochs.len() <= most {
        return rows(table, epochs);
    }
    rows(table, &epochs[..ends]);
    let between = &epochs[ends..epochs.len() - ends];
    let count = units::count(between.iter().map(|lap| lap.count).sum());
    let laps = if epochs.iter().all(|lap| lap.kind != LapKind::Window) { "epochs" } else { "laps" };
    let folded = between.iter().any(|lap| lap.kind == LapKind::Folded);
    let all = if folded { "--json --epochs all" } else { "--json" };
    table.line(format!("    … {count} {laps} between these ({all} has all)"), Emphasis::Dim);
    rows(table, &epochs[epochs.len() - ends..]);
}

fn cell(epoch: &EpochSummary, column: &Shown, shown: &[Shown], unit: &EpochUnit, decimals: usize) -> Cell {
    let time = |seconds: f64| unit.shown(seconds, decimals);
    match column {
        Shown::Lap => lap_name(epoch).into(),
        Shown::Wall => Cell::painted(time(epoch.wall_s), Emphasis::Bold),
        Shown::Stage(stage) => {
            parts(epoch).get(stage).map_or_else(|| UNKNOWN.to_owned(), |s| time(*s)).into()
        }
        Shown::Rest => Cell::painted(time(rest_of(epoch, shown)), Emphasis::Dim),
        Shown::Evaluate if epoch.evaluate_s <= 0.0 => UNKNOWN.into(),
        Shown::Evaluate => time(epoch.evaluate_s).into(),
        Shown::Steps => units::count(epoch.steps).into(),
        Shown::SampleRate => units::or_unknown(epoch.samples_per_s, units::per_second).into(),
        Shown::TokenRate => units::or_unknown(epoch.tokens_per_s, units::per_second).into(),
        Shown::Loss => units::or_unknown(epoch.loss, units::number).into(),
        Shown::Metric(name) => metric_value(name, epoch.metrics.get(name).copied().flatten()).into(),
    }
}

/// What the stages without a column took: the row adds up whatever the width.
fn rest_of(epoch: &EpochSummary, shown: &[Shown]) -> f64 {
    let columns = shown.iter().filter_map(|column| match column {
        Shown::Stage(stage) => parts(epoch).get(stage),
        _ => None,
    });
    let rest = epoch.wall_s - columns.sum::<f64>();
    // Rounding may leave a hair below nothing; what is not a number stays so and shows as unknown.
    if rest < 0.0 { 0.0 } else { rest }
}

fn notes(report: &Report, shown: &[Shown], hidden: &[Shown], unit: &EpochUnit, room: usize) -> Vec<String> {
    let steps = steps_of_every_epoch(report).filter(|_| !windows_only(report));
    let steps = steps.map(|steps| format!("; {} an epoch", units::counted(steps, "step")));
    let mut first = format!("times in {}{}", unit.name, steps.unwrap_or_default());
    let folded: Vec<String> = stage_order(report)
        .into_iter()
        .filter(|stage| !shown.contains(&Shown::Stage(stage.clone())))
        .map(|stage| stage_column(&stage))
        .chain([unclaimed(report).to_owned()])
        .collect();
    first.push_str(&format!("; rest: {}", folded.join(", ")));
    for name in shown.iter().filter_map(stage_head).filter(|name| name.chars().count() > room) {
        first.push_str(&format!("; {}: {name}", shortened(&name, room)));
    }
    if report.epochs.iter().any(|epoch| !epoch.complete) {
        first.push_str("; *: not complete");
    }
    let mut lost: Vec<String> = hidden.iter().filter_map(lost_title).collect();
    lost.reverse();
    let second = format!("not shown at this width: {} (--json has all)", lost.join(", "));
    if lost.is_empty() { vec![first] } else { vec![first, second] }
}

fn stage_head(column: &Shown) -> Option<String> {
    if let Shown::Stage(stage) = column { Some(stage_column(stage)) } else { None }
}

/// The head of a column that is gone; a stage is not, it is part of `rest`.
fn lost_title(column: &Shown) -> Option<String> {
    match column {
        Shown::Evaluate => Some("eval".to_owned()),
        Shown::Steps => Some("steps".to_owned()),
        Shown::SampleRate => Some("samples/s".to_owned()),
        Shown::TokenRate => Some("tokens/s".to_owned()),
        Shown::Loss => Some("loss".to_owned()),
        Shown::Metric(name) => Some(metric_column(name)),
        Shown::Lap | Shown::Wall | Shown::Rest | Shown::Stage(_) => None,
    }
}
