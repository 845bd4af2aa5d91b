//! The line that moves while a run is running.

use laptime_analyse::{EpochSummary, FitSummary, LapKind, Report};
use laptime_launch::now_s;

use super::bar::stage_bar;
use super::shown;
use super::style::Style;
use super::time_left::{WITH_CLOCK_S, done_text};
use super::units;
use super::words::throughput;
use super::wrap::shortened;

/// The narrowest bar of stages worth drawing, with its brackets, and the widest.
const BAR: (usize, usize) = (10, 22);

/// A part of the line; of two that do not both fit, the one with the higher rank stays.
struct Part {
    rank: u8,
    text: String,
}

/// Where the training is, how fast, how long still and what takes the time, in at most `style.width` letters.
pub(crate) fn progress_line(report: &Report, style: &Style) -> String {
    let mut parts = parts(report);
    let shares = stage_shares(report);
    // The bar is a part like the others: where it stands in rank decides what goes before it does.
    let mut bar = if shares.is_empty() { 0 } else { BAR.0 + 2 };
    while width_of(&parts) + bar > style.width && parts.len() > 1 {
        match parts.iter().map(|part| part.rank).min() {
            Some(least) if bar == 0 || least < BAR_RANK => parts.retain(|part| part.rank != least),
            _ => bar = 0,
        }
    }
    let line = parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("  ");
    let line = style.fitted(&shortened(line.trim_start(), style.width));
    if bar == 0 {
        return line;
    }
    let room = (style.width - line.chars().count() - 2).min(BAR.1);
    format!("{line}  [{}]", stage_bar(&shares, room.saturating_sub(2), style))
}

/// The same in words, the name first, for views that have more room.
pub(crate) fn progress_words(report: &Report) -> Vec<String> {
    parts(report).into_iter().map(|part| part.text).collect()
}

/// Above name, fit and step; below rate, loss, epoch and the time left.
const BAR_RANK: u8 = 5;

fn width_of(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.text.chars().count() + 2).sum::<usize>().saturating_sub(2)
}

fn parts(report: &Report) -> Vec<Part> {
    let mut parts = vec![Part { rank: 2, text: shortened(&shown(&report.run.name), 16) }];
    let Some(fit) = report.fits.last() else {
        parts.push(Part { rank: 9, text: "starting".to_owned() });
        return parts;
    };
    if report.fits.len() > 1 {
        parts.push(Part { rank: 3, text: format!("fit {}", fit.index + 1) });
    }
    let epoch = report.epochs.iter().rev().find(|epoch| epoch.fit == fit.index);
    match epoch {
        Some(lap) if lap.kind == LapKind::Window => {
            parts.push(Part { rank: 9, text: counted_of("step", fit.steps, fit.planned_steps) });
        }
        Some(epoch) => {
            parts.push(Part { rank: 9, text: epoch_of(fit, epoch) });
            parts.push(Part { rank: 4, text: step_of(fit, epoch) });
        }
        None => parts.push(Part { rank: 9, text: "starting".to_owned() }),
    }
    parts.extend(loss(fit, epoch).map(|text| Part { rank: 7, text }));
    parts.extend(rate(report, epoch).map(|text| Part { rank: 6, text }));
    parts.extend(left(report));
    parts
}

fn epoch_of(fit: &FitSummary, epoch: &EpochSummary) -> String {
    counted_of("epoch", u64::from(epoch.index) + 1, fit.planned_epochs)
}

/// `epoch 3/10`, as wide as the last one will be.
fn counted_of(unit: &str, now: u64, planned: Option<u64>) -> String {
    let now = units::count(now);
    match planned {
        Some(planned) => {
            let planned = units::count(planned);
            format!("{unit} {now:>0$}/{planned}", planned.len())
        }
        None => format!("{unit} {now}"),
    }
}

/// The step within the epoch, as wide as the last one will be, so that the line does not jump.
fn step_of(fit: &FitSummary, epoch: &EpochSummary) -> String {
    let now = units::count(epoch.steps);
    match fit.steps_per_epoch {
        Some(steps) => {
            let all = units::count(steps.max(epoch.steps));
            format!("step {now:>0$}/{all}", all.len())
        }
        None => format!("step {now}"),
    }
}

fn loss(fit: &FitSummary, epoch: Option<&EpochSummary>) -> Option<String> {
    let loss = fit.loss.or_else(|| epoch?.loss)?;
    Some(format!("loss {}", units::number(loss)))
}

fn rate(report: &Report, epoch: Option<&EpochSummary>) -> Option<String> {
    let now = epoch.and_then(|epoch| throughput(epoch.samples_per_s, epoch.tokens_per_s));
    now.or_else(|| report.steps.and_then(|steps| throughput(steps.samples_per_s, steps.tokens_per_s)))
}

/// The time left, and its interval where there is room.
fn left(report: &Report) -> Option<Part> {
    let left = report.time_left?;
    let ends = units::waiting_interval(left.low, left.high);
    let text = match left.mean < WITH_CLOCK_S {
        true => format!("left {} ({})", units::waiting(left.mean), ends.trim_end_matches(" s")),
        false => done_text(left, now_s()),
    };
    Some(Part { rank: 8, text })
}

/// The stages of the newest epoch that has steps, in the order of the ledger.
fn stage_shares(report: &Report) -> Vec<(&str, f64)> {
    let Some(epoch) = report.epochs.iter().rev().find(|epoch| epoch.steps > 0) else { return Vec::new() };
    let known = report.ledger.iter().map(|row| row.stage.as_str()).filter(|stage| *stage != "unaccounted");
    known.chain(["unaccounted"]).filter_map(|stage| Some((stage, *epoch.stages.get(stage)?))).collect()
}
