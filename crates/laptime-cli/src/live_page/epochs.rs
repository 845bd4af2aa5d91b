//! The newest epochs below each other, each a bar of its stages.

use laptime_analyse::{EpochSummary, LapKind};
use laptime_core::units;
use ratatui_core::text::Line;

use super::drawing::Shown;
use super::section::{Section, painted};
use super::stages::in_order;
use crate::text::{Emphasis, stage_letter, stage_paint};

/// Epochs worth a line.
const MOST: usize = 8;
/// Columns of an epoch's name and of its time.
const NAME: usize = 11;
const TIME: usize = 9;
/// The longest bar worth drawing.
const LONGEST: usize = 44;

pub(super) fn section(page: &Shown<'_>, width: usize) -> Option<Section> {
    let epochs: Vec<&EpochSummary> = page.report.epochs.iter().filter(|epoch| epoch.steps > 0).collect();
    let newest = epochs.get(epochs.len().saturating_sub(MOST)..).unwrap_or_default();
    let slowest = newest.iter().map(|epoch| epoch.mean_wall_s()).fold(0.0, f64::max);
    let room = width.saturating_sub(NAME + TIME + 2).min(LONGEST);
    let line = |epoch: &&EpochSummary| {
        let mut line = Line::from(vec![
            painted(&format!("{:<NAME$} ", name(page, epoch)), Emphasis::Plain, page.style),
            painted(
                &format!("{:>TIME$} ", units::duration(epoch.mean_wall_s())),
                Emphasis::Plain,
                page.style,
            ),
        ]);
        let cells = (epoch.mean_wall_s() / slowest * room as f64).round() as usize;
        add_bar(&mut line, page, epoch, cells);
        line
    };
    Section::new(8, "epochs", newest.iter().map(line).collect(), page.style)
}

/// A bar of exactly so many letters, each stage in its colour and by its letter.
fn add_bar(line: &mut Line<'static>, page: &Shown<'_>, epoch: &EpochSummary, cells: usize) {
    let stages = in_order(page, epoch);
    let total: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
    let (mut so_far, mut drawn) = (0.0, 0);
    for (stage, seconds) in stages {
        so_far += seconds;
        // Rounding the running sum instead of every share keeps the bar's length exact.
        let end = (so_far / total * cells as f64).round() as usize;
        let letters = stage_letter(stage).to_string().repeat(end.saturating_sub(drawn));
        line.push_span(painted(&letters, stage_paint(stage), page.style));
        drawn = drawn.max(end);
    }
}

/// `epoch 3`, or `lap 3` of a training without epochs.
pub(super) fn name(page: &Shown<'_>, epoch: &EpochSummary) -> String {
    let kind = if epoch.kind == LapKind::Window { "lap" } else { "epoch" };
    let number = units::count(u64::from(epoch.index) + 1);
    match page.report.fits.len() {
        0 | 1 => format!("{kind} {number}"),
        _ => format!("{kind} {}.{number}", epoch.fit + 1),
    }
}
