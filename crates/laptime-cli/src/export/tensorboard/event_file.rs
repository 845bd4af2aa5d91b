//! Event file: bytes are appended as they come, and none is ever taken back or written twice.
//!
//! A reader may have read any part of the file already. So what a full disk refused stays here and goes on
//! from the very byte where it stopped, when there is room again.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// The name TensorBoard knows event files by; the same each time, so that a run is never shown twice.
pub(super) const FILE_NAME: &str = "events.out.tfevents.laptime";

/// A file that grows record by record.
#[derive(Debug)]
pub(super) struct EventFile<W = File> {
    file: W,
    unwritten: Vec<u8>,
}

impl EventFile {
    /// Creates the file in a folder, which is made where it is missing; one that is there begins anew.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(FILE_NAME);
        let file = File::options().create(true).truncate(false).append(true).open(path)?;
        claim(&file)?;
        file.set_len(0)?;
        Ok(Self::new(file))
    }
}

/// Keeps other commands from writing the file as long as it is open. File systems without locks are
/// written all the same.
pub(super) fn claim(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another laptime writes its event file at this moment"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

impl<W: Write> EventFile<W> {
    fn new(file: W) -> Self {
        Self { file, unwritten: Vec::new() }
    }

    /// Whether everything that was appended is in the file; tries again to put it there.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.unwritten.is_empty() {
            match self.file.write(&self.unwritten) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.unwritten.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Appends the bytes that `make` makes, unless older ones still wait for room.
    ///
    /// # Errors
    /// When older bytes wait: nothing was made. What is made is kept, whatever the disk says.
    pub(super) fn append(&mut self, make: impl FnOnce() -> Vec<u8>) -> io::Result<()> {
        self.flush()?;
        self.unwritten = make();
        // A failure shows at the next flush.
        let _ = self.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A disk on which so many bytes have room, then more after each refusal.
    struct Disk {
        holds: Vec<u8>,
        rooms: Vec<usize>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let Some(room) = self.rooms.last_mut() else {
                self.holds.extend(bytes);
                return Ok(bytes.len());
            };
            if *room == 0 {
                self.rooms.pop();
                return Err(io::ErrorKind::StorageFull.into());
            }
            let written = bytes.len().min(*room);
            *room -= written;
            self.holds.extend(&bytes[..written]);
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_disk_that_fills_at_any_byte_loses_nothing_once_there_is_room(
            rooms in prop::collection::vec(0_usize..40, 0..8),
        ) {
            let mut file = EventFile::new(Disk { holds: Vec::new(), rooms });
            let parts: Vec<Vec<u8>> = (0..10_u8).map(|part| vec![part; usize::from(part) + 1]).collect();
            for part in &parts {
                let mut tries = 0;
                while file.append(|| part.clone()).is_err() {
                    tries += 1;
                    prop_assert!(tries < 20);
                    let whole = parts.concat();
                    prop_assert_eq!(&file.file.holds[..], &whole[..file.file.holds.len()]);
                }
            }
            while file.flush().is_err() {}
            prop_assert_eq!(&file.file.holds, &parts.concat());
        }
    }

    #[test]
    fn a_file_that_another_command_writes_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = EventFile::create(folder.path()).unwrap();
        first.append(|| b"points".to_vec()).unwrap();
        assert!(EventFile::create(folder.path()).unwrap_err().to_string().contains("another laptime"));
        drop(first);
        assert_eq!(fs::read(folder.path().join(FILE_NAME)).unwrap(), b"points");
        assert!(EventFile::create(folder.path()).is_ok());
    }
}
