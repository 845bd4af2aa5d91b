//! A CSV file as a source: cut at records, parsed by as many threads as there are.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use csv::{ByteRecord, ReaderBuilder};
use laptime_load::pack::{Column, ColumnData, ColumnKind, Element, PackSchema, RowBlock};
use laptime_load::{DataFile, LoadError, Mark, RecordScanner, is_header, parse_cell, shown_text};

use super::decimal::leading_number;
use super::error::SourceError;
use super::source::{BlockReader, PackSource};

/// Longest record that is read: an unclosed quote makes the rest of a file one record. As for training.
const MAX_ROW_BYTES: u64 = 16 << 20;

/// Text of a block: it stays in the cache of a core while it is parsed.
const BLOCK_BYTES: u64 = 512 << 10;

/// Bytes looked through at a time for quotes and ends of records; they stay in the cache.
const SCAN_BYTES: u64 = 256 << 10;

const DELIMITER: u8 = b',';

/// Type of the target column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetType {
    /// As `laptime train` reads it.
    #[default]
    Float32,
    /// Whole numbers: classes.
    Int64,
}

/// How a table is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Name of the target column, or its number counted from 1; the last when not given.
    pub target: Option<String>,
    /// Type of the target.
    pub target_type: TargetType,
    /// Whether features may be missing: an empty cell and `nan` are kept as NaN.
    pub allow_nan: bool,
}

/// A CSV file that is cut into blocks of whole records.
#[derive(Debug)]
pub(super) struct CsvSource {
    file: DataFile,
    schema: PackSchema,
    has_header: bool,
    columns: usize,
    target: usize,
    options: TableOptions,
    cuts: RwLock<Cuts>,
}

/// Where blocks begin. Without quotes every line end ends a record, so cuts need no look at what is between them; from
/// the first block with a quote on they are found by reading all of it.
#[derive(Debug)]
struct Cuts {
    /// The start of each block, and after them the end of the file.
    places: Vec<u64>,
    /// The first block that may have quotes.
    quoted: usize,
}

/// What the first records show.
struct Head {
    /// Where the first row begins.
    start: u64,
    names: Option<Vec<String>>,
    columns: usize,
}

impl CsvSource {
    pub(super) fn open(path: &Path, options: &TableOptions) -> Result<Self, SourceError> {
        let file = DataFile::open(path)?;
        let head = read_head(&file)?;
        let target = target_of(&file, &head, options.target.as_deref())?;
        let cuts = RwLock::new(Cuts { places: cuts_of_lines(&file, head.start)?, quoted: usize::MAX });
        file.check_unchanged()?;
        let schema = schema_of(&head, target, options.target_type);
        let Head { names, columns, .. } = head;
        let has_header = names.is_some();
        Ok(Self { file, schema, has_header, columns, target, options: options.clone(), cuts })
    }

    /// Where a block begins and ends, and whether quotes were minded.
    fn block(&self, block: usize) -> Option<(u64, u64, bool)> {
        let cuts = self.cuts.read().unwrap_or_else(PoisonError::into_inner);
        let &[start, end] = cuts.places.get(block..block + 2)? else { return None };
        Some((start, end, block >= cuts.quoted))
    }

    /// Reads a record's fields into the columns.
    fn push(&self, fields: &ByteRecord, rows: &mut Rows) -> Result<(), BadRow> {
        if fields.len() != self.columns {
            return Err(BadRow::Ragged { found: fields.len() });
        }
        (0..self.columns).try_for_each(|column| self.push_cell(column, &fields[column], rows))
    }

