//! A file of rows, whatever its format.

use std::ops::Range;
use std::path::Path;

use crate::csv_file::CsvFile;
use crate::data_file::DataFile;
use crate::error::LoadError;
use crate::limits::Limits;
use crate::npy_file::NpyFile;
use crate::pack_file::PackFile;
use crate::table::Table;

/// A file of rows that were counted when it was opened.
#[derive(Debug)]
pub(crate) enum Source {
    Csv(CsvFile),
    Npy(NpyFile),
    Pack(Box<PackFile>),
}

impl Source {
    /// Opens a file by the ending of its name.
    pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Self, LoadError> {
        let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
        match ending.as_ref().and_then(|ending| ending.to_str()) {
            Some("csv") => CsvFile::open(DataFile::open(path)?, limits).map(Self::Csv),
            Some("npy") => NpyFile::open(DataFile::open(path)?, limits).map(Self::Npy),
            Some("pack") => PackFile::open(path, limits).map(|file| Self::Pack(Box::new(file))),
            _ => {
                // A file that is not there is the likelier mistake, and the better message.
                DataFile::open(path)?;
                Err(LoadError::UnknownFormat { file: path.to_owned() })
            }
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        match self {
            Self::Csv(file) => file.rows(),
            Self::Npy(file) => file.rows(),
            Self::Pack(file) => file.rows(),
        }
    }

    /// Columns, the target counted.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Csv(file) => file.columns(),
            Self::Npy(file) => file.columns(),
            Self::Pack(file) => file.columns(),
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.columns().saturating_sub(1)
    }

    /// Whether a chunk costs the same wherever it is, so that chunks may come in any order.
    pub(crate) fn reads_anywhere(&self) -> bool {
        matches!(self, Self::Npy(_) | Self::Pack(_))
    }

    /// Cuts a range of rows into the chunks that `read` takes.
    pub(crate) fn chunks(&self, rows: &Range<u64>) -> Vec<Range<u64>> {
        match self {
            Self::Csv(file) => file.chunks(rows),
            Self::Npy(file) => file.chunks(rows),
            Self::Pack(file) => file.chunks(rows),
        }
    }

    /// Adds the rows of one chunk to the table; `raw` is working space that is kept from chunk to chunk.
    pub(crate) fn read(
        &self,
        chunk: &Range<u64>,
        raw: &mut Vec<u8>,
        table: &mut Table,
    ) -> Result<(), LoadError> {
        match self {
            Self::Csv(file) => file.read(chunk, raw, table),
            Self::Npy(file) => file.read(chunk, raw, table),
            Self::Pack(file) => file.read(chunk, raw, table),
        }
    }

    /// Reads all rows; only for a file that fits into memory.
    pub(crate) fn read_whole(&self) -> Result<Table, LoadError> {
        let (mut table, mut raw) = (Table::empty(self.width()), Vec::new());
        table.reserve(usize::try_from(self.rows()).unwrap_or(0));
        for chunk in self.chunks(&(0..self.rows())) {
            self.read(&chunk, &mut raw, &mut table)?;
        }
        Ok(table)
    }

    /// Reads the first chunk and forgets it, so that a file that is wrong from the start is refused at once.
    pub(crate) fn check_first_chunk(&self) -> Result<(), LoadError> {
        match self.chunks(&(0..self.rows())).first() {
            Some(chunk) => self.read(chunk, &mut Vec::new(), &mut Table::empty(self.width())),
            None => Ok(()),
        }
    }
}
