//! Aligned columns that fit the terminal and say what they had to leave out.

use super::style::{Emphasis, Style};
use super::units::UNKNOWN;
use super::wrap::{shortened, wrapped};

/// Where a cell stands in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
    /// A number and its unit: numbers end, and units begin, in the same column.
    Unit,
}

/// One column: its head, how it is set, and how much it would be missed.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    title: String,
    align: Align,
    gap: usize,
    importance: Option<u8>,
    narrowest: Option<usize>,
}

impl Column {
    /// A column that always stays.
    pub(crate) fn new(title: impl Into<String>, align: Align) -> Self {
        Self { title: title.into(), align, gap: 2, importance: None, narrowest: None }
    }

    /// Lets the column go when there is no room, the least important first.
    pub(crate) fn importance(mut self, importance: u8) -> Self {
        self.importance = Some(importance);
        self
    }

    /// Spaces before the column.
    pub(crate) fn gap(mut self, gap: usize) -> Self {
        self.gap = gap;
        self
    }

    /// Lets long cells be shortened to that many letters before any column goes.
    pub(crate) fn shrinks_to(mut self, width: usize) -> Self {
        self.narrowest = Some(width);
        self
    }
}

/// One cell of a row.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    paint: Emphasis,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        let paint = if text == UNKNOWN { Emphasis::Dim } else { Emphasis::Plain };
        Self { text, paint }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// The cell in that emphasis.
    pub(crate) fn painted(text: impl Into<String>, paint: Emphasis) -> Self {
        Self { text: text.into(), paint }
    }
}

enum Row {
    Cells(Vec<Cell>),
    /// A line of its own between the rows.
    Line(String, Emphasis),
    Rule,
}

