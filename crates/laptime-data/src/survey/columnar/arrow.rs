//! Arrow IPC, as a file (Feather) or as a stream: the description of every batch is read, none of its data.
//!
//! A file is a stream between two magics, so both are walked message by message. That also gives the rows of a
//! file whose end is missing.

use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::flatbuffer::{Table, Vector};
use super::{Contents, Measured, believe};

const FILE_MAGIC: &[u8; 6] = b"ARROW1";
const FEATHER_1: &[u8; 4] = b"FEA1";

/// Longest description of one message: 200,000 columns fit.
const MAX_DESCRIPTION: u64 = 8 << 20;

/// Columns within columns; deeper nesting is taken for damage.
const DEEPEST: u32 = 32;

const BAD: FileProblem = FileProblem::Damaged("the description of a batch cannot be understood");

/// What is in an Arrow file or stream.
pub(crate) fn measure_arrow(stored: &(impl Stored + ?Sized)) -> Result<Measured, FileProblem> {
    let head = stored.take(0, stored.bytes().min(8))?;
    if head.starts_with(FEATHER_1) {
        return Err(FileProblem::NotUnderstood("Feather version 1; write it again as version 2"));
    }
    let is_file = head.starts_with(FILE_MAGIC);
    let mut walk = Walk { stored, position: if is_file { 8 } else { 0 }, found: Found::default() };
    let ended = walk.all();
    let Some(columns) = walk.found.columns else {
        return Err(match ended {
            Err(problem @ FileProblem::Unreadable(_)) => problem,
            _ => FileProblem::NotThat("Arrow"),
        });
    };
    let contents = believe(
        Contents { decoded_exactly: true, other_columns: columns.others, ..walk.found.contents },
        stored,
    )?;
    let missing = match ended {
        Ok(()) if is_file && !ends_as_file(stored)? => Some(FileProblem::Truncated),
        Ok(()) => None,
        Err(problem) => Some(problem),
    };
    Ok(Measured { contents, missing })
}

fn ends_as_file(stored: &(impl Stored + ?Sized)) -> Result<bool, FileProblem> {
    let bytes = stored.bytes();
    Ok(bytes >= 16 && stored.take(bytes - 6, 6)? == FILE_MAGIC)
}

#[derive(Default)]
struct Found {
    columns: Option<Columns>,
    contents: Contents,
}

/// The columns in the order of their nodes in a batch: whether each holds numbers.
#[derive(Default)]
struct Columns {
    numeric: Vec<bool>,
    others: u64,
}

struct Walk<'a, S: Stored + ?Sized> {
    stored: &'a S,
    position: u64,
    found: Found,
}