    /// A block without quotes: numbers are read where they stand.
    fn parse_lines(&self, text: &[u8], rows: &mut Rows) -> Result<(), (usize, BadRow)> {
        // Classes are read in a way of their own.
        let class = if self.is_class(self.target) { self.target } else { usize::MAX };
        let mut at = 0;
        while at < text.len() {
            let start = at;
            let mut column = 0;
            loop {
                let number = leading_number(&text[at..]).filter(|(_, bytes)| is_end(text.get(at + bytes)));
                match number {
                    Some((number, bytes)) if column < self.columns && column != class => {
                        rows.push(column == self.target, number);
                        at += bytes;
                    }
                    _ => {
                        let cell = cell_at(text, at);
                        at += cell.len();
                        if column == 0 && text.get(at) != Some(&DELIMITER) && cell.trim_ascii().is_empty() {
                            break;
                        }
                        if column < self.columns {
                            self.push_cell(column, cell, rows).map_err(|bad| (start, bad))?;
                        }
                    }
                }
                column += 1;
                if text.get(at) != Some(&DELIMITER) {
                    if column != self.columns {
                        return Err((start, BadRow::Ragged { found: column }));
                    }
                    rows.count += 1;
                    break;
                }
                at += 1;
            }
            at += 1;
        }
        Ok(())
    }

    /// A block with quotes: the `csv` crate splits it.
    fn parse_records(&self, text: &[u8], rows: &mut Rows) -> Result<(), (usize, BadRow)> {
        let mut builder = ReaderBuilder::new();
        let mut reader = builder.delimiter(DELIMITER).has_headers(false).flexible(true).from_reader(text);
        let (mut record, mut start) = (ByteRecord::new(), 0);
        // Reading from memory cannot fail, so an error ends the text like its end.
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            let end = reader.position().byte() as usize;
            let raw = &text[start..end];
            if record.len() > 1 || !raw.trim_ascii().is_empty() {
                let blank = raw.len() - raw.trim_ascii_start().len();
                self.push(&record, rows).map_err(|bad| (start + blank, bad))?;
                rows.count += 1;
            }
            start = end;
        }
        Ok(())
    }

    fn is_class(&self, column: usize) -> bool {
        column == self.target && self.options.target_type == TargetType::Int64
    }

    /// Reads one cell in the way that knows every form, and says what is wrong with it.
    fn push_cell(&self, column: usize, cell: &[u8], rows: &mut Rows) -> Result<(), BadRow> {
        let is_target = column == self.target;
        let bad = |problem| BadRow::Cell { column: column + 1, text: shown_text(cell), problem };
        let blank = cell.trim_ascii().is_empty();
        if is_target && blank {
            return Err(bad(Problem::MissingLabel));
        }
        if self.is_class(column) {
            let class = class_of(cell).ok_or_else(|| bad(Problem::NotAnInteger))?;
            rows.targets.extend(class.to_le_bytes());
            return Ok(());
        }
        let may_miss = self.options.allow_nan && !is_target;
        match parse_cell(cell) {
            Some(number) if number.is_finite() || (number.is_nan() && may_miss) => {
                rows.push(is_target, number);
            }
            Some(_) => return Err(bad(Problem::NotFinite)),
            None if blank && may_miss => rows.push(false, f32::NAN),
            None => return Err(bad(Problem::NotANumber)),
        }
        Ok(())
    }

    fn explain(&self, byte: u64, bad: BadRow) -> Result<SourceError, SourceError> {
        let (file, line) = (self.file.path(), line_of(&self.file, byte)?);
        let (column, text, problem) = match bad {
            BadRow::Ragged { found } => {
                return Ok(LoadError::RaggedRow { file, line, found, expected: self.columns }.into());
            }
            BadRow::Cell { column, text, problem } => (column, text, problem),
        };
        Ok(match problem {
            Problem::NotANumber => LoadError::NotANumber { file, line, column, text }.into(),
            Problem::NotFinite => LoadError::NotFinite { file, line, column, text }.into(),
            Problem::MissingLabel => SourceError::unfit_file(
                format!("line {line}, column {column}: the target has no value"),
                &file,
                "leave rows without a target out, or name another column by --target",
            ),
            Problem::NotAnInteger => SourceError::unfit_file(
                format!("line {line}, column {column}: `{text}` is not a whole number"),
                &file,
                "leave --target-type int64 out, and the target is kept as float32",
            ),
        })
    }
}

impl PackSource for CsvSource {
    fn schema(&self) -> &PackSchema {
        &self.schema
    }

    fn blocks(&self) -> Option<usize> {
        Some(self.cuts.read().unwrap_or_else(PoisonError::into_inner).places.len() - 1)
    }

    fn rows(&self) -> Option<u64> {
        None
    }

    fn rows_of(&self, _block: usize) -> Option<u64> {
        None
    }

