//! An open pack: where each sample lies.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{Mode, OFlags, openat};

use super::error::PackError;
use super::manifest::{MANIFEST, Manifest, Region, padded};
use super::part_file::{Mapping, PartFile};
use super::provenance::Provenance;
use super::schema::PackSchema;

/// Bytes that are read at a time to check them.
const PIECE_BYTES: usize = 1 << 20;

/// An open pack. It goes on with its files when another pack takes its name.
///
/// Files are mapped into memory on local file systems and read elsewhere. Truncating a mapped file in place ends
/// the process; nothing but a program that ignores its read-only mode does that.
#[derive(Debug)]
pub struct Pack {
    path: PathBuf,
    manifest: Manifest,
    files: Vec<PartFile>,
    /// The record batches of all parts in order.
    batches: Vec<Batch>,
    /// The first buffer of each column among those of a record batch.
    buffers: Vec<usize>,
    /// Record batches whose checksums were not looked at yet.
    unchecked: AtomicUsize,
    /// The power of two that is the rows of a record batch, if it is one.
    shift: Option<u32>,
}

#[derive(Debug)]
struct Batch {
    part: usize,
    /// Among those of its part.
    number: usize,
    /// Whether its checksums were found to fit.
    checked: AtomicBool,
}

/// Bytes in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) part: usize,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Pack {
    /// Opens a pack and checks its manifest, but no samples.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PackError> {
        Self::open_with(path.as_ref(), Mapping::WhereSafe)
    }

    pub(super) fn open_with(path: &Path, mapping: Mapping) -> Result<Self, PackError> {
        // Everything is opened through the folder, so that a pack is never mixed with the one that replaces it.
        // Nothing that waits for a writer, as a pipe does.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let folder = openat(rustix::fs::CWD, path, flags, Mode::empty());
        let folder = File::from(folder.map_err(|error| match error {
            rustix::io::Errno::NOENT => PackError::NotFound { path: path.to_owned() },
            error => PackError::io("open", path)(error.into()),
        })?);
        let open = |name: &str| -> std::io::Result<File> {
            Ok(File::from(openat(&folder, name, flags, Mode::empty())?))
        };
        let mut text = Vec::new();
        let manifest = path.join(MANIFEST);
        let mut file = open(MANIFEST).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                PackError::NotAPack { path: path.to_owned() }
            }
            _ => PackError::io("open", &manifest)(error),
        })?;
        file.read_to_end(&mut text).map_err(PackError::io("read", &manifest))?;
        let manifest = Manifest::parse(&text, &manifest)?;
        let mut files = Vec::with_capacity(manifest.parts.len());
        for part in &manifest.parts {
            let path = path.join(&part.file);
            let file = open(&part.file).map_err(PackError::io("open", &path))?;
            files.push(PartFile::new(file, &path, part.bytes, mapping)?);
        }
        Ok(Self::assemble(path, manifest, files))
    }

    fn assemble(path: &Path, manifest: Manifest, files: Vec<PartFile>) -> Self {
        let numbered = |(part, count): (usize, usize)| {
            (0..count).map(move |number| Batch { part, number, checked: AtomicBool::new(false) })
        };
        let counts = manifest.parts.iter().map(|part| part.batches.len());
        let batches: Vec<_> = counts.enumerate().flat_map(numbered).collect();
        let unchecked = AtomicUsize::new(batches.len());
        let mut buffers = Vec::new();
        let mut buffer = 0;
        for column in &manifest.schema.columns {
            buffers.push(buffer);
            buffer += if column.kind.row_bytes().is_some() { 1 } else { 2 };
        }
        let rows = manifest.batch_rows;
        let shift = rows.is_power_of_two().then(|| rows.trailing_zeros());
        Self { path: path.to_owned(), manifest, files, batches, buffers, unchecked, shift }
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its columns.
    pub const fn schema(&self) -> &PackSchema {
        &self.manifest.schema
    }

    /// Its samples.
    pub const fn rows(&self) -> u64 {
        self.manifest.rows
    }

    /// Samples of each record batch but the last.
    pub const fn batch_rows(&self) -> u64 {
        self.manifest.batch_rows
    }

    /// Where its samples come from.
    pub const fn provenance(&self) -> &Provenance {
        &self.manifest.provenance
    }

    /// Bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.manifest.parts.iter().map(|part| part.bytes).sum()
    }

    /// Whether all of it is mapped into memory.
    pub fn is_mapped(&self) -> bool {
        self.files.iter().all(|file| file.mapped().is_some())
    }

    /// The record batch of a sample, counted from 0 in the pack, and the sample's row in it.
    #[inline]
    pub(crate) fn locate(&self, sample: u64) -> (usize, usize) {
        let rows = self.manifest.batch_rows;
        match self.shift {
            Some(shift) => ((sample >> shift) as usize, (sample & (rows - 1)) as usize),
            None => ((sample / rows) as usize, (sample % rows) as usize),
        }
    }

    pub(crate) fn record_batches(&self) -> usize {
        self.batches.len()
    }

    /// A buffer of a column in a record batch: 0 has the values or, where rows vary in length, the offsets, and 1
    /// then the values.
    pub(crate) fn buffer(&self, batch: usize, column: usize, which: usize) -> Place {
        let Batch { part, number, .. } = self.batches[batch];
        let buffers = &self.manifest.parts[part].batches[number].buffers;
        let Region(offset, bytes, _) = buffers[self.buffers[column] + which];
        Place { part, offset, bytes }
    }

    /// All bytes of a part, if it is mapped.
    #[inline(always)]
    pub(crate) fn part(&self, part: usize) -> Option<&[u8]> {
        self.files[part].mapped()
    }

    /// Fills `out` from an offset of a part.
    pub(crate) fn read(&self, part: usize, offset: u64, out: &mut [u8]) -> Result<(), PackError> {
        self.files[part].read(offset, out)
    }

    /// Asks the system to read a record batch soon.
    pub(crate) fn read_ahead(&self, batch: usize) {
        let Batch { part, number, .. } = self.batches[batch];
        let buffers = &self.manifest.parts[part].batches[number].buffers;
        if let (Some(first), Some(last)) = (buffers.first(), buffers.last()) {
            self.files[part].read_ahead(first.0, last.0 + last.1 - first.0);
        }
    }

    /// Whether the checksums of all record batches were found to fit.
    pub(crate) fn is_all_checked(&self) -> bool {
        self.unchecked.load(Ordering::Acquire) == 0
    }

    /// Checks the checksums of a record batch, once.
    #[inline]
    pub(crate) fn ensure_checked(&self, batch: usize) -> Result<(), PackError> {
        // Two threads may check the same batch at the same time; both find the same.
        if self.batches[batch].checked.load(Ordering::Acquire) { Ok(()) } else { self.check(batch) }
    }

    #[cold]
    fn check(&self, batch: usize) -> Result<(), PackError> {
        let Batch { part, number, .. } = self.batches[batch];
        let file = &self.files[part];
        let entry = &self.manifest.parts[part].batches[number];
        for buffer in &entry.buffers {
            if checksum(file, buffer.0, padded(buffer.1))? != buffer.2 {
                return Err(self.damaged(batch));
            }
        }
        if !self.batches[batch].checked.swap(true, Ordering::AcqRel) {
            self.unchecked.fetch_sub(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// The error for a record batch that is not as it was written.
    #[cold]
    pub(crate) fn damaged(&self, batch: usize) -> PackError {
        let Batch { part, number, .. } = self.batches[batch];
        let first_sample = batch as u64 * self.manifest.batch_rows;
        let rows = self.manifest.parts[part].batches[number].rows;
        let path = self.files[part].path().to_owned();
        PackError::Damaged { path, batch: number, first_sample, last_sample: first_sample + rows - 1 }
    }

    /// Reads every byte and checks it; tells how many are done, and of how many.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<(), PackError> {
        let (mut done, total) = (0, self.bytes());
        for (batch, Batch { part, number, .. }) in self.batches.iter().enumerate() {
            let entry = &self.manifest.parts[*part];
            self.check(batch)?;
            self.check_description(*part, *number)?;
            let buffers = entry.batches[*number].buffers.iter();
            done += entry.descriptions[*number].1 + buffers.map(|buffer| padded(buffer.1)).sum::<u64>();
            if number + 1 == entry.batches.len() {
                self.check_description(*part, number + 1)?;
                done += entry.descriptions[number + 1].1;
            }
            progress(done, total);
        }
        Ok(())
    }

    fn check_description(&self, part: usize, number: usize) -> Result<(), PackError> {
        let Region(offset, bytes, expected) = self.manifest.parts[part].descriptions[number];
        let file = &self.files[part];
        if checksum(file, offset, bytes)? == expected {
            return Ok(());
        }
        let path = file.path().to_owned();
        Err(PackError::DamagedDescription { path, first: offset, last: (offset + bytes).saturating_sub(1) })
    }
}

fn checksum(file: &PartFile, offset: u64, bytes: u64) -> Result<u32, PackError> {
    if let Some(mapped) = file.mapped() {
        let mapped = mapped.get(offset as usize..).and_then(|rest| rest.get(..bytes as usize));
        // The manifest was checked against the size of the file, so nothing is missing.
        return Ok(crc32c::crc32c(mapped.unwrap_or_default()));
    }
    let mut piece = vec![0; PIECE_BYTES.min(bytes as usize)];
    let (mut at, mut sum) = (0, 0);
    while at < bytes {
        let length = piece.len().min((bytes - at) as usize);
        file.read(offset + at, &mut piece[..length])?;
        sum = crc32c::crc32c_append(sum, &piece[..length]);
        at += length as u64;
    }
    Ok(sum)
}
