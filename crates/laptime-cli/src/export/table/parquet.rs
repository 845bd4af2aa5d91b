//! Parquet: plain uncompressed pages, which every reader takes.
//!
//! The numbers are those of parquet.thrift in apache/parquet-format. Rows are written a group at a time, so that
//! memory does not grow with them.

use std::io::{self, Write};

use super::thrift::{Struct, varint};
use super::{Cell, Column, Kind, Rows};

const MAGIC: &[u8] = b"PAR1";
/// Rows of a group: large enough to scan fast, small enough to keep.
const GROUP: usize = 1 << 16;
/// `Encoding`.
const PLAIN: i32 = 0;
const RLE: i32 = 3;
/// `FieldRepetitionType`: any cell may be empty.
const OPTIONAL: i32 = 1;
/// `ConvertedType` of text.
const UTF8: i32 = 0;

/// Writes a table as a Parquet file.
pub(in crate::export) struct ParquetRows<'a> {
    out: &'a mut dyn Write,
    columns: Vec<(Column, Page)>,
    written: u64,
    rows: u64,
    groups: Vec<Struct>,
}

/// The cells of one column of the group that is being filled.
#[derive(Default)]
struct Page {
    present: Vec<bool>,
    values: Vec<u8>,
    flags: Vec<bool>,
}

impl<'a> ParquetRows<'a> {
    /// A table that goes there.
    pub(in crate::export) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, columns: Vec::new(), written: 0, rows: 0, groups: Vec::new() }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn end_group(&mut self) -> io::Result<()> {
        let rows = self.columns.first().map_or(0, |(_, page)| page.present.len());
        if rows == 0 {
            return Ok(());
        }
        let before = self.written;
        let mut chunks = Vec::new();
        let mut columns = std::mem::take(&mut self.columns);
        for (column, page) in &mut columns {
            let begin = self.written;
            let bytes = std::mem::take(page).bytes();
            let head = page_head(rows, bytes.len()).ended();
            self.put(&head)?;
            self.put(&bytes)?;
            chunks.push(chunk(column, rows, begin, self.written - begin));
        }
        self.columns = columns;
        let mut group = Struct::default();
        group.structs(1, chunks).i64(2, signed(self.written - before)).i64(3, signed(rows as u64));
        self.groups.push(group);
        self.rows += rows as u64;
        Ok(())
    }

    /// What the file is: schema, groups of rows and where they lie.
    fn footer(&mut self) -> Vec<u8> {
        let mut root = Struct::default();
        root.text(4, "schema").i32(5, i32::try_from(self.columns.len()).unwrap_or(i32::MAX));
        let leaves = self.columns.iter().map(|(column, _)| {
            let mut leaf = Struct::default();
            leaf.i32(1, physical(column.kind)).i32(3, OPTIONAL).text(4, &column.name);
            if column.kind == Kind::Word {
                leaf.i32(6, UTF8);
            }
            leaf
        });
        let schema = std::iter::once(root).chain(leaves).collect();
        let mut file = Struct::default();
        file.i32(1, 1).structs(2, schema).i64(3, signed(self.rows));
        file.structs(4, std::mem::take(&mut self.groups));
        file.text(6, concat!("laptime version ", env!("CARGO_PKG_VERSION")));
        file.ended()
    }
}

impl Rows for ParquetRows<'_> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.columns = columns.iter().map(|column| (column.clone(), Page::default())).collect();
        self.put(MAGIC)
    }

    fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        self.columns.iter_mut().zip(cells).for_each(|((_, page), cell)| page.take(*cell));
        match self.columns.first() {
            Some((_, page)) if page.present.len() >= GROUP => self.end_group(),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.end_group()?;
        let footer = self.footer();
        self.put(&footer)?;
        self.put(&u32::try_from(footer.len()).map_err(io::Error::other)?.to_le_bytes())?;
        self.put(MAGIC)
    }
}

impl Page {
    fn take(&mut self, cell: Cell) {
        self.present.push(cell != Cell::Empty);
        match cell {
            Cell::Empty => {}
            Cell::Whole(number) => self.values.extend(signed(number).to_le_bytes()),
            Cell::Number(number) => self.values.extend(number.to_le_bytes()),
            Cell::Flag(flag) => self.flags.push(flag),
            Cell::Word(word) => {
                self.values.extend((word.len() as u32).to_le_bytes());
                self.values.extend(word.as_bytes());
            }
        }
    }

    /// Which cells are there, in runs, and then those.
    fn bytes(self) -> Vec<u8> {
        let mut levels = Vec::new();
        for run in self.present.chunk_by(|a, b| a == b) {
            varint((run.len() as u64) << 1, &mut levels);
            levels.push(u8::from(run.first() == Some(&true)));
        }
        let mut bytes = (levels.len() as u32).to_le_bytes().to_vec();
        bytes.extend(levels);
        bytes.extend(self.values);
        let bits = |eight: &[bool]| eight.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
        bytes.extend(self.flags.chunks(8).map(bits));
        bytes
    }
}

/// `PageHeader` of one data page.
fn page_head(rows: usize, bytes: usize) -> Struct {
    let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
    let mut data = Struct::default();
    data.i32(1, number(rows)).i32(2, PLAIN).i32(3, RLE).i32(4, RLE);
    let mut head = Struct::default();
    head.i32(1, 0).i32(2, number(bytes)).i32(3, number(bytes)).inner(5, data);
    head
}

/// `ColumnChunk` of one page.
fn chunk(column: &Column, rows: usize, begin: u64, bytes: u64) -> Struct {
    let mut meta = Struct::default();
    meta.i32(1, physical(column.kind)).numbers(2, &[PLAIN, RLE]).texts(3, &[&column.name]);
    meta.i32(4, 0).i64(5, signed(rows as u64)).i64(6, signed(bytes)).i64(7, signed(bytes));
    meta.i64(9, signed(begin));
    let mut chunk = Struct::default();
    chunk.i64(2, signed(begin)).inner(3, meta);
    chunk
}

/// `Type`.
fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Flag => 0,
        Kind::Whole => 2,
        Kind::Number => 5,
        Kind::Word => 6,
    }
}

/// Parquet's whole numbers have a sign, which no count of ours comes near.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
