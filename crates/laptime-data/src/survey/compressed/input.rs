//! The packed bytes of a file, from front to back.

use std::io::{self, Read};

use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::PIECE_BYTES;

/// Packed bytes: what is read ahead, and how far it was used.
pub(super) struct Input<'a> {
    pub(super) stored: &'a dyn Stored,
    buffer: Vec<u8>,
    /// Where in the buffer to go on, and where the buffer ends in the file.
    at: usize,
    position: u64,
    /// Why the file could not be read on.
    problem: Option<FileProblem>,
}

impl<'a> Input<'a> {
    pub(super) fn new(stored: &'a dyn Stored) -> Self {
        Self { stored, buffer: Vec::new(), at: 0, position: 0, problem: None }
    }

    /// Packed bytes that were used.
    pub(super) fn used(&self) -> u64 {
        self.position - (self.buffer.len() - self.at) as u64
    }

    /// Goes on behind so many bytes.
    pub(super) fn skip(&mut self, bytes: u64) {
        let left = (self.buffer.len() - self.at) as u64;
        if bytes <= left {
            self.at += bytes as usize;
        } else {
            self.position = self.position.saturating_add(bytes - left);
            (self.buffer, self.at) = (Vec::new(), 0);
        }
    }

    /// The next so many bytes, or as many as the file has.
    pub(super) fn peek(&mut self, bytes: usize) -> Result<&[u8], FileProblem> {
        let has = self.buffer.len() - self.at;
        let left = self.stored.bytes().saturating_sub(self.position);
        if has < bytes && left > 0 {
            let more = self.stored.take(self.position, left.min(PIECE_BYTES.max((bytes - has) as u64)))?;
            self.position += more.len() as u64;
            self.buffer.drain(..self.at);
            self.at = 0;
            self.buffer.extend(more);
        }
        let end = self.buffer.len().min(self.at + bytes);
        Ok(&self.buffer[self.at..end])
    }

    /// Whatever comes next, read on if need be.
    pub(super) fn next(&mut self) -> Result<&[u8], FileProblem> {
        if self.at == self.buffer.len() && self.peek(1)?.is_empty() {
            return Err(FileProblem::Truncated);
        }
        Ok(&self.buffer[self.at..])
    }

    /// Why reading has ended, where that was the reason.
    pub(super) fn problem(&mut self) -> Option<FileProblem> {
        self.problem.take()
    }
}

impl Read for Input<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = match self.next() {
            Ok(next) => {
                let length = into.len().min(next.len());
                into[..length].copy_from_slice(&next[..length]);
                length
            }
            Err(problem) => {
                self.problem = Some(problem);
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        self.at += length;
        Ok(length)
    }
}