/// Rows under a head.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; it has a cell for every column.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row::Cells(cells));
    }

    /// Adds a line of text across the columns.
    pub(crate) fn line(&mut self, text: impl Into<String>, paint: Emphasis) {
        self.rows.push(Row::Line(text.into(), paint));
    }

    /// Adds a thin rule, as above a sum.
    pub(crate) fn rule(&mut self) {
        self.rows.push(Row::Rule);
    }

    /// The heads and the cells as plain text, for a presenter that lays them out itself.
    pub(crate) fn texts(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let heads = self.columns.iter().map(|column| column.title.clone()).collect();
        let cells = |row: &Row| match row {
            Row::Cells(cells) => Some(cells.iter().map(|cell| cell.text.clone()).collect()),
            Row::Line(..) | Row::Rule => None,
        };
        (heads, self.rows.iter().filter_map(cells).collect())
    }

    /// The letters a line of the whole table takes.
    pub(crate) fn width(&self) -> usize {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        self.total(&all, &self.widths())
    }

    /// The table, each line with its end.
    pub(crate) fn drawn(&self, style: &Style) -> String {
        let mut widths = self.widths();
        let kept = self.fit(&mut widths, style.width);
        let mut lines = vec![self.head(&kept, &widths, style)];
        for row in &self.rows {
            match row {
                Row::Cells(cells) => lines.push(self.set_row(cells, &kept, &widths, style)),
                Row::Line(text, paint) => {
                    let (indent, words) = text.split_at(text.len() - text.trim_start().len());
                    let parts = wrapped(words, style.width, indent, &format!("{indent}  "));
                    lines.extend(parts.iter().map(|part| style.paint(&style.fitted(part), *paint)));
                }
                Row::Rule => {
                    let rule = style.fitted(&"─".repeat(self.total(&kept, &widths).min(style.width)));
                    lines.push(style.paint(&rule, Emphasis::Dim));
                }
            }
        }
        lines.extend(self.note(&kept, style));
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// The whole table as Markdown; lines between the rows are left out.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let safe = |text: &str| text.replace('|', "\\|");
        let rule = self.columns.iter().map(|column| match column.align {
            Align::Left => "---".to_owned(),
            Align::Right | Align::Unit => "---:".to_owned(),
        });
        let head = line(self.columns.iter().map(|column| safe(&column.title)).collect());
        let rows = self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => Some(line(cells.iter().map(|cell| safe(&cell.text)).collect())),
            Row::Line(..) | Row::Rule => None,
        });
        head + &line(rule.collect()) + &rows.collect::<String>()
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| match row {
            Row::Cells(cells) => cells.get(column).map(|cell| cell.text.as_str()),
            Row::Line(..) | Row::Rule => None,
        })
    }

    fn widths(&self) -> Vec<usize> {
        (0..self.columns.len())
            .map(|at| {
                let unit = self.unit_width(at);
                let cells = self.cells(at).map(|text| letters(&set_unit(text, unit))).max();
                cells.unwrap_or(0).max(letters(&self.columns[at].title))
            })
            .collect()
    }

    fn unit_width(&self, column: usize) -> usize {
        if self.columns[column].align != Align::Unit {
            return 0;
        }
        self.cells(column)
            .filter_map(|text| text.split_once(' '))
            .map(|(_, unit)| letters(unit))
            .max()
            .unwrap_or(0)
    }

    fn total(&self, kept: &[usize], widths: &[usize]) -> usize {
        let gaps: usize = kept.iter().skip(1).map(|at| self.columns[*at].gap).sum();
        gaps + kept.iter().map(|at| widths[*at]).sum::<usize>()
    }

    /// Makes room: shortens what may be shortened, then lets columns go, then gives spare room back.
    fn fit(&self, widths: &mut [usize], width: usize) -> Vec<usize> {
        let wished = widths.to_vec();
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        for (at, column) in self.columns.iter().enumerate() {
            let over = self.total(&kept, widths).saturating_sub(width);
            let least = column.narrowest.unwrap_or(usize::MAX).min(widths[at]);
            widths[at] = widths[at].saturating_sub(over).max(least);
        }
        while self.total(&kept, widths) > width {
            let droppable = kept.iter().filter(|at| self.columns[**at].importance.is_some());
            let Some(least) = droppable.min_by_key(|at| self.columns[**at].importance).copied() else {
                break;
            };
            kept.retain(|at| *at != least);
        }
        for at in &kept {
            let spare = width.saturating_sub(self.total(&kept, widths));
            widths[*at] = wished[*at].min(widths[*at] + spare);
        }
        kept
    }

    fn head(&self, kept: &[usize], widths: &[usize], style: &Style) -> String {
        let titles: Vec<Cell> = self.columns.iter().map(|column| column.title.as_str().into()).collect();
        let plain = Style { color: false, ..*style };
        style.paint(self.set_row(&titles, kept, widths, &plain).trim_end(), Emphasis::Dim)
    }

    fn set_row(&self, cells: &[Cell], kept: &[usize], widths: &[usize], style: &Style) -> String {
        let mut line = String::new();
        for (place, at) in kept.iter().enumerate() {
            let Some(cell) = cells.get(*at) else { continue };
            let column = &self.columns[*at];
            let text = shortened(&set_unit(&cell.text, self.unit_width(*at)), widths[*at]);
            let blank = " ".repeat(widths[*at].saturating_sub(letters(&text)));
            let text = style.paint(&style.fitted(&text), cell.paint);
            line.push_str(&" ".repeat(if place == 0 { 0 } else { column.gap }));
            match column.align {
                Align::Left => line.extend([text, blank]),
                Align::Right | Align::Unit => line.extend([blank, text]),
            }
        }
        line
    }

    /// What was left out; nothing goes silently.
    fn note(&self, kept: &[usize], style: &Style) -> Vec<String> {
        let out: Vec<&str> = (0..self.columns.len())
            .filter(|at| !kept.contains(at) && self.columns[*at].title.contains(char::is_alphanumeric))
            .map(|at| self.columns[at].title.as_str())
            .collect();
        if out.is_empty() {
            return Vec::new();
        }
        let text = format!("not shown at this width: {} (--json has all)", out.join(", "));
        wrapped(&text, style.width, "", "  ").iter().map(|line| style.paint(line, Emphasis::Dim)).collect()
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// Fills the unit up, so that the numbers of a right-aligned column end in the same place.
fn set_unit(text: &str, unit_width: usize) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if unit_width > 0 => format!("{number} {unit:<unit_width$}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> Table {
        let mut table = Table::new(vec![
            Column::new("name", Align::Left).shrinks_to(4),
            Column::new("time", Align::Unit),
            Column::new("steps", Align::Right).importance(1),
        ]);
        table.row(vec!["backward".into(), "12.4 s".into(), "1,234".into()]);
        table.row(vec!["loss".into(), "3.1 ms".into(), "–".into()]);
        table
    }

    #[test]
    fn words_stand_left_numbers_right_and_units_align() {
        insta::assert_snapshot!(people().drawn(&Style::default()), @r"
        name         time  steps
        backward  12.4 s   1,234
        loss       3.1 ms      –
        ");
    }

    #[test]
    fn markdown_has_every_cell() {
        insta::assert_snapshot!(people().markdown(), @r"
        | name | time | steps |
        | --- | ---: | ---: |
        | backward | 12.4 s | 1,234 |
        | loss | 3.1 ms | – |
        ");
    }

    #[test]
    fn names_are_shortened_before_a_column_goes_and_the_lost_column_is_named() {
        let narrow = |width| people().drawn(&Style { width, ..Style::default() });
        insta::assert_snapshot!(narrow(20), @r"
        name     time  steps
        bac…  12.4 s   1,234
        loss   3.1 ms      –
        ");
        insta::assert_snapshot!(narrow(17), @r"
        name         time
        backward  12.4 s
        loss       3.1 ms
        not shown at this
          width: steps
          (--json has
          all)
        ");
    }
}
