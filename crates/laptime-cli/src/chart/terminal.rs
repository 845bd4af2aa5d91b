//! A chart in the terminal: fine lines of braille dots under marks that are letters.

use laptime_core::display_name;

use super::frame::{Frame, Tick, without_overlap};
use super::{Axis, Chart, Series};

/// Nothing can be seen on less.
const NARROWEST: usize = 24;
const LOWEST: usize = 8;
/// Colours of the 256 that are distinct on light and on dark.
const COLORS: [u8; 8] = [33, 208, 35, 134, 178, 37, 168, 245];
const MARKS: [char; 8] = ['●', '■', '▲', '◆', '○', '□', '△', '◇'];
const ASCII_MARKS: [char; 8] = ['*', 'o', '+', 'x', '#', '@', '%', '&'];
/// The dots of a braille letter by row and column.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// The room a chart has in a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sheet {
    /// Columns.
    pub width: usize,
    /// Lines, with title, legend and labels.
    pub height: usize,
    /// Whether colour codes are welcome.
    pub color: bool,
    /// Whether more than ASCII is shown.
    pub unicode: bool,
}

/// The chart as lines of text that fit the sheet.
#[must_use]
pub fn terminal(chart: &Chart, sheet: &Sheet) -> Vec<String> {
    let sheet = Sheet { width: sheet.width.max(NARROWEST), height: sheet.height.max(LOWEST), ..*sheet };
    let frame = Frame::of(chart);
    let mut lines = vec![sheet.text(&chart.title, sheet.width)];
    lines.extend(legend(chart, &sheet));
    lines.truncate(sheet.height - 6);
    lines.push(sheet.text(&with_unit(&chart.y), sheet.width));
    // Below the plot stand the axis, its labels and its name.
    let rows = sheet.height - lines.len() - 3;
    let y_ticks = frame.y_ticks(chart, (rows / 3).max(2));
    let margin = y_ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0).min(12);
    let columns = sheet.width - margin - 2;
    let mut canvas = Canvas::new(columns, rows, &sheet);
    for (at, series) in chart.series.iter().enumerate() {
        canvas.lines(series, at, &frame);
    }
    for (at, series) in chart.series.iter().enumerate() {
        canvas.marks(series, (at, sheet.mark(at)), &frame);
    }
    for row in 0..rows {
        lines.push(format!("{}{}", y_label(&y_ticks, row, rows, margin, &sheet), canvas.row(row, &sheet)));
    }
    lines.extend(x_axis(chart, &frame, margin, columns, &sheet));
    lines
}

impl Sheet {
    /// Text from outside in characters this terminal shows, cut to that many.
    fn text(&self, text: &str, width: usize) -> String {
        let safe = display_name(text);
        let shown: String = if self.unicode { safe } else { safe.chars().map(plain).collect() };
        if shown.chars().count() <= width {
            return shown;
        }
        let end = if self.unicode { '…' } else { '~' };
        shown.chars().take(width.saturating_sub(1)).chain([end]).collect()
    }

    fn paint(&self, text: &str, series: Option<usize>) -> String {
        match series {
            Some(series) if self.color => {
                format!("\x1b[38;5;{}m{text}\x1b[0m", COLORS[series % COLORS.len()])
            }
            _ => text.to_owned(),
        }
    }

    fn mark(&self, series: usize) -> char {
        if self.unicode { MARKS[series % MARKS.len()] } else { ASCII_MARKS[series % ASCII_MARKS.len()] }
    }

    /// Dots across and down within one letter.
    fn fine(&self) -> (usize, usize) {
        if self.unicode { (2, 4) } else { (1, 1) }
    }

    fn choose(&self, unicode: char, ascii: char) -> char {
        if self.unicode { unicode } else { ascii }
    }
}

fn plain(letter: char) -> char {
    match letter {
        letter if letter.is_ascii() => letter,
        '–' | '─' | '·' => '-',
        '×' => 'x',
        _ => '?',
    }
}

fn with_unit(axis: &Axis) -> String {
    match axis.unit.beside_label() {
        Some(unit) => format!("{} ({unit})", axis.label),
        None => axis.label.clone(),
    }
}

