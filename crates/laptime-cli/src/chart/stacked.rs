//! Stacked bars: one a row, each a stack of its stages from left to right.

use super::canvas::{Anchor, Area, Canvas, text_width};
use super::scale::Measure;
use super::theme::stage_order;
use super::tick::Unit;
use crate::markup::cut;
use crate::stage_words::stage_name;
use laptime_core::units;

/// One bar.
pub(super) struct Row {
    /// What it is of.
    pub(super) name: String,
    /// Whether it is the one to look at.
    pub(super) strong: bool,
    /// Its stages and their time, seconds.
    pub(super) stages: Vec<(String, f64)>,
}

impl Row {
    fn total(&self) -> f64 {
        self.stages.iter().map(|(_, seconds)| seconds).sum()
    }

    fn in_order(&self) -> Vec<&(String, f64)> {
        let mut stages: Vec<&(String, f64)> = self.stages.iter().filter(|(_, time)| *time > 0.0).collect();
        stages.sort_by_key(|(stage, _)| stage_order(stage));
        stages
    }
}

/// Every stage of some rows, in the order of the stack.
pub(super) fn all_stages(rows: &[Row]) -> Vec<&str> {
    let mut stages: Vec<&str> =
        rows.iter().flat_map(|row| row.in_order()).map(|(stage, _)| stage.as_str()).collect();
    stages.sort_by_key(|stage| (stage_order(stage), *stage));
    stages.dedup();
    stages
}

/// Draws the rows below a legend, and an axis of time below them.
pub(super) fn draw_rows(canvas: &mut Canvas, rows: &[Row]) {
    let top = canvas.legend(all_stages(rows), 0.0) + 6.0;
    let height = match rows.len() {
        ..=16 => 26.0,
        17..=40 => 17.0,
        _ => 11.0,
    };
    let letters = if canvas.is_narrow() { 12 } else { 24 };
    let names: Vec<String> = rows.iter().map(|row| named(row, letters)).collect();
    let labels = names.iter().map(|name| text_width(name)).fold(0.0, f64::max) + 14.0;
    let longest = rows.iter().map(Row::total).fold(0.0, f64::max);
    let measure = Measure::from_zero(longest, Unit::Seconds);
    let size = (canvas.width - labels - 4.0, height * rows.len() as f64);
    let plot = Area { x: labels, y: top, width: size.0, height: size.1 };
    let every = (14.0_f64 / height).ceil() as usize;
    for (at, (row, name)) in rows.iter().zip(&names).enumerate() {
        let y = top + at as f64 * height;
        if row.strong || at.is_multiple_of(every.max(1)) && !near_strong(rows, at, every) {
            let class = if row.strong { "strong" } else { "" };
            canvas.text(class, (labels - 8.0, y + 0.5 * height + 4.0), Anchor::End, name);
        }
        draw_row(canvas, row, Area { y: y + 1.0, height: height - 2.0, ..plot }, &measure);
    }
    measure.draw_right(canvas, plot, if canvas.is_narrow() { 3 } else { 7 });
    canvas.height = plot.bottom() + 28.0;
}

fn named(row: &Row, letters: usize) -> String {
    format!("{}{}", if row.strong { "▸ " } else { "" }, cut(&row.name, letters))
}

/// Whether the name of the row to look at stands where this one's would.
fn near_strong(rows: &[Row], at: usize, every: usize) -> bool {
    let place = rows.iter().position(|row| row.strong);
    place.is_some_and(|place| place != at && place.abs_diff(at) < every)
}

fn draw_row(canvas: &mut Canvas, row: &Row, place: Area, measure: &Measure) {
    let (mut x, total) = (place.x, row.total());
    for (stage, seconds) in row.in_order() {
        let width = measure.share(*seconds) * place.width;
        let share = units::percent(seconds / total);
        let tip = format!("{}\n{} {}, {share}", row.name, stage_name(stage), units::duration(*seconds));
        canvas.stage(stage, Area { x, width, ..place }, &tip, None);
        x += width;
    }
}
