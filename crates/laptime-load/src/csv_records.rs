//! How the text of a CSV file is split: the byte-order mark before it, its records, the delimiter between fields.

use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::data_file::DataFile;
use crate::error::LoadError;
use crate::record_scanner::{Mark, RecordScanner};

/// What separates the fields.
const DELIMITER: u8 = b',';

/// Finds where records begin, without splitting them into fields.
pub(crate) fn scanner(start: Mark) -> RecordScanner {
    RecordScanner::new(start, Some(DELIMITER))
}

/// Reads records, split into fields, and passes over blank lines.
#[derive(Debug)]
pub(crate) struct RecordReader<'a, R> {
    file: &'a DataFile,
    reader: Reader<R>,
}

impl<'a, R: Read> RecordReader<'a, R> {
    /// Reads `text`, which is a part of the file.
    pub(crate) fn new(file: &'a DataFile, text: R) -> Self {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(DELIMITER).has_headers(false).flexible(true).buffer_capacity(32 << 10);
        Self { file, reader: builder.from_reader(text) }
    }

    /// The next record; `None` at the end of the text.
    pub(crate) fn next(&mut self) -> Result<Option<ByteRecord>, LoadError> {
        let mut record = ByteRecord::new();
        while self.read(&mut record)? {
            if record.len() > 1 || !record.iter().all(is_blank) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Reads the next record of a text that is in memory; `false` at its end.
    pub(crate) fn next_in(&mut self, text: &[u8], record: &mut ByteRecord) -> Result<bool, LoadError> {
        while self.read(record)? {
            let start = record.position().map_or(0, csv::Position::byte) as usize;
            let end = self.reader.position().byte() as usize;
            if record.len() > 1 || !text.get(start..end).is_some_and(is_blank) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read(&mut self, record: &mut ByteRecord) -> Result<bool, LoadError> {
        let unreadable =
            |error| LoadError::Unreadable { file: self.file.path(), source: io::Error::other(error) };
        self.reader.read_byte_record(record).map_err(unreadable)
    }
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Where the text begins.
pub(crate) fn after_byte_order_mark(file: &DataFile) -> Result<u64, LoadError> {
    let mut first = [0; 3];
    if file.bytes() < 3 {
        return Ok(0);
    }
    file.read_at(&mut first, 0)?;
    Ok(if first == *b"\xef\xbb\xbf" { 3 } else { 0 })
}

/// The file from a position on, as the `csv` crate reads it.
#[derive(Debug)]
pub(crate) struct FileText<'a> {
    file: &'a DataFile,
    position: u64,
}

impl<'a> FileText<'a> {
    pub(crate) fn new(file: &'a DataFile, position: u64) -> Self {
        Self { file, position }
    }
}

impl Read for FileText<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.bytes().saturating_sub(self.position).min(buffer.len() as u64);
        let buffer = &mut buffer[..bytes as usize];
        self.file.read_at(buffer, self.position).map_err(io::Error::other)?;
        self.position += bytes;
        Ok(buffer.len())
    }
}
