//! Parquet: its footer has rows, values and sizes; no data page is read.

use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::thrift::{Compact, Kind};
use super::{Contents, Measured, believe};

const MAGIC: &[u8; 4] = b"PAR1";
const ENCRYPTED: &[u8; 4] = b"PARE";

/// The magic at both ends and the length of the footer.
const LEAST_BYTES: u64 = 12;

/// What is in a Parquet file, by its footer.
pub(crate) fn measure_parquet(stored: &(impl Stored + ?Sized)) -> Result<Measured, FileProblem> {
    let bytes = stored.bytes();
    if bytes < LEAST_BYTES {
        return Err(FileProblem::NotThat("Parquet"));
    }
    let start = stored.take(0, 4)?;
    let tail = stored.take(bytes - 8, 8)?;
    if start == ENCRYPTED || tail.ends_with(ENCRYPTED) {
        return Err(FileProblem::NotUnderstood("its footer is encrypted"));
    }
    match (start == MAGIC, tail.ends_with(MAGIC)) {
        (true, true) => {}
        (true, false) => return Err(FileProblem::Truncated),
        (false, _) => return Err(FileProblem::NotThat("Parquet")),
    }
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let footer = (bytes - 8).checked_sub(length).filter(|start| *start >= 4);
    let footer = footer.ok_or(FileProblem::Damaged("its footer is said to be larger than the file"))?;
    let found = read_footer(&mut Compact::new(stored, footer, bytes - 8))?;
    let claimed_rows = found.claimed_rows.ok_or(FileProblem::Damaged("its footer has no row count"))?;
    if claimed_rows != found.contents.rows {
        return Err(FileProblem::Damaged("its row groups have another number of rows than the file"));
    }
    if found.data_bytes > footer {
        return Err(FileProblem::Truncated);
    }
    believe(found.contents, stored).map(Measured::from)
}

/// What the footer says, added up.
#[derive(Default)]
struct Found {
    /// `None` until the footer gives it, which every footer does.
    claimed_rows: Option<u64>,
    contents: Contents,
    /// Stored bytes of all columns.
    data_bytes: u64,
}

fn read_footer<S: Stored + ?Sized>(footer: &mut Compact<'_, S>) -> Result<Found, FileProblem> {
    let mut found = Found::default();
    found.contents.decoded_exactly = true;
    footer.fields(|footer, field, kind| match field {
        3 => {
            found.claimed_rows = Some(footer.count(kind)?);
            Ok(())
        }
        4 if kind == Kind::List => footer.elements(|footer, _| read_row_group(footer, &mut found)),
        _ => footer.skip(kind),
    })?;
    Ok(found)
}

fn read_row_group<S: Stored + ?Sized>(
    footer: &mut Compact<'_, S>,
    found: &mut Found,
) -> Result<(), FileProblem> {
    let (mut rows, mut other_columns) = (0, 0);
    footer.fields(|footer, field, kind| match field {
        1 if kind == Kind::List => footer.elements(|footer, _| {
            let column = read_column(footer)?;
            other_columns += u64::from(column.number_bytes().is_none());
            add_column(found, &column)
        }),
        3 => {
            rows = footer.count(kind)?;
            Ok(())
        }
        _ => footer.skip(kind),
    })?;
    add(&mut found.contents.rows, rows)?;
    found.contents.other_columns = found.contents.other_columns.max(other_columns);
    Ok(())
}

/// One column of a row group.
#[derive(Default)]
struct Column {
    physical_type: u64,
    values: u64,
    uncompressed_bytes: u64,
    compressed_bytes: u64,
    /// Bytes of the values as they are in memory, where the writer recorded them.
    unencoded_bytes: Option<u64>,
}

impl Column {
    /// Bytes of one number in memory; `None` for texts and the like.
    fn number_bytes(&self) -> Option<u64> {
        match self.physical_type {
            0 => Some(1),
            1 | 4 => Some(4),
            2 | 5 => Some(8),
            3 => Some(12),
            _ => None,
        }
    }
}

fn read_column<S: Stored + ?Sized>(footer: &mut Compact<'_, S>) -> Result<Column, FileProblem> {
    let mut column = Column::default();
    footer.fields(|footer, field, kind| match field {
        3 if kind == Kind::Struct => footer.fields(|footer, field, kind| {
            match field {
                1 => column.physical_type = footer.count(kind)?,
                5 => column.values = footer.count(kind)?,
                6 => column.uncompressed_bytes = footer.count(kind)?,
                7 => column.compressed_bytes = footer.count(kind)?,
                16 if kind == Kind::Struct => column.unencoded_bytes = read_unencoded(footer)?,
                _ => footer.skip(kind)?,
            }
            Ok(())
        }),
        _ => footer.skip(kind),
    })?;
    Ok(column)
}

fn read_unencoded<S: Stored + ?Sized>(footer: &mut Compact<'_, S>) -> Result<Option<u64>, FileProblem> {
    let mut bytes = None;
    footer.fields(|footer, field, kind| {
        match field {
            1 => bytes = Some(footer.count(kind)?),
            _ => footer.skip(kind)?,
        }
        Ok(())
    })?;
    Ok(bytes)
}

fn add_column(found: &mut Found, column: &Column) -> Result<(), FileProblem> {
    let contents = &mut found.contents;
    let decoded = match column.number_bytes() {
        Some(bytes) => {
            add(&mut contents.numbers, column.values)?;
            column.values.checked_mul(bytes).ok_or(TOO_MUCH)?
        }
        None => {
            contents.decoded_exactly &= column.unencoded_bytes.is_some();
            column.unencoded_bytes.unwrap_or(column.uncompressed_bytes)
        }
    };
    add(&mut contents.decoded_bytes, decoded)?;
    add(&mut found.data_bytes, column.compressed_bytes)
}

const TOO_MUCH: FileProblem = FileProblem::Damaged("a size in its footer is beyond any file");

fn add(sum: &mut u64, part: u64) -> Result<(), FileProblem> {
    *sum = sum.checked_add(part).ok_or(TOO_MUCH)?;
    Ok(())
}
