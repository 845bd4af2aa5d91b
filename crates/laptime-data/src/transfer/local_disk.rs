//! The disk of a folder that a copy would go to: what is free, and how fast it writes and reads.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::fs::{Mode, OFlags, open, statvfs};
use serde::Serialize;

use crate::survey::{Watch, measure_file};

/// Bytes that are written to measure.
const WRITTEN: usize = 32 << 20;

/// Bytes left free whatever is copied.
const KEPT_FREE: u64 = 1 << 30;

/// A disk that a copy would go to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LocalDisk {
    /// Bytes that may be used, besides a gibibyte that stays free.
    pub free_bytes: u64,
    /// Reading past the page cache; `None` where it was not measured.
    pub read_bytes_per_s: Option<f64>,
    /// Writing until it is stored.
    pub write_bytes_per_s: Option<f64>,
}

impl LocalDisk {
    /// Measures the disk of a folder with a file that has no name and is gone afterwards.
    #[must_use]
    pub fn of(folder: &Path, watch: &Watch) -> Option<Self> {
        let system = statvfs(folder).ok()?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        let free_bytes = free.saturating_sub(KEPT_FREE);
        let rates = if free_bytes > WRITTEN as u64 { measured(folder, watch).ok() } else { None };
        let (write_bytes_per_s, read_bytes_per_s) = rates.unwrap_or((None, None));
        Some(Self { free_bytes, read_bytes_per_s, write_bytes_per_s })
    }
}

fn measured(folder: &Path, watch: &Watch) -> io::Result<(Option<f64>, Option<f64>)> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let mut file = File::from(open(folder, flags, Mode::RUSR | Mode::WUSR)?);
    let mut bytes = vec![0; WRITTEN];
    // What compresses would be written faster than data are.
    ChaCha8Rng::seed_from_u64(1).fill_bytes(&mut bytes);
    let started = Instant::now();
    file.write_all(&bytes)?;
    file.sync_data()?;
    let write = WRITTEN as f64 / started.elapsed().as_secs_f64();
    drop(bytes);
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let read = fs::metadata(&path).ok().and_then(|_| measure_file(Path::new(&path), WRITTEN as u64, watch));
    Ok((Some(write), read.map(|link| link.bytes_per_s.mean)))
}
