//! The page as a whole: which sections there is room for, and where they go.

use laptime_analyse::Report;
use laptime_analyse::pulse::PulseReport;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;

use super::findings::Arrived;
use super::section::{Section, painted};
use super::{epochs, findings, head, levels, stages, steps};
use crate::text::{Emphasis, Style};

/// From this width on, sections stand in two columns.
const TWO_COLUMNS: usize = 96;
/// Between the columns.
const GAP: usize = 3;

/// What the page shows.
pub(super) struct Shown<'a> {
    pub(super) report: &'a Report,
    pub(super) pulse: &'a PulseReport,
    pub(super) arrivals: &'a Arrived,
    pub(super) style: Style,
    /// Whether keys are read.
    pub(super) keys: bool,
}

/// Draws the page into a buffer of any size.
pub(super) fn draw(shown: &Shown<'_>, buffer: &mut Buffer) {
    let (width, height) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    let wide = width >= TWO_COLUMNS;
    let column = if wide { (width - GAP) / 2 } else { width };
    let head = head::lines(shown, width);
    let findings = findings::section(shown, width);
    let left = [stages::section(shown, column), epochs::section(shown, column)];
    let right =
        [steps::section(shown, column), levels::links(shown, column), levels::resources(shown, column)];
    let foot = foot(shown, width);
    let room = height.saturating_sub(head.len() + foot.len());
    let body = if wide {
        let below = fitting(findings.into_iter().collect(), room / 3);
        let room = room.saturating_sub(counted(&below));
        let columns = [left.into_iter().flatten().collect(), right.into_iter().flatten().collect()];
        let [left, right] = columns.map(|sections| one_below_another(fitting(sections, room)));
        let rows = left.len().max(right.len());
        let mut body = beside(left, right, rows, column);
        body.extend(one_below_another(below));
        body
    } else {
        let all = left.into_iter().chain(right).chain([findings]).flatten().collect();
        one_below_another(fitting(all, room))
    };
    let lines = head.into_iter().chain(body.into_iter().take(room));
    put(lines, 0, buffer);
    put(foot.into_iter(), height.saturating_sub(1), buffer);
}

fn put(lines: impl Iterator<Item = Line<'static>>, from: usize, buffer: &mut Buffer) {
    let (width, height) = (buffer.area.width, usize::from(buffer.area.height));
    for (line, y) in lines.zip(from..height) {
        buffer.set_line(0, y as u16, &line, width);
    }
}

/// What to press, where anything can be.
fn foot(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let text = match shown.keys {
        true => "q leaves this page; the training goes on",
        false => "Ctrl-C goes to the command",
    };
    if text.len() > width { Vec::new() } else { vec![Line::from(painted(text, Emphasis::Dim, shown.style))] }
}

/// Lines with one between the sections.
fn counted(sections: &[Section]) -> usize {
    sections.iter().map(|section| section.lines.len() + 1).sum()
}

/// The sections that fit into so many lines; the one that matters most is cut where not even that fits.
fn fitting(mut sections: Vec<Section>, room: usize) -> Vec<Section> {
    while counted(&sections) > room && sections.len() > 1 {
        let ranks = sections.iter().map(|section| section.rank).enumerate();
        let least = ranks.min_by_key(|(_, rank)| *rank).map_or(0, |(at, _)| at);
        sections.remove(least);
    }
    if let [section] = sections.as_mut_slice() {
        section.lines.truncate(room.saturating_sub(1));
    }
    sections
}

fn one_below_another(sections: Vec<Section>) -> Vec<Line<'static>> {
    let lines = |section: Section| section.lines.into_iter().chain([Line::default()]);
    sections.into_iter().flat_map(lines).collect()
}

fn beside(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    rows: usize,
    column: usize,
) -> Vec<Line<'static>> {
    let mut right = right.into_iter();
    let mut left = left.into_iter();
    let row = |_| {
        let mut line = left.next().unwrap_or_default();
        let pad = (column + GAP).saturating_sub(line.width());
        line.push_span(" ".repeat(pad));
        line.spans.extend(right.next().unwrap_or_default().spans);
        line
    };
    (0..rows).map(row).collect()
}
