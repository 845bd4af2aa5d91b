//! The file system behind a trait, so that every fault can be tested.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// What the writer asks of a file system.
pub trait Disk: Send {
    /// Makes a folder that only the user can enter, with its parents.
    ///
    /// # Errors
    /// What the system says.
    fn create_folder(&mut self, path: &Path) -> io::Result<()>;

    /// Makes a new file to append to; an existing one is an error.
    ///
    /// # Errors
    /// What the system says.
    fn create_segment(&mut self, path: &Path) -> io::Result<Box<dyn Segment>>;

    /// Writes a whole file that appears at once or not at all.
    ///
    /// # Errors
    /// What the system says.
    fn publish(&mut self, path: &Path, content: &[u8]) -> io::Result<()>;
}

/// A file that grows at its end.
pub trait Segment: Send {
    /// Appends some of the bytes and says how many.
    ///
    /// # Errors
    /// What the system says.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file back to a length.
    ///
    /// # Errors
    /// What the system says.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Waits until what was appended would survive a power cut.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&mut self) -> io::Result<()>;

    /// Whether the file can still be found by its name.
    fn is_linked(&self) -> bool;

    /// The whole content, also of a file that was removed while open.
    ///
    /// # Errors
    /// What the system says.
    fn read_back(&mut self) -> io::Result<Vec<u8>>;
}

/// The machine's file system.
#[derive(Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_folder(&mut self, path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn create_segment(&mut self, path: &Path) -> io::Result<Box<dyn Segment>> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(path)?;
        Ok(Box::new(file))
    }

    fn publish(&mut self, path: &Path, content: &[u8]) -> io::Result<()> {
        let unfinished = path.with_extension("unfinished");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(content)
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&unfinished, path))
            .inspect_err(|_| {
                // Nothing more can be done for a file that could not be written.
                let _ = fs::remove_file(&unfinished);
            })
    }
}

impl Segment for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn is_linked(&self) -> bool {
        self.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
    }

    fn read_back(&mut self) -> io::Result<Vec<u8>> {
        self.rewind()?;
        let mut content = Vec::new();
        self.read_to_end(&mut content)?;
        Ok(content)
    }
}