impl<S: Stored + ?Sized> Walk<'_, S> {
    /// Reads messages until the stream says that it ends, or the file does.
    fn all(&mut self) -> Result<(), FileProblem> {
        while self.message()? {}
        Ok(())
    }

    /// Reads one message; `false` at the end.
    fn message(&mut self) -> Result<bool, FileProblem> {
        let left = self.stored.bytes().saturating_sub(self.position);
        if left == 0 {
            return Ok(false);
        }
        let Some((length, start)) = self.description_place(left)? else { return Ok(false) };
        if length > MAX_DESCRIPTION {
            return Err(BAD);
        }
        let description = self.stored.take(start, length)?;
        let message = Table::root(&description).ok_or(BAD)?;
        let body = u64::try_from(message.i64(3)).map_err(|_| BAD)?;
        let body_start = start + length;
        let end = body_start.checked_add(body).ok_or(BAD)?;
        if end > self.stored.bytes() {
            return Err(FileProblem::Truncated);
        }
        self.read(&message, body_start)?;
        self.position = end;
        Ok(true)
    }

    /// Length and start of the next description; `None` where the stream says that it ends.
    fn description_place(&self, left: u64) -> Result<Option<(u64, u64)>, FileProblem> {
        let head = self.stored.take(self.position, left.min(8))?;
        let word = |at: usize| {
            let word: Option<[u8; 4]> = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            word.map(u32::from_le_bytes).ok_or(FileProblem::Truncated)
        };
        // Before Arrow 0.15 the length came without the mark of a continuation.
        let (length, start) = match word(0)? {
            u32::MAX => (word(4)?, self.position + 8),
            length => (length, self.position + 4),
        };
        Ok((length > 0).then_some((u64::from(length), start)))
    }

    fn read(&mut self, message: &Table<'_>, body: u64) -> Result<(), FileProblem> {
        match message.u8(1) {
            1 if self.found.columns.is_none() => {
                let schema = message.table(2).ok_or(BAD)?;
                self.found.columns = Some(read_columns(&schema)?);
                Ok(())
            }
            3 if self.found.columns.is_some() => {
                let batch = message.table(2).ok_or(BAD)?;
                self.add_rows(&batch)?;
                self.add_bytes(&batch, body)
            }
            // A dictionary counts as data in memory, but has no rows.
            2 if self.found.columns.is_some() => match message.table(2).and_then(|batch| batch.table(1)) {
                Some(batch) => self.add_bytes(&batch, body),
                None => Err(BAD),
            },
            _ if self.found.columns.is_none() => Err(BAD),
            _ => Ok(()),
        }
    }

    fn add_rows(&mut self, batch: &Table<'_>) -> Result<(), FileProblem> {
        let contents = &mut self.found.contents;
        contents.rows = sum(contents.rows, batch.i64(0))?;
        let numeric = self.found.columns.iter().flat_map(|columns| &columns.numeric);
        let nodes = batch.vector(1);
        for (index, _) in numeric.enumerate().filter(|(_, numeric)| **numeric) {
            let (values, _) = nodes.and_then(|nodes| nodes.pair(index)).ok_or(BAD)?;
            contents.numbers = sum(contents.numbers, values)?;
        }
        Ok(())
    }

    fn add_bytes(&mut self, batch: &Table<'_>, body: u64) -> Result<(), FileProblem> {
        let Some(buffers) = batch.vector(2) else { return Ok(()) };
        let compressed = batch.table(3).is_some();
        for index in 0..buffers.length {
            let (start, length) = buffers.pair(index).ok_or(BAD)?;
            let decoded = if compressed { self.decoded_length(&buffers, index, body)? } else { length };
            let end = start.checked_add(length).filter(|_| start >= 0 && length >= 0);
            let fits = end.and_then(|end| body.checked_add(end as u64)).is_some();
            if !fits {
                return Err(BAD);
            }
            self.found.contents.decoded_bytes = sum(self.found.contents.decoded_bytes, decoded)?;
        }
        Ok(())
    }

    /// A compressed buffer begins with its length before compression, -1 where it was left as it is.
    fn decoded_length(&self, buffers: &Vector<'_>, index: usize, body: u64) -> Result<i64, FileProblem> {
        let (start, length) = buffers.pair(index).ok_or(BAD)?;
        if length < 8 {
            return Ok(length.max(0));
        }
        let place = u64::try_from(start).ok().and_then(|start| body.checked_add(start)).ok_or(BAD)?;
        let prefix = self.stored.take(place, 8)?;
        match i64::from_le_bytes(prefix.try_into().map_err(|_| BAD)?) {
            -1 => Ok(length - 8),
            decoded => Ok(decoded),
        }
    }
}

fn sum(before: u64, more: i64) -> Result<u64, FileProblem> {
    u64::try_from(more).ok().and_then(|more| before.checked_add(more)).ok_or(BAD)
}

fn read_columns(schema: &Table<'_>) -> Result<Columns, FileProblem> {
    let mut columns = Columns::default();
    let fields = schema.vector(1).ok_or(BAD)?;
    for index in 0..fields.length {
        let before = columns.numeric.len();
        add_column(&fields.table(index).ok_or(BAD)?, &mut columns, DEEPEST)?;
        columns.others += u64::from(!columns.numeric[before..].contains(&true));
    }
    Ok(columns)
}

/// Adds a field and, as batches do, its children after it.
fn add_column(field: &Table<'_>, columns: &mut Columns, deeper: u32) -> Result<(), FileProblem> {
    let deeper = deeper.checked_sub(1).ok_or(BAD)?;
    // More nodes than bytes of the longest description are references to the same field over and over.
    if columns.numeric.len() as u64 > MAX_DESCRIPTION / 16 {
        return Err(BAD);
    }
    let encoded_as_dictionary = field.table(4).is_some();
    columns.numeric.push(is_number(field.u8(2)) && !encoded_as_dictionary);
    if encoded_as_dictionary {
        // Its node is that of the indices, which has no children.
        return Ok(());
    }
    let Some(children) = field.vector(5) else { return Ok(()) };
    for index in 0..children.length {
        add_column(&children.table(index).ok_or(BAD)?, columns, deeper)?;
    }
    Ok(())
}

/// Whether a field's type is integer, floating point, truth or decimal.
fn is_number(kind: u8) -> bool {
    matches!(kind, 2 | 3 | 6 | 7)
}
