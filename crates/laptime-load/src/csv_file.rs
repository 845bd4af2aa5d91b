//! A CSV file: its rows counted once, then read in any range.

use std::io::Read;
use std::ops::Range;

use csv::ByteRecord;

use crate::csv_header::is_header;
use crate::csv_numbers::{BadCell, parse_row};
use crate::csv_records::{FileText, RecordReader, after_byte_order_mark, scanner};
use crate::data_file::DataFile;
use crate::error::LoadError;
use crate::limits::Limits;
use crate::record_scanner::Mark;
use crate::table::Table;

/// Longest row that is read. A quote that is never closed makes the rest of the file one row; this is where
/// such a row is recognised, before it fills the memory. A million columns of numbers fit.
const MAX_ROW_BYTES: u64 = 16 << 20;

/// Bytes scanned at a time: large enough that the system call does not matter, small enough for the cache.
const SCAN_BYTES: u64 = 256 << 10;

/// Text of a chunk in relation to its decoded size; a number takes about two to four times its four bytes.
const TEXT_PER_DECODED: u64 = 4;

/// A CSV file whose rows are counted and whose chunks are known by their place.
#[derive(Debug)]
pub(crate) struct CsvFile {
    file: DataFile,
    columns: usize,
    rows: u64,
    chunks: Vec<ChunkStart>,
}

/// First row of a chunk, counted without the header, and where it is.
#[derive(Clone, Copy, Debug)]
struct ChunkStart {
    row: u64,
    mark: Mark,
}

/// What the first rows show.
#[derive(Debug)]
struct Head {
    columns: usize,
    header: bool,
}

/// The chunk of text that is being read.
#[derive(Debug)]
struct Chunk<'a> {
    start: ChunkStart,
    /// First row of the next chunk.
    end_row: u64,
    text: &'a [u8],
}

