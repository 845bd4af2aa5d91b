//! Bytes that are read by position: a file, or for tests a slice.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Advice, OFlags, fadvise};

use super::problem::FileProblem;

/// Something stored whose parts can be read in any order.
pub(crate) trait Stored {
    /// Bytes of all of it.
    fn bytes(&self) -> u64;

    /// Fills the buffer from this position on, and fails where the end comes before.
    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// `length` bytes from this position on; asks for no memory that the file does not have.
    fn take(&self, position: u64, length: u64) -> Result<Vec<u8>, FileProblem> {
        let end = position.checked_add(length).filter(|end| *end <= self.bytes());
        end.ok_or(FileProblem::Truncated)?;
        let mut taken = vec![0; usize::try_from(length).map_err(|_| FileProblem::Truncated)?];
        self.read_at(position, &mut taken)?;
        Ok(taken)
    }
}

/// A file that was opened, with the bytes it had then.
#[derive(Debug)]
pub(crate) struct StoredFile {
    file: File,
    bytes: u64,
}

impl StoredFile {
    /// The caller has made sure that it is a regular file; should it have become a pipe since, opening it does not
    /// wait for a writer.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let no_wait = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(no_wait).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }

    /// As [`StoredFile::open`], for a few reads here and there: the system need not read ahead.
    pub(crate) fn open_for_samples(path: &Path) -> io::Result<Self> {
        let stored = Self::open(path)?;
        // Only advice: where it is not taken more is read than is needed, and nothing else changes.
        let _ = fadvise(&stored.file, 0, None, Advice::Random);
        Ok(stored)
    }
}

impl Stored for StoredFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, position)
    }
}

#[cfg(test)]
impl Stored for [u8] {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(position).map_err(io::Error::other)?;
        let part = start.checked_add(buffer.len()).and_then(|end| self.get(start..end));
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[cfg(test)]
impl Stored for Vec<u8> {
    fn bytes(&self) -> u64 {
        self.as_slice().bytes()
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_at(position, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_the_file_does_not_have_is_refused_before_any_memory_is_taken() {
        let stored = vec![7_u8; 10];
        assert_eq!(stored.take(8, 2).unwrap(), [7, 7]);
        assert!(matches!(stored.take(8, 3), Err(FileProblem::Truncated)));
        assert!(matches!(stored.take(1, u64::MAX), Err(FileProblem::Truncated)));
    }
}
