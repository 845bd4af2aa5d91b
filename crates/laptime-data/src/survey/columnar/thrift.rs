//! Reads Thrift's compact protocol, in which Parquet describes itself, a few kilobytes at a time.
//!
//! A reader of our own: it walks a footer of any size in constant memory and keeps nothing of it, so no count or
//! length in a hostile file can make it allocate.

use super::super::problem::FileProblem;
use super::super::stored::Stored;

/// Bytes read at a time: most footers at once.
const BUFFER_BYTES: u64 = 16 << 10;

/// Structures within structures; Parquet's own go six deep.
const DEEPEST: u32 = 32;

const BAD: FileProblem = FileProblem::Damaged("its footer cannot be understood");

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    True,
    False,
    Byte,
    /// All integers of 16, 32 and 64 bits.
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

impl Kind {
    fn from_code(code: u8) -> Result<Self, FileProblem> {
        Ok(match code {
            1 => Self::True,
            2 => Self::False,
            3 => Self::Byte,
            4..=6 => Self::Integer,
            7 => Self::Double,
            8 => Self::Binary,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            _ => return Err(BAD),
        })
    }
}

/// A stretch of a file in the compact protocol, read from front to back.
pub(super) struct Compact<'a, S: Stored + ?Sized> {
    stored: &'a S,
    /// Where the buffer ends in the file, and where the stretch does.
    position: u64,
    end: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a, S: Stored + ?Sized> Compact<'a, S> {
    pub(super) fn new(stored: &'a S, start: u64, end: u64) -> Self {
        Self { stored, position: start, end, buffer: Vec::new(), at: 0 }
    }

    /// Calls `each` for every field of a structure; it must take the value, by reading or by skipping it.
    pub(super) fn fields(
        &mut self,
        mut each: impl FnMut(&mut Self, i64, Kind) -> Result<(), FileProblem>,
    ) -> Result<(), FileProblem> {
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.integer()?,
                step => id.checked_add(i64::from(step)).ok_or(BAD)?,
            };
            each(self, id, Kind::from_code(head & 15)?)?;
        }
    }

    /// Calls `each` for every element of a list; it must take the element.
    pub(super) fn elements(
        &mut self,
        mut each: impl FnMut(&mut Self, Kind) -> Result<(), FileProblem>,
    ) -> Result<(), FileProblem> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        if length == 0 {
            return Ok(());
        }
        let kind = Kind::from_code(head & 15)?;
        // Every element takes a byte at least, so that a wrong length meets the end of the file.
        for _ in 0..length {
            each(self, kind)?;
        }
        Ok(())
    }

    pub(super) fn integer(&mut self) -> Result<i64, FileProblem> {
        let raw = self.varint()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// An integer that counts something.
    pub(super) fn count(&mut self, kind: Kind) -> Result<u64, FileProblem> {
        if kind != Kind::Integer {
            return Err(BAD);
        }
        u64::try_from(self.integer()?).map_err(|_| FileProblem::Damaged("a count in its footer is negative"))
    }

    pub(super) fn skip(&mut self, kind: Kind) -> Result<(), FileProblem> {
        self.skip_within(kind, false, DEEPEST)
    }

    fn skip_within(&mut self, kind: Kind, in_list: bool, deeper: u32) -> Result<(), FileProblem> {
        let deeper = deeper.checked_sub(1).ok_or(BAD)?;
        match kind {
            // As a field a truth is in its head, as an element it is a byte.
            Kind::True | Kind::False if !in_list => Ok(()),
            Kind::True | Kind::False | Kind::Byte => self.byte().map(drop),
            Kind::Integer => self.varint().map(drop),
            Kind::Double => self.pass(8),
            Kind::Binary => {
                let length = self.varint()?;
                self.pass(length)
            }
            Kind::List => self.elements(|compact, kind| compact.skip_within(kind, true, deeper)),
            Kind::Map => self.skip_map(deeper),
            Kind::Struct => self.fields(|compact, _, kind| compact.skip_within(kind, false, deeper)),
        }
    }

    fn skip_map(&mut self, deeper: u32) -> Result<(), FileProblem> {
        let length = self.varint()?;
        if length == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..length {
            self.skip_within(Kind::from_code(kinds >> 4)?, true, deeper)?;
            self.skip_within(Kind::from_code(kinds & 15)?, true, deeper)?;
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, FileProblem> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(BAD)
    }

    fn byte(&mut self) -> Result<u8, FileProblem> {
        if self.at == self.buffer.len() {
            self.refill()?;
        }
        let byte = self.buffer.get(self.at).copied().ok_or(BAD)?;
        self.at += 1;
        Ok(byte)
    }

    /// Passes over bytes without reading those that are not in the buffer.
    fn pass(&mut self, bytes: u64) -> Result<(), FileProblem> {
        let buffered = (self.buffer.len() - self.at) as u64;
        if bytes <= buffered {
            self.at += bytes as usize;
            return Ok(());
        }
        let position = self.position.checked_add(bytes - buffered).filter(|position| *position <= self.end);
        self.position = position.ok_or(BAD)?;
        self.at = self.buffer.len();
        Ok(())
    }

    fn refill(&mut self) -> Result<(), FileProblem> {
        let bytes = (self.end - self.position).min(BUFFER_BYTES);
        if bytes == 0 {
            return Err(BAD);
        }
        self.buffer.resize(bytes as usize, 0);
        self.stored.read_at(self.position, &mut self.buffer)?;
        self.position += bytes;
        self.at = 0;
        Ok(())
    }
}
