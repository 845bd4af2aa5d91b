//! An open data file that knows when it is no longer the file that was opened.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use laptime_core::Counter;

use crate::error::LoadError;

/// A data file, read by position and never mapped: reading a mapped file that was truncated kills the process.
#[derive(Debug)]
pub struct DataFile {
    path: PathBuf,
    file: File,
    stamp: Stamp,
}

/// What distinguishes a changed file from an unchanged one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}

impl DataFile {
    /// Opens a regular file.
    ///
    /// # Errors
    /// When there is none that can be read.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let fail = |source| cannot_open(path, source);
        // Asked before opening, because opening a pipe waits until somebody writes to it.
        if !std::fs::metadata(path).map_err(fail)?.is_file() {
            return Err(LoadError::NotAFile { file: path.to_owned() });
        }
        let file = File::open(path).map_err(fail)?;
        let stamp = Stamp::of(&file.metadata().map_err(fail)?);
        Ok(Self { path: path.to_owned(), file, stamp })
    }

    /// Bytes of the file when it was opened.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.stamp.bytes
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// That the file is not the one that was opened any more.
    #[must_use]
    pub fn changed(&self) -> LoadError {
        LoadError::Changed { file: self.path() }
    }

    /// Fills the buffer from this position on; a file that ends before has changed.
    ///
    /// # Errors
    /// When the file cannot be read, or ends before.
    pub fn read_at(&self, mut buffer: &mut [u8], mut position: u64) -> Result<(), LoadError> {
        let _read = laptime_record::stage!("read");
        while !buffer.is_empty() {
            match read_some_at(&self.file, buffer, position) {
                Ok(0) => return Err(self.changed()),
                Ok(bytes) => {
                    laptime_record::count(Counter::FileReadBytes, bytes as u64);
                    position += bytes as u64;
                    buffer = &mut buffer[bytes..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(LoadError::Unreadable { file: self.path(), source }),
            }
        }
        Ok(())
    }

    /// Fails if the file was written to since it was opened. Ask after reading, so that what was read is covered.
    ///
    /// # Errors
    /// When it was.
    pub fn check_unchanged(&self) -> Result<(), LoadError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|source| LoadError::Unreadable { file: self.path(), source })?;
        if Stamp::of(&metadata) == self.stamp { Ok(()) } else { Err(self.changed()) }
    }
}

fn cannot_open(path: &Path, source: io::Error) -> LoadError {
    let file = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => LoadError::NotFound { file, source },
        _ => LoadError::Unreadable { file, source },
    }
}

#[cfg(unix)]
fn read_some_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, position)
}

#[cfg(windows)]
fn read_some_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    #[test]
    fn bytes_come_from_where_they_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"0123456789").unwrap();
        let file = DataFile::open(&path).unwrap();
        let mut buffer = [0; 3];
        file.read_at(&mut buffer, 4).unwrap();
        assert_eq!(&buffer, b"456");
        assert_eq!(file.bytes(), 10);
        file.check_unchanged().unwrap();
    }

    #[test]
    fn a_file_that_grows_or_shrinks_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"0123456789").unwrap();
        let file = DataFile::open(&path).unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"x").unwrap();
        assert!(matches!(file.check_unchanged(), Err(LoadError::Changed { .. })));
        fs::write(&path, b"0123").unwrap();
        assert!(matches!(file.check_unchanged(), Err(LoadError::Changed { .. })));
        assert!(matches!(file.read_at(&mut [0; 8], 0), Err(LoadError::Changed { .. })));
    }

    #[test]
    fn what_is_no_regular_file_is_named_as_such() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(DataFile::open(folder.path()), Err(LoadError::NotAFile { .. })));
        let missing = folder.path().join("missing.csv");
        assert!(matches!(DataFile::open(&missing), Err(LoadError::NotFound { .. })));
    }
}
