//! The file of a profile: appended by the sampler, read at any time, also after a kill or damage.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use laptime_core::ProfileRecord;

use crate::block::{BlockHead, BlockKind, BlockScan, Scanned, seal};
use crate::disk::{Disk, RealDisk, Segment};
use crate::error::StoreError;
use crate::format::MAX_PAYLOAD_BYTES;
use crate::profile_format::{decode, encode};

const EXTENSION: &str = "ltprof";
/// The longest record that is written; a function whose names are longer is left out.
const MAX_RECORD_BYTES: usize = 16 * 1024;
/// Bytes read at a time.
const WINDOW_BYTES: u64 = 1 << 20;

fn profile_path(run: &Path, rank: u32) -> PathBuf {
    run.join(format!("profile-{rank:05}.{EXTENSION}"))
}

/// Appends a profile to its run; what is put is on disk after the next flush.
pub struct ProfileWriter {
    file: Box<dyn Segment>,
    rank: u32,
    payload: Vec<u8>,
    blocks: u64,
    bytes: u64,
}

impl ProfileWriter {
    /// Makes the profile of a rank in a run's folder.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(run: &Path, rank: u32) -> io::Result<Self> {
        let file = RealDisk.create_segment(&profile_path(run, rank))?;
        Ok(Self { file, rank, payload: Vec::new(), blocks: 0, bytes: 0 })
    }

    /// Puts a record; a full block is written.
    ///
    /// # Errors
    /// When the block cannot be written; it is lost then.
    pub fn put(&mut self, record: &ProfileRecord) -> io::Result<()> {
        let before = self.payload.len();
        encode(&mut self.payload, record);
        let length = self.payload.len() - before;
        if length > MAX_RECORD_BYTES {
            self.payload.truncate(before);
            return Ok(());
        }
        if self.payload.len() <= MAX_PAYLOAD_BYTES {
            return Ok(());
        }
        let last = self.payload.split_off(before);
        let written = self.flush();
        self.payload = last;
        written
    }

    /// Writes what was put as one block.
    ///
    /// # Errors
    /// When it cannot be written; it is lost then, and the file ends where it did.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.payload.is_empty() {
            return Ok(());
        }
        let (rank, number) = (self.rank, self.blocks);
        let head = BlockHead { kind: BlockKind::Written, rank, events: 0, number, ticks: 0, real_ns: 0 };
        let block = seal(&head, &self.payload);
        self.payload.clear();
        self.blocks += 1;
        let mut rest = block.as_slice();
        while !rest.is_empty() {
            match self.file.append(rest) {
                Ok(0) => return self.take_back(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.take_back(error),
            }
        }
        self.bytes += block.len() as u64;
        Ok(())
    }

    /// Cuts off a block that was written in part.
    fn take_back(&mut self, error: io::Error) -> io::Result<()> {
        // Should that fail too, readers step over the torn block.
        let _ = self.file.truncate(self.bytes);
        Err(error)
    }

    /// Bytes on disk so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reads the profiles of a run, from their beginning and then what was added since.
#[derive(Debug)]
pub struct ProfileReader {
    run: PathBuf,
    /// How far each file was read.
    offsets: Vec<(PathBuf, u64)>,
}

impl ProfileReader {
    /// The profiles in a run's folder; there need not be any.
    #[must_use]
    pub fn of(run: &Path) -> Self {
        Self { run: run.to_owned(), offsets: Vec::new() }
    }

    /// Gives every record that is new to `sink`, with the number of its profile, from 0. What is damaged is
    /// stepped over.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn poll(&mut self, sink: &mut dyn FnMut(usize, ProfileRecord)) -> Result<(), StoreError> {
        for path in profiles_in(&self.run) {
            if !self.offsets.iter().any(|(known, _)| *known == path) {
                self.offsets.push((path, 0));
            }
        }
        for (number, (path, offset)) in self.offsets.iter_mut().enumerate() {
            read_on(path, offset, &mut |record| sink(number, record))
                .map_err(|error| StoreError::io("reading", &*path, error))?;
        }
        Ok(())
    }
}

fn profiles_in(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
        .collect();
    paths.sort();
    paths
}

fn read_on(path: &Path, offset: &mut u64, sink: &mut dyn FnMut(ProfileRecord)) -> io::Result<()> {
    let mut file = File::open(path)?;
    loop {
        let mut window = Vec::new();
        file.seek(SeekFrom::Start(*offset))?;
        (&mut file).take(WINDOW_BYTES).read_to_end(&mut window)?;
        let mut scan = BlockScan::new(&window);
        for scanned in scan.by_ref() {
            if let Scanned::Payload(payload) = scanned {
                decode(payload, sink);
            }
        }
        match scan.consumed() {
            0 => return Ok(()),
            consumed => *offset += consumed as u64,
        }
    }
}