    fn reader(&self) -> Result<Box<dyn BlockReader + '_>, SourceError> {
        Ok(Box::new(CsvReader { source: self, text: Vec::new() }))
    }

    fn remarks(&self) -> Vec<String> {
        let remark = "no header was found, so that the first line is a sample";
        if self.has_header { Vec::new() } else { vec![remark.to_owned()] }
    }

    /// Blocks before this one have no quotes, so that it begins with a record, wherever the next ones do.
    fn cut_again(&self, block: usize) -> Result<(), SourceError> {
        let mut cuts = self.cuts.write().unwrap_or_else(PoisonError::into_inner);
        let start = cuts.places[block];
        cuts.places.truncate(block);
        cuts.places.extend(cuts_of_records(&self.file, start)?);
        cuts.quoted = block;
        Ok(())
    }
}

struct CsvReader<'a> {
    source: &'a CsvSource,
    text: Vec<u8>,
}

impl BlockReader for CsvReader<'_> {
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError> {
        let source = self.source;
        let Some((start, end, quoted)) = source.block(block) else { return Ok(None) };
        self.text.resize((end - start) as usize, 0);
        source.file.read_at(&mut self.text, start)?;
        let mut rows = Rows::with_room(self.text.len());
        let parsed = match memchr::memchr(b'"', &self.text) {
            None => source.parse_lines(&self.text, &mut rows),
            Some(_) if quoted => source.parse_records(&self.text, &mut rows),
            Some(_) => return Err(SourceError::CutAgain),
        };
        // Asked before the parser's own complaint is passed on: in a file that changed, that one misleads.
        source.file.check_unchanged()?;
        if let Err((place, bad)) = parsed {
            return Err(source.explain(start + place as u64, bad)?);
        }
        Ok(Some(rows.into_block()))
    }
}

/// The rows of a block as they are packed.
struct Rows {
    count: usize,
    features: Vec<u8>,
    targets: Vec<u8>,
}

impl Rows {
    fn with_room(text: usize) -> Self {
        // A number takes about two to four times its four bytes as text.
        Self { count: 0, features: Vec::with_capacity(text / 2), targets: Vec::with_capacity(text / 8) }
    }

    #[inline]
    fn push(&mut self, is_target: bool, number: f32) {
        let column = if is_target { &mut self.targets } else { &mut self.features };
        column.extend_from_slice(&number.to_le_bytes());
    }

    fn into_block(self) -> RowBlock {
        let columns = vec![ColumnData::Fixed(self.features), ColumnData::Fixed(self.targets)];
        RowBlock { rows: self.count, columns }
    }
}

/// Why a row cannot be packed; its line is worked out only then.
#[derive(Debug)]
enum BadRow {
    Ragged { found: usize },
    Cell { column: usize, text: String, problem: Problem },
}

#[derive(Debug)]
enum Problem {
    NotANumber,
    NotFinite,
    MissingLabel,
    NotAnInteger,
}

/// The whole number in a cell; one that had missing values beside it is often written as `3.0`.
fn class_of(cell: &[u8]) -> Option<i64> {
    // Quotes after a space are part of a cell.
    let is_around = |letter: char| letter == '"' || letter.is_ascii_whitespace();
    let text = std::str::from_utf8(cell).ok()?.trim_matches(is_around);
    let whole = text.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|byte| byte == b'0'));
    whole.map_or(text, |(whole, _)| whole).parse().ok()
}

fn is_end(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(&DELIMITER | b'\n' | b'\r'))
}

/// The cell from a place on, without what ends it.
fn cell_at(text: &[u8], at: usize) -> &[u8] {
    let rest = &text[at..];
    let end = memchr::memchr3(DELIMITER, b'\n', b'\r', rest).unwrap_or(rest.len());
    &rest[..end]
}

