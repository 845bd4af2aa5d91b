//! Reads headers one after the other: alone where much data lies between them, else with what is around them.

use super::super::problem::FileProblem;
use super::super::stored::Stored;

/// Headers that are closer than this are read together with what lies between them.
const CLOSE: u64 = 16 << 10;

/// The most that is read at a time.
const MOST_AHEAD: u64 = 256 << 10;

/// The headers of a file, from front to back.
pub(super) struct Headers<'a> {
    pub(super) stored: &'a dyn Stored,
    window: Vec<u8>,
    start: u64,
    /// Where the header before began.
    last: u64,
    ahead: u64,
    /// Bytes that were read.
    pub(super) read: u64,
}

impl<'a> Headers<'a> {
    pub(super) fn new(stored: &'a dyn Stored) -> Self {
        Self { stored, window: Vec::new(), start: 0, last: 0, ahead: 0, read: 0 }
    }

    /// So many bytes from this place on.
    pub(super) fn take(&mut self, at: u64, length: usize) -> Result<&[u8], FileProblem> {
        let has = self.start + self.window.len() as u64;
        let end = at.checked_add(length as u64).ok_or(FileProblem::Truncated)?;
        if at < self.start || end > has {
            let left = self.stored.bytes().checked_sub(at).ok_or(FileProblem::Truncated)?;
            let is_close = at.checked_sub(self.last).is_some_and(|apart| apart <= CLOSE);
            self.ahead = if is_close { (self.ahead * 2).clamp(CLOSE, MOST_AHEAD) } else { 0 };
            let wanted = self.ahead.max(length as u64).min(left);
            self.window = self.stored.take(at, wanted)?;
            self.start = at;
            self.read += wanted;
        }
        self.last = at;
        let from = (at - self.start) as usize;
        self.window.get(from..from + length).ok_or(FileProblem::Truncated)
    }
}