impl CsvFile {
    /// Counts the rows and finds the chunks, without parsing the numbers.
    pub(crate) fn open(file: DataFile, limits: &Limits) -> Result<Self, LoadError> {
        let top = after_byte_order_mark(&file)?;
        let head = read_head(&file, top)?;
        let mut index = ChunkIndex::new(limits, &head);
        scan(&file, top, &mut index)?;
        file.check_unchanged()?;
        match index.rows {
            0 => Err(LoadError::Empty { file: file.path() }),
            rows => Ok(Self { columns: head.columns, rows, chunks: index.chunks, file }),
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Cuts a range of rows where the chunks meet.
    pub(crate) fn chunks(&self, rows: &Range<u64>) -> Vec<Range<u64>> {
        let first = self.chunks.partition_point(|chunk| chunk.row <= rows.start).saturating_sub(1);
        let ends = self.chunks.iter().skip(first + 1).map(|chunk| chunk.row).chain([self.rows]);
        let mut start = rows.start;
        let mut ranges = Vec::new();
        for end in ends {
            if start >= rows.end {
                break;
            }
            ranges.push(start..end.min(rows.end));
            start = end;
        }
        ranges
    }

    /// Adds rows to the table; the range must lie within one chunk, as those from `chunks` do.
    pub(crate) fn read(
        &self,
        rows: &Range<u64>,
        text: &mut Vec<u8>,
        table: &mut Table,
    ) -> Result<(), LoadError> {
        let index = self.chunks.partition_point(|chunk| chunk.row <= rows.start).saturating_sub(1);
        let Some(&start) = self.chunks.get(index) else { return Ok(()) };
        let next = self.chunks.get(index + 1);
        let end = next.map_or(self.file.bytes(), |chunk| chunk.mark.byte);
        text.resize((end - start.mark.byte) as usize, 0);
        self.file.read_at(text, start.mark.byte)?;
        let chunk = Chunk { start, end_row: next.map_or(self.rows, |chunk| chunk.row), text };
        let parsed = self.parse(&chunk, rows, table);
        // Asked before the parser's own complaint is passed on: in a file that changed, that one misleads.
        self.file.check_unchanged()?;
        parsed
    }

    fn parse(&self, chunk: &Chunk<'_>, rows: &Range<u64>, table: &mut Table) -> Result<(), LoadError> {
        let _parse = laptime_record::stage!("parse");
        table.reserve((rows.end - rows.start) as usize);
        let mut reader = RecordReader::new(&self.file, chunk.text);
        let (mut record, mut numbers) = (ByteRecord::new(), Vec::with_capacity(self.columns));
        let mut row = chunk.start.row;
        while row < rows.end && reader.next_in(chunk.text, &mut record)? {
            if rows.contains(&row) {
                self.parse_record(&record, &mut numbers, table)
                    .map_err(|bad| self.explain(bad, chunk, row))?;
            }
            row += 1;
        }
        // A chunk read to its end must have no row more than the scan found there.
        let more = row == chunk.end_row && reader.next_in(chunk.text, &mut record)?;
        if row == rows.end && !more { Ok(()) } else { Err(self.file.changed()) }
    }

    fn parse_record(
        &self,
        record: &ByteRecord,
        numbers: &mut Vec<f32>,
        table: &mut Table,
    ) -> Result<(), BadRow> {
        if record.len() != self.columns {
            return Err(BadRow::Ragged { found: record.len() });
        }
        parse_row(record, numbers).map_err(BadRow::Cell)?;
        if let Some((&target, features)) = numbers.split_last() {
            table.push(features.iter().copied(), target);
        }
        Ok(())
    }

    fn explain(&self, bad: BadRow, chunk: &Chunk<'_>, row: u64) -> LoadError {
        let file = self.file.path();
        let line = line_of(chunk, row - chunk.start.row);
        match bad {
            BadRow::Ragged { found } => LoadError::RaggedRow { file, line, found, expected: self.columns },
            BadRow::Cell(BadCell::NotANumber { column, text }) => {
                LoadError::NotANumber { file, line, column, text }
            }
            BadRow::Cell(BadCell::NotFinite { column, text }) => {
                LoadError::NotFinite { file, line, column, text }
            }
        }
    }
}

/// Why a row cannot be used; its line is worked out only when it is needed.
#[derive(Debug)]
enum BadRow {
    Ragged { found: usize },
    Cell(BadCell),
}

/// Collects the starts of the chunks while the records go by.
#[derive(Debug)]
struct ChunkIndex {
    header: bool,
    rows: u64,
    chunks: Vec<ChunkStart>,
    chunk_rows: u64,
    chunk_text: u64,
}

impl ChunkIndex {
    fn new(limits: &Limits, head: &Head) -> Self {
        let chunk_text = limits.chunk_bytes.saturating_mul(TEXT_PER_DECODED);
        let chunk_rows = limits.chunk_rows(head.columns);
        Self { header: head.header, rows: 0, chunks: Vec::new(), chunk_rows, chunk_text }
    }

    fn add(&mut self, mark: Mark) {
        if std::mem::take(&mut self.header) {
            return;
        }
        // Text is limited too, so that rows padded with spaces cannot make a chunk of any size.
        let full = self.chunks.last().is_none_or(|chunk| {
            self.rows - chunk.row >= self.chunk_rows || mark.byte - chunk.mark.byte >= self.chunk_text
        });
        if full {
            self.chunks.push(ChunkStart { row: self.rows, mark });
        }
        self.rows += 1;
    }
}

fn scan(file: &DataFile, top: u64, index: &mut ChunkIndex) -> Result<(), LoadError> {
    let mut scanner = scanner(Mark { byte: top, line: 1 });
    let mut block = vec![0; SCAN_BYTES.min(file.bytes()) as usize];
    let mut position = top;
    while position < file.bytes() {
        let bytes = (file.bytes() - position).min(block.len() as u64);
        let block = &mut block[..bytes as usize];
        file.read_at(block, position)?;
        let _parse = laptime_record::stage!("parse");
        scanner.feed(block, &mut |mark| index.add(mark));
        if let Some((Mark { line, .. }, MAX_ROW_BYTES..)) = scanner.unfinished() {
            return Err(LoadError::RowTooLong { file: file.path(), line, limit_bytes: MAX_ROW_BYTES });
        }
        position += bytes;
    }
    scanner.finish(&mut |mark| index.add(mark));
    Ok(())
}

fn read_head(file: &DataFile, top: u64) -> Result<Head, LoadError> {
    let mut reader = RecordReader::new(file, FileText::new(file, top).take(2 * MAX_ROW_BYTES));
    let first = reader.next()?.ok_or_else(|| LoadError::Empty { file: file.path() })?;
    let second = reader.next()?;
    let (header, columns) = (is_header(&first, second.as_ref()), first.len());
    if columns < 2 {
        return Err(LoadError::TooFewColumns { file: file.path(), columns: columns as u64 });
    }
    Ok(Head { columns, header })
}

/// The line in which a row of the chunk starts. The parser counts lines too, but reports where the one before ended.
fn line_of(chunk: &Chunk<'_>, row_in_chunk: u64) -> u64 {
    let (mut seen, mut line) = (0, chunk.start.mark.line);
    let mut scanner = scanner(chunk.start.mark);
    let mut found = |mark: Mark| {
        if seen == row_in_chunk {
            line = mark.line;
        }
        seen += 1;
    };
    scanner.feed(chunk.text, &mut found);
    scanner.finish(&mut found);
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    const TINY: Limits = Limits { in_memory_bytes: 0, chunk_bytes: 24 };

    fn open(text: &[u8], limits: &Limits) -> (TempDir, Result<CsvFile, LoadError>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, text).unwrap();
        let file = CsvFile::open(DataFile::open(&path).unwrap(), limits);
        (folder, file)
    }

    fn read_all(file: &CsvFile) -> Result<Table, LoadError> {
        let mut table = Table::empty(file.columns() - 1);
        for chunk in file.chunks(&(0..file.rows())) {
            file.read(&chunk, &mut Vec::new(), &mut table)?;
        }
        Ok(table)
    }

    fn parsed(text: &str) -> Result<Table, LoadError> {
        let (_folder, file) = open(text.as_bytes(), &TINY);
        read_all(&file?)
    }

    /// Line and column of the cell that is refused.
    fn refused(text: &str) -> (u64, usize) {
        match parsed(text).unwrap_err() {
            LoadError::NotANumber { line, column, .. } | LoadError::NotFinite { line, column, .. } => {
                (line, column)
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn rows_are_read_with_or_without_a_header() {
        let expected = Table::new(2, vec![1.0, 2.0, 4.0, 5.0], vec![3.0, 6.0]);
        assert_eq!(parsed("1,2,3\n4,5,6\n").unwrap(), expected);
        assert_eq!(parsed("a,b,c\n1,2,3\n4,5,6").unwrap(), expected);
        assert_eq!(parsed("a,2019,c\n1,2,3\n4,5,6").unwrap(), expected);
    }

    #[test]
    fn line_ends_blank_lines_quotes_and_spaces_do_not_matter() {
        let expected = Table::new(1, vec![1.0, 3.0, 5.0], vec![2.0, 4.0, 6.0]);
        assert_eq!(
            parsed("\u{feff}a,b\r\n\r\n1, 2 \r\n  \r\n\"3\",\" 4\"\r\n5, \"6\"\r\n\r\n").unwrap(),
            expected
        );
        assert_eq!(parsed("\"a,\nb\",\"say \"\"c\"\"\"\n1,2\n3,4\n5,6\n").unwrap(), expected);
        assert_eq!(parsed("1,2\r3,4\r5,6\r").unwrap(), expected);
    }

    #[test]
    fn a_bad_cell_is_named_with_line_and_column_as_an_editor_counts_them() {
        assert_eq!(refused("a,b\n1,2\n3,x\n"), (3, 2));
        assert_eq!(refused("a,b\r\n\r\n1,2\r\n\r\n\r\n,4\r\n"), (6, 1));
        assert_eq!(refused("\"a\nb\",c\n1,2\n3,nan\n"), (4, 2));
        assert_eq!(refused("a,b\n1,x\n"), (2, 2));
        let many: String = (0..100).map(|row| format!("{row},1\n")).collect();
        assert_eq!(refused(&(many + "1,1e99\n")), (101, 2));
    }

    #[test]
    fn a_missing_value_in_the_first_row_is_not_taken_for_a_header() {
        assert_eq!(refused("1,,3\n4,5,6\n"), (1, 2));
    }

    #[test]
    fn the_message_names_place_cell_and_file() {
        let message = parsed("a,b\n1,2\n3,x\x1b[2J\n").unwrap_err().to_string();
        assert!(message.starts_with("line 3, column 2: `x\\u{1b}[2J` is not a number: "), "{message}");
        assert!(message.ends_with("a.csv"), "{message}");
    }

    #[test]
    fn a_row_of_another_length_is_refused() {
        for (text, expected_line, expected_found) in [("a,b\n1,2\n3\n", 3, 1), ("1,2\n\n3,4,5\n", 3, 3)] {
            let error = parsed(text).unwrap_err();
            assert!(
                matches!(error, LoadError::RaggedRow { line, found, expected: 2, .. }
                    if line == expected_line && found == expected_found),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_without_rows_or_features_is_refused() {
        for text in ["", "\n\n", "  \n", "a,b\n", "\u{feff}"] {
            assert!(matches!(parsed(text), Err(LoadError::Empty { .. })), "{text:?}");
        }
        assert!(matches!(parsed("1\n2\n"), Err(LoadError::TooFewColumns { columns: 1, .. })));
    }

    #[test]
    fn a_quote_that_is_never_closed_is_found_before_it_fills_the_memory() {
        let mut text = b"1,2\n3,\"".to_vec();
        text.resize(text.len() + (17 << 20), b'7');
        let (_folder, file) = open(&text, &TINY);
        assert!(matches!(file, Err(LoadError::RowTooLong { line: 2, .. })));
    }

    #[test]
    fn any_range_of_rows_can_be_read() {
        let text: String = (0..50).map(|row| format!("{row},{row}\n\n")).collect();
        let (_folder, file) = open(text.as_bytes(), &TINY);
        let file = file.unwrap();
        assert_eq!(file.rows(), 50);
        for range in [0..50, 7..8, 13..37, 49..50, 3..6] {
            let mut table = Table::empty(1);
            for chunk in file.chunks(&range) {
                assert!(chunk.end - chunk.start <= 3, "a chunk of 24 bytes has three rows of two numbers");
                file.read(&chunk, &mut Vec::new(), &mut table).unwrap();
            }
            let expected: Vec<f32> = range.map(|row| row as f32).collect();
            assert_eq!(table.targets(), expected);
        }
    }

    #[test]
    fn padding_cannot_make_a_chunk_of_any_size() {
        let text: String = (0..50).map(|row| format!("{row},{}1\n", " ".repeat(1000))).collect();
        let (_folder, file) = open(text.as_bytes(), &Limits { in_memory_bytes: 0, chunk_bytes: 800 });
        let chunks = file.unwrap().chunks(&(0..50));
        assert!(chunks.iter().all(|chunk| chunk.end - chunk.start <= 4), "{chunks:?}");
    }

    #[test]
    fn a_file_that_changes_after_it_was_counted_is_refused() {
        let (folder, file) = open(b"1,2\n3,4\n5,6\n7,8\n", &TINY);
        let file = file.unwrap();
        for text in ["1,2\n3,4\n", "1,2\n3,4\n5,6\n7,8\n9,9\n", "1,2,3,4,5,6,7,8\nx"] {
            fs::write(folder.path().join("a.csv"), text).unwrap();
            assert!(matches!(read_all(&file), Err(LoadError::Changed { .. })), "{text:?}");
        }
    }
}
