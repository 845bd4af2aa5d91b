//! Gzip: members of deflated text, one after the other.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::Unpacker;
use super::input::Input;

/// Text that is unpacked at a time.
const TEXT_BYTES: usize = 64 << 10;

/// The length of nearly all headers, and the longest: a name and a comment of any length a person writes.
const SHORT_HEADER: usize = 512;
const LONGEST_HEADER: usize = 64 << 10;

/// Checksum and length of the text behind each member.
const TRAILER_BYTES: usize = 8;

/// How far the length that a file declares may be from what its beginning lets expect.
const BELIEVED: std::ops::Range<f64> = 0.5..2.0;

const BAD: FileProblem = FileProblem::Damaged("what is packed in it cannot be unpacked");

/// A file that is unpacked.
pub(super) struct Gzip<'a> {
    input: Input<'a>,
    state: Box<InflateState>,
    text: Vec<u8>,
    members: u64,
}

impl<'a> Gzip<'a> {
    pub(super) fn open(stored: &'a dyn Stored) -> Result<Self, FileProblem> {
        let state = InflateState::new_boxed(DataFormat::Raw);
        let mut gzip = Self { input: Input::new(stored), state, text: vec![0; TEXT_BYTES], members: 0 };
        match gzip.begin_member()? {
            true => Ok(gzip),
            false => Err(FileProblem::NotThat("gzip")),
        }
    }

    /// Goes to the text of the member that begins here; `false` where none does.
    fn begin_member(&mut self) -> Result<bool, FileProblem> {
        if !self.input.peek(3)?.starts_with(b"\x1f\x8b\x08") {
            return Ok(false);
        }
        let header = self.input.peek(SHORT_HEADER)?;
        let length = match header_length(header) {
            None => header_length(self.input.peek(LONGEST_HEADER)?).ok_or(FileProblem::Truncated)?,
            Some(length) => length,
        };
        self.input.skip(length as u64);
        self.state.reset(DataFormat::Raw);
        self.members += 1;
        Ok(true)
    }

    /// Passes the trailer of a member; `false` where no other follows.
    fn next_member(&mut self) -> Result<bool, FileProblem> {
        if self.input.peek(TRAILER_BYTES)?.len() < TRAILER_BYTES {
            return Err(FileProblem::Truncated);
        }
        self.input.skip(TRAILER_BYTES as u64);
        self.begin_member()
    }
}

impl Unpacker for Gzip<'_> {
    fn unpack(&mut self, text: &mut dyn FnMut(&[u8])) -> Result<bool, FileProblem> {
        let result = inflate(&mut self.state, self.input.next()?, &mut self.text, MZFlush::None);
        self.input.skip(result.bytes_consumed as u64);
        text(&self.text[..result.bytes_written]);
        match result.status {
            Ok(MZStatus::StreamEnd) => self.next_member(),
            Ok(_) if result.bytes_consumed > 0 || result.bytes_written > 0 => Ok(true),
            _ => Err(BAD),
        }
    }

    fn end_early(&mut self, _: &mut dyn FnMut(&[u8])) -> Result<(), FileProblem> {
        Ok(())
    }

    fn used(&self) -> u64 {
        self.input.used()
    }

    /// The last four bytes are the length of the last member's text, but for its multiples of 4 GiB.
    fn declared_bytes(&self, about: f64) -> Option<f64> {
        const WRAPS: f64 = (1_u64 << 32) as f64;
        let stored = self.input.stored;
        let end = stored.bytes().checked_sub(4).filter(|_| self.members == 1)?;
        let low = stored.take(end, 4).ok()?.try_into().ok().map(u32::from_le_bytes)?;
        let wraps = ((about - f64::from(low)) / WRAPS).round().max(0.0);
        let declared = f64::from(low) + wraps * WRAPS;
        BELIEVED.contains(&(declared / about.max(1.0))).then_some(declared)
    }
}

/// Bytes of a header, by its flags; `None` where it goes on.
fn header_length(header: &[u8]) -> Option<usize> {
    let (flags, mut at) = (*header.get(3)?, 10);
    if flags & 4 != 0 {
        let length = header.get(at..at + 2)?;
        at += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    }
    for text in [8, 16] {
        if flags & text != 0 {
            at += header.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    at += if flags & 2 != 0 { 2 } else { 0 };
    (at <= header.len()).then_some(at)
}