fn read_head(file: &DataFile) -> Result<Head, SourceError> {
    let text = read_first(file, 2 * MAX_ROW_BYTES)?;
    let top = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut builder = ReaderBuilder::new();
    let mut reader = builder.delimiter(DELIMITER).has_headers(false).flexible(true).from_reader(&text[top..]);
    let mut next = || {
        let mut record = ByteRecord::new();
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            if record.len() > 1 || record.iter().any(|cell| !cell.trim_ascii().is_empty()) {
                return Some((record, reader.position().byte()));
            }
        }
        None
    };
    let empty = || LoadError::Empty { file: file.path() };
    let (first, after) = next().ok_or_else(empty)?;
    let second = next().map(|(record, _)| record);
    if first.len() < 2 {
        return Err(LoadError::TooFewColumns { file: file.path(), columns: first.len() as u64 }.into());
    }
    if !is_header(&first, second.as_ref()) {
        return Ok(Head { start: top as u64, names: None, columns: first.len() });
    }
    second.ok_or_else(empty)?;
    let names = first.iter().map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned()).collect();
    Ok(Head { start: top as u64 + after, names: Some(names), columns: first.len() })
}

/// The start of the file: a little of it, and more only as long as that has not two lines.
fn read_first(file: &DataFile, most: u64) -> Result<Vec<u8>, SourceError> {
    let mut text = Vec::new();
    let mut bytes = 64 << 10;
    loop {
        text.resize(file.bytes().min(bytes) as usize, 0);
        file.read_at(&mut text, 0)?;
        let mut records = 0;
        let mut scanner = RecordScanner::new(Mark { byte: 0, line: 1 }, Some(DELIMITER));
        scanner.feed(&text, &mut |_| records += 1);
        if records >= 2 || text.len() as u64 == file.bytes() || bytes >= most {
            return Ok(text);
        }
        bytes *= 4;
    }
}

fn target_of(file: &DataFile, head: &Head, asked: Option<&str>) -> Result<usize, SourceError> {
    let Some(asked) = asked else { return Ok(head.columns - 1) };
    let named = head.names.iter().flatten().position(|name| name == asked);
    let numbered = asked.parse::<usize>().ok().filter(|number| (1..=head.columns).contains(number));
    let found = named.or(numbered.map(|number| number - 1));
    found.ok_or_else(|| {
        let columns = match &head.names {
            Some(names) => format!("its columns are {}", listed(names)),
            None => format!("it has no header: give a number from 1 to {}", head.columns),
        };
        SourceError::unfit_file(
            format!("there is no column `{}`", shown_text(asked.as_bytes())),
            &file.path(),
            columns,
        )
    })
}

/// The first names of a list.
fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let first: Vec<String> = names.iter().take(MOST).map(|name| shown_text(name.as_bytes())).collect();
    let more = names.len().saturating_sub(MOST);
    if more == 0 { first.join(", ") } else { format!("{} and {more} more", first.join(", ")) }
}

fn schema_of(head: &Head, target: usize, target_type: TargetType) -> PackSchema {
    let features = head.names.iter().flatten().enumerate().filter(|(column, _)| *column != target);
    let feature_names: Vec<String> = features.map(|(_, name)| name.clone()).collect();
    let element = match target_type {
        TargetType::Float32 => Element::F32,
        TargetType::Int64 => Element::I64,
    };
    let x = ColumnKind::Fixed { element: Element::F32, shape: vec![head.columns - 1] };
    let y = ColumnKind::Fixed { element, shape: Vec::new() };
    PackSchema { columns: vec![Column { feature_names, ..Column::new("x", x) }, Column::new("y", y)] }
}

/// Cuts after the line ends that follow every so many bytes.
fn cuts_of_lines(file: &DataFile, start: u64) -> Result<Vec<u64>, SourceError> {
    let mut cuts = vec![start];
    let mut block = vec![0; 4 << 10];
    let mut at = start + BLOCK_BYTES;
    let mut from = at;
    while at < file.bytes() {
        let block = &mut block[..(file.bytes() - at).min(4 << 10) as usize];
        file.read_at(block, at)?;
        match memchr::memchr2(b'\n', b'\r', block) {
            Some(place) => {
                let cut = at + place as u64 + 1;
                cuts.push(cut);
                at = cut + BLOCK_BYTES;
                from = at;
            }
            None if at - from > MAX_ROW_BYTES => {
                let line = line_of(file, from)?;
                return Err(
                    LoadError::RowTooLong { file: file.path(), line, limit_bytes: MAX_ROW_BYTES }.into()
                );
            }
            None => at += block.len() as u64,
        }
    }
    cuts.retain(|cut| *cut < file.bytes());
    cuts.push(file.bytes());
    Ok(cuts)
}

