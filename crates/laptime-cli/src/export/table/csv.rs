//! Comma-separated values, with every digit; what is unknown is empty.

use std::io::{self, Write};

use super::{Cell, Column, Rows};
use crate::text::quoted;

/// Writes a table as comma-separated values.
pub(in crate::export) struct CsvRows<'a> {
    out: &'a mut dyn Write,
}

impl<'a> CsvRows<'a> {
    /// A table that goes there.
    pub(in crate::export) fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
    }
}

impl Rows for CsvRows<'_> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        let heads: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
        writeln!(self.out, "{}", heads.join(","))
    }

    fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                self.out.write_all(b",")?;
            }
            match cell {
                Cell::Empty => {}
                Cell::Whole(number) => write!(self.out, "{number}")?,
                Cell::Number(number) => write!(self.out, "{number}")?,
                Cell::Flag(flag) => write!(self.out, "{flag}")?,
                Cell::Word(word) => self.out.write_all(word.as_bytes())?,
            }
        }
        writeln!(self.out)
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}
