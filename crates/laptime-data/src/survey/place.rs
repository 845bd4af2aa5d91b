//! Where the files of a survey are opened: on this machine, or at a source.

use std::io;
use std::num::NonZero;

use super::sized_file::SizedFile;
use super::stored::{Stored, StoredFile};
use super::stored_object::StoredObject;
use super::watch::Watch;
use crate::source::Source;

/// Threads that look into files of this machine: more do not make a disk faster.
const MOST_THREADS: usize = 8;

/// Reads at a time that are asked of any source, whatever it thinks of itself.
const MOST_STREAMS: usize = 64;

/// Where files are opened. What is read of them is counted by the watch.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// `None` for this machine.
    source: Option<&'a dyn Source>,
    watch: &'a Watch,
}

impl<'a> Place<'a> {
    pub(crate) fn here(watch: &'a Watch) -> Self {
        Self { source: None, watch }
    }

    pub(crate) fn at(source: &'a dyn Source, watch: &'a Watch) -> Self {
        Self { source: Some(source), watch }
    }

    /// Whether a read costs a way through a network.
    pub(crate) fn is_far(&self) -> bool {
        self.source.is_some()
    }

    /// Opens a file that will be read from front to back.
    pub(crate) fn open(&self, file: &SizedFile) -> io::Result<Box<dyn Stored + 'a>> {
        self.opened(file, StoredFile::open)
    }

    /// Opens a file for a few reads here and there.
    pub(crate) fn open_for_samples(&self, file: &SizedFile) -> io::Result<Box<dyn Stored + 'a>> {
        self.opened(file, StoredFile::open_for_samples)
    }

    fn opened(
        &self,
        file: &SizedFile,
        open: fn(&std::path::Path) -> io::Result<StoredFile>,
    ) -> io::Result<Box<dyn Stored + 'a>> {
        Ok(match self.source {
            None => Box::new(Counted { stored: open(&file.path)?, watch: self.watch }),
            Some(source) => Box::new(StoredObject::new(source, file, self.watch)),
        })
    }

    /// Files that are worth looking into at the same time.
    pub(crate) fn threads(&self) -> usize {
        match self.source {
            None => std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS),
            Some(source) => source.streams().clamp(1, MOST_STREAMS),
        }
    }
}

/// A file whose reads are counted.
struct Counted<'a> {
    stored: StoredFile,
    watch: &'a Watch,
}

impl Stored for Counted<'_> {
    fn bytes(&self) -> u64 {
        self.stored.bytes()
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.watch.read(buffer.len() as u64);
        self.stored.read_at(position, buffer)
    }
}