/// The names with their marks, as many to a line as fit.
fn legend(chart: &Chart, sheet: &Sheet) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (at, series) in chart.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()) {
        let name = sheet.text(&series.name, sheet.width - 2);
        let width = name.chars().count() + 2;
        let entry = format!("{} {name}", sheet.paint(&sheet.mark(at).to_string(), Some(at)));
        match lines.last_mut() {
            Some((used, line)) if *used + 3 + width <= sheet.width => {
                *used += 3 + width;
                line.push_str("   ");
                line.push_str(&entry);
            }
            _ => lines.push((width, entry)),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The label beside a row of the plot, and the axis.
fn y_label(ticks: &[Tick], row: usize, rows: usize, margin: usize, sheet: &Sheet) -> String {
    let on_row = |tick: &&Tick| cell(1.0 - tick.share, rows, sheet.fine().1) == row;
    match ticks.iter().find(on_row) {
        Some(tick) => {
            let label = sheet.text(&tick.label, margin);
            format!("{label:>margin$} {}", sheet.choose('┤', '|'))
        }
        None => format!("{:margin$} {}", "", sheet.choose('│', '|')),
    }
}

/// The axis that goes right, its labels and its name.
fn x_axis(chart: &Chart, frame: &Frame, margin: usize, columns: usize, sheet: &Sheet) -> [String; 3] {
    let width = margin + 2 + columns;
    let ticks = frame.x_ticks(chart, (columns / 12).max(2));
    let room = |label: &str| (label.chars().count() + 2) as f64 / columns as f64;
    let mut axis = vec![sheet.choose('─', '-'); columns];
    let mut labels = vec![' '; width];
    for tick in without_overlap(ticks, room) {
        let column = cell(tick.share, columns, sheet.fine().0);
        axis[column] = sheet.choose('┬', '+');
        let label = sheet.text(&tick.label, columns);
        let length = label.chars().count();
        let start = (margin + 2 + column).saturating_sub(length / 2).min(width.saturating_sub(length));
        labels[start..start + length].iter_mut().zip(label.chars()).for_each(|(to, from)| *to = from);
    }
    let axis: String = axis.into_iter().collect();
    let labels: String = labels.into_iter().collect();
    let name = sheet.text(&with_unit(&chart.x), width);
    let indent = (margin + 2 + columns / 2).saturating_sub(name.chars().count() / 2);
    let indent = indent.min(width - name.chars().count());
    [
        format!("{:margin$} {}{axis}", "", sheet.choose('└', '+')),
        labels.trim_end().to_owned(),
        format!("{:indent$}{name}", ""),
    ]
}

/// The letter a place falls into, of so many with so many dots each.
fn cell(share: f64, letters: usize, dots: usize) -> usize {
    nearest(share * (letters * dots - 1) as f64) / dots
}

fn nearest(value: f64) -> usize {
    value.round().max(0.0) as usize
}

/// Letters and dots, each with the series that drew them last.
struct Canvas {
    columns: usize,
    rows: usize,
    fine: (usize, usize),
    dots: Vec<u32>,
    marks: Vec<Option<char>>,
    owners: Vec<Option<usize>>,
}

impl Canvas {
    fn new(columns: usize, rows: usize, sheet: &Sheet) -> Self {
        let (cells, fine) = (columns * rows, sheet.fine());
        Self {
            columns,
            rows,
            fine,
            dots: vec![0; cells],
            marks: vec![None; cells],
            owners: vec![None; cells],
        }
    }

    /// Curves, joined marks and intervals.
    fn lines(&mut self, series: &Series, owner: usize, frame: &Frame) {
        let place = |x: f64, y: f64| frame.place(x, y);
        let curve: Vec<_> = series.curve.iter().map(|p| (place(p.x, p.y), p.extrapolated)).collect();
        for pair in curve.windows(2) {
            if let (Some(from), Some(to)) = (pair[0].0, pair[1].0) {
                self.line(from, to, owner, pair[1].1 || pair[0].1);
            }
        }
        if series.joined {
            let places: Vec<_> = series.marks.iter().filter_map(|mark| place(mark.x, mark.y)).collect();
            places.windows(2).for_each(|pair| self.line(pair[0], pair[1], owner, false));
        }
        for mark in &series.marks {
            if let Some((low, high)) = mark.interval
                && let Some((x, high)) = place(mark.x, high)
            {
                let low = place(mark.x, low).map_or(0.0, |(_, low)| low);
                self.line((x, low), (x, high), owner, false);
            }
        }
    }

    fn marks(&mut self, series: &Series, (owner, letter): (usize, char), frame: &Frame) {
        for mark in series.shown_marks(owner) {
            if let Some((x, y)) = frame.place(mark.x, mark.y) {
                let column = cell(x, self.columns, self.fine.0);
                let at = cell(1.0 - y, self.rows, self.fine.1) * self.columns + column;
                self.marks[at] = Some(letter);
                self.owners[at] = Some(owner);
            }
        }
    }

    /// A line between two places, both 0 to 1 from the lower left; with gaps where it is only supposed.
    fn line(&mut self, from: (f64, f64), to: (f64, f64), owner: usize, gaps: bool) {
        let (wide, high) = (self.columns * self.fine.0 - 1, self.rows * self.fine.1 - 1);
        let dot = |(x, y): (f64, f64)| (x * wide as f64, (1.0 - y) * high as f64);
        let ((x0, y0), (x1, y1)) = (dot(from), dot(to));
        let steps = nearest((x1 - x0).abs().max((y1 - y0).abs()).ceil()).max(1);
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            let (x, y) = (nearest(x0 + share * (x1 - x0)), nearest(y0 + share * (y1 - y0)));
            // By place and not by step, so that short pieces of a curve have gaps too.
            if !gaps || (x / self.fine.0).is_multiple_of(2) {
                self.dot(x, y, owner);
            }
        }
    }

    fn dot(&mut self, x: usize, y: usize, owner: usize) {
        let (column, row) = (x / self.fine.0, y / self.fine.1);
        let at = row * self.columns + column;
        self.dots[at] |= if self.fine.1 > 1 { DOTS[y % 4][x % 2] } else { 1 };
        self.owners[at] = Some(owner);
    }

    fn row(&self, row: usize, sheet: &Sheet) -> String {
        let cells = row * self.columns..(row + 1) * self.columns;
        let letter = |at: usize| match (self.marks[at], self.dots[at]) {
            (Some(mark), _) => mark,
            (None, 0) => ' ',
            (None, dots) if self.fine.1 > 1 => char::from_u32(0x2800 + dots).unwrap_or(' '),
            (None, _) => '.',
        };
        let last = cells.clone().rev().find(|at| letter(*at) != ' ');
        let shown = cells.take_while(|at| last.is_some_and(|last| *at <= last));
        shown
            .map(|at| sheet.paint(&letter(at).to_string(), self.owners[at].filter(|_| letter(at) != ' ')))
            .collect()
    }
}
