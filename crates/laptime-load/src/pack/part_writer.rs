//! One part of a pack while it is written.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::arrow::{self, BatchShape, Block};
use super::error::PackError;
use super::manifest::{BatchEntry, PartEntry, Region, padded};
use super::schema::PackSchema;

/// Bytes that the disk is asked to write at a time, while the next ones are made: left to the system it begins with
/// them when the file ends, and everybody waits.
const STRETCH: u64 = 8 << 20;

/// One Arrow file while it is written, and what the manifest will say of it.
#[derive(Debug)]
pub(super) struct PartWriter {
    file: File,
    path: PathBuf,
    entry: PartEntry,
    blocks: Vec<Block>,
    /// The description that precedes the next record batch, not written yet.
    pending: Vec<u8>,
    /// How far the disk was asked to write.
    asked: u64,
}

impl PartWriter {
    pub(super) fn create(folder: &Path, name: String, schema: &PackSchema) -> Result<Self, PackError> {
        let path = folder.join(&name);
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(PackError::io("create", &path))?;
        let entry =
            PartEntry { file: name, bytes: 0, rows: 0, descriptions: Vec::new(), batches: Vec::new() };
        Ok(Self { file, path, entry, blocks: Vec::new(), pending: arrow::opening(schema), asked: 0 })
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.entry.bytes
    }

    /// Writes a record batch: its buffers with data, in the order of the columns.
    pub(super) fn write(
        &mut self,
        schema: &PackSchema,
        rows: u64,
        buffers: &[&[u8]],
    ) -> Result<(), PackError> {
        let mut places = Vec::with_capacity(buffers.len());
        let mut body_bytes = 0;
        for buffer in buffers {
            places.push((body_bytes, buffer.len() as u64));
            body_bytes += padded(buffer.len() as u64);
        }
        let begin = self.entry.bytes + self.pending.len() as u64;
        let shape = BatchShape { rows, buffers: &places, body_bytes };
        let head = arrow::batch_head(schema, &shape, begin);
        self.blocks.push(Block { offset: begin, head_bytes: head.len() as u64, body_bytes });
        self.pending.extend(head);
        self.write_pending().map_err(PackError::io("write", &self.path))?;
        let regions: io::Result<_> = buffers.iter().map(|buffer| self.write_padded(buffer)).collect();
        let regions = regions.map_err(PackError::io("write", &self.path))?;
        self.entry.batches.push(BatchEntry { rows, buffers: regions });
        self.entry.rows += rows;
        if self.entry.bytes - self.asked >= STRETCH {
            begin_to_write(&self.file, self.asked, self.entry.bytes - self.asked);
            self.asked = self.entry.bytes;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> io::Result<()> {
        self.file.write_all(&self.pending)?;
        let bytes = self.pending.len() as u64;
        let region = Region(self.entry.bytes, bytes, crc32c::crc32c(&self.pending));
        self.entry.descriptions.push(region);
        self.entry.bytes += bytes;
        self.pending.clear();
        Ok(())
    }

    fn write_padded(&mut self, buffer: &[u8]) -> io::Result<Region> {
        const ZEROS: [u8; arrow::ALIGNMENT as usize] = [0; arrow::ALIGNMENT as usize];
        let (bytes, whole) = (buffer.len() as u64, padded(buffer.len() as u64));
        let padding = &ZEROS[..(whole - bytes) as usize];
        self.file.write_all(buffer)?;
        self.file.write_all(padding)?;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(buffer), padding);
        let region = Region(self.entry.bytes, bytes, checksum);
        self.entry.bytes += whole;
        Ok(region)
    }

    /// Ends the file and waits until the disk has it.
    pub(super) fn finish(mut self, schema: &PackSchema) -> Result<PartEntry, PackError> {
        self.pending.extend(arrow::closing(schema, &self.blocks));
        let mut end = || {
            self.write_pending()?;
            self.file.set_permissions(Permissions::from_mode(0o444))?;
            self.file.sync_all()
        };
        end().map_err(PackError::io("write", &self.path))?;
        Ok(self.entry)
    }
}

/// Asks the system to write a stretch of a file to the disk, and does not wait for it.
#[expect(unsafe_code, reason = "a call of Linux that the standard library does not have")]
fn begin_to_write(file: &File, offset: u64, bytes: u64) {
    let (Ok(offset), Ok(bytes)) = (libc::off64_t::try_from(offset), libc::off64_t::try_from(bytes)) else {
        return;
    };
    // SAFETY: a plain system call on a file that is open; where it is not possible nothing is lost, since the end waits
    // for all of it.
    unsafe { libc::sync_file_range(file.as_raw_fd(), offset, bytes, libc::SYNC_FILE_RANGE_WRITE) };
}