/// Cuts where records start, found by reading all of the file.
fn cuts_of_records(file: &DataFile, start: u64) -> Result<Vec<u64>, SourceError> {
    let mut cuts = vec![start];
    let mut scanner = RecordScanner::new(Mark { byte: start, line: 1 }, Some(DELIMITER));
    let mut block = vec![0; SCAN_BYTES.min(file.bytes()) as usize];
    let mut at = start;
    while at < file.bytes() {
        let block = &mut block[..(file.bytes() - at).min(SCAN_BYTES) as usize];
        file.read_at(block, at)?;
        scanner.feed(block, &mut |mark| {
            if mark.byte >= cuts.last().copied().unwrap_or(0) + BLOCK_BYTES {
                cuts.push(mark.byte);
            }
        });
        if let Some((Mark { byte, .. }, MAX_ROW_BYTES..)) = scanner.unfinished() {
            let line = line_of(file, byte)?;
            return Err(LoadError::RowTooLong { file: file.path(), line, limit_bytes: MAX_ROW_BYTES }.into());
        }
        at += block.len() as u64;
    }
    cuts.push(file.bytes());
    Ok(cuts)
}

/// The line of a byte, as an editor counts.
fn line_of(file: &DataFile, byte: u64) -> Result<u64, SourceError> {
    let (mut at, mut line) = (0, 1);
    let mut block = vec![0; SCAN_BYTES.min(file.bytes()) as usize];
    while at < byte {
        let block = &mut block[..(byte - at).min(SCAN_BYTES) as usize];
        file.read_at(block, at)?;
        line += memchr::memchr_iter(b'\n', block).count() as u64;
        at += block.len() as u64;
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Features and targets of all blocks, row after row.
    fn packed(text: &[u8], options: &TableOptions) -> Result<(Vec<f32>, Vec<u8>), SourceError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, text).unwrap();
        let source = CsvSource::open(&path, options)?;
        let (mut features, mut targets, mut block) = (Vec::new(), Vec::new(), 0);
        loop {
            let read = match source.reader()?.read(block) {
                Err(SourceError::CutAgain) => {
                    source.cut_again(block)?;
                    continue;
                }
                read => read?,
            };
            let Some(RowBlock { columns, .. }) = read else { break };
            let [ColumnData::Fixed(x), ColumnData::Fixed(y)] = columns.as_slice() else {
                panic!("{columns:?}")
            };
            features.extend(x.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())));
            targets.extend(y);
            block += 1;
        }
        Ok((features, targets))
    }

    fn plain(text: &str) -> Result<(Vec<f32>, Vec<f32>), SourceError> {
        let (features, targets) = packed(text.as_bytes(), &TableOptions::default())?;
        Ok((
            features,
            targets.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect(),
        ))
    }

    fn refused(text: &str, options: &TableOptions) -> String {
        packed(text.as_bytes(), options).unwrap_err().to_string().split(": /").next().unwrap().to_owned()
    }

    #[test]
    fn rows_are_read_with_or_without_header_quotes_blank_lines_and_last_line_end() {
        let expected = (vec![1.0, 2.0, 4.0, 5.0], vec![3.0, 6.0]);
        for text in [
            "1,2,3\n4,5,6\n",
            "a,b,c\n1,2,3\n4,5,6",
            "\u{feff}a,b,c\r\n\r\n1, 2 ,3\r\n  \r\n4,5,6\r\n\r\n",
            "1,2,3\r4,5,6\r",
            "\"a\n1\",b,c\n\"1\",2,\"3\"\n4,\" 5\",6\n",
            "a,2019,c\n1.0,2e0,3\n4,+5,06\n",
        ] {
            assert_eq!(plain(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn the_target_is_chosen_by_name_or_number_and_may_be_a_class() {
        let target = |name: &str| TableOptions { target: Some(name.into()), ..TableOptions::default() };
        let text = b"a,b,c\n1,2,3\n4,5,6\n";
        for name in ["a", "1"] {
            assert_eq!(packed(text, &target(name)).unwrap().0, [2.0, 3.0, 5.0, 6.0]);
        }
        assert_eq!(refused("a,b\n1,2\n", &target("z")), "there is no column `z`");
        let classes = TableOptions { target_type: TargetType::Int64, ..TableOptions::default() };
        let (_, bytes) = packed(b"1,-9007199254740993\n2,4\n", &classes).unwrap();
        assert_eq!(bytes, [(-9_007_199_254_740_993_i64).to_le_bytes(), 4_i64.to_le_bytes()].concat());
        let (_, bytes) = packed(b"a,b\n1,3.0\n2, \"4\"\n", &classes).unwrap();
        assert_eq!(bytes, [3_i64.to_le_bytes(), 4_i64.to_le_bytes()].concat());
        assert_eq!(refused("a,b\n1,2.5\n", &classes), "line 2, column 2: `2.5` is not a whole number");
    }

    #[test]
    fn what_cannot_be_packed_is_named_with_line_and_column() {
        let (strict, nan) =
            (TableOptions::default(), TableOptions { allow_nan: true, ..TableOptions::default() });
        let cases = [
            ("a,b\n1,2\n3,x\n", "line 3, column 2: `x` is not a number"),
            ("a,b\n1,2\n3,\n", "line 3, column 2: the target has no value"),
            ("a,b\n1,2\n,3\n", "line 3, column 1: `` is not a number"),
            ("a,b\n\n\nnan,2\n", "line 4, column 1: `nan` is not a finite 32-bit number"),
            ("a,b\n1,2\n3\n", "line 3: 1 columns where the first row has 2"),
            ("a,b\n1,2\n3,4,5\n", "line 3: 3 columns where the first row has 2"),
            ("\"a\n\",b\n1,2\n\"3\",y\n", "line 4, column 2: `y` is not a number"),
            ("a,b\n", "no rows"),
            ("1\n2\n", "a row needs a feature and a target, two columns at least, but has 1"),
        ];
        for (text, message) in cases {
            assert_eq!(refused(text, &strict), message, "{text:?}");
        }
        let (features, _) = packed(b"a,b\nnan,2\n,3\n", &nan).unwrap();
        assert!(features.iter().all(|number| number.is_nan()) && features.len() == 2);
        assert_eq!(refused("a,b\n1,nan\n", &nan), "line 2, column 2: `nan` is not a finite 32-bit number");
        assert_eq!(refused("a,b\ninf,1\n", &nan), "line 2, column 1: `inf` is not a finite 32-bit number");
    }

    #[test]
    fn blocks_have_the_same_rows_wherever_the_first_quote_is() {
        let row = |row: usize| format!("{row},{}\n", row * 2);
        let rows = 200_000;
        for quoted in [usize::MAX, 0, 120_000] {
            let text: String = (0..rows)
                .map(|at| if at == quoted { format!("\"{at}\",{}\n", at * 2) } else { row(at) })
                .collect();
            assert!(text.len() as u64 > 3 * BLOCK_BYTES);
            let (features, targets) = plain(&text).unwrap();
            assert!(features.iter().enumerate().all(|(row, number)| *number == row as f32));
            assert_eq!(targets.len(), rows);
        }
    }

    #[test]
    fn no_damaged_file_panics_and_what_is_packed_is_what_training_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let seeds = [
            b"a,b,target\n1,2,3\n4,5,6\n7,8,9\n".to_vec(),
            b"1,2\r\n\r\n\"3\", 4 \r\n-5e3,.6".to_vec(),
            b"\xef\xbb\xbfx,y\n\"1\",\"2\"\n3,4\n".to_vec(),
        ];
        crate::mutation::survive_in_memory(&seeds, |bytes| {
            let _ = fs::remove_file(&path);
            fs::write(&path, bytes).unwrap();
            let trained = laptime_load::Dataset::open(&path, &laptime_load::Limits::default());
            let packed = packed(bytes, &TableOptions::default());
            assert_eq!(packed.is_ok(), trained.is_ok(), "{packed:?} {:?}", String::from_utf8_lossy(bytes));
            packed.is_ok()
        });
    }
}
