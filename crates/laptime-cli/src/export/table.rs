//! Tables: the epochs or steps of a run, a row each, written as they are read.

mod csv;
mod epochs;
mod parquet;
mod steps;
mod thrift;

use std::io;

use super::{Exported, Table};
pub(super) use csv::CsvRows;
pub(super) use parquet::ParquetRows;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    name: String,
    kind: Kind,
}

/// What a column holds; any cell may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A count or a number of something.
    Whole,
    /// A measurement.
    Number,
    /// Yes or no.
    Flag,
    /// A word of ours; text of users is in no cell.
    Word,
}

/// A cell, of its column's kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Empty,
    Whole(u64),
    Number(f64),
    Flag(bool),
    Word(&'static str),
}

/// Takes a table.
pub(super) trait Rows {
    /// Takes the columns, once, before all rows.
    fn begin(&mut self, columns: &[Column]) -> io::Result<()>;
    /// Takes the next row.
    fn row(&mut self, cells: &[Cell]) -> io::Result<()>;
    /// There are no more.
    fn end(&mut self) -> io::Result<()>;
}

impl Column {
    fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

impl From<Option<u64>> for Cell {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Self::Empty, Self::Whole)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
    }
}

/// Writes a table of a run.
pub(super) fn write(table: Table, run: &Exported, rows: &mut dyn Rows) -> io::Result<()> {
    match table {
        Table::Epochs => epochs::write(run, rows)?,
        Table::Steps => steps::write(run, rows)?,
    }
    rows.end()
}
