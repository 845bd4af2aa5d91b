//! How fast the storage delivers, measured on the files themselves and past the page cache.
//!
//! Files are opened for direct reads, which the page cache neither serves nor keeps. What the kernel counts as
//! read from storage must agree; where it does not, the result says that this is unknown. A cache below the
//! kernel (of the drive, or of the machine that hosts a virtual one) cannot be seen from here.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::fs::{Advice, OFlags, fadvise, fstatfs};
use serde::Serialize;

use super::amount::Amount;
use super::sized_file::SizedFile;
use super::watch::Watch;

/// What direct reads are aligned to; every file system takes it.
const ALIGNMENT: usize = 4096;

/// The longest single read: what sequential reading asks for at a time, and shuffled blocks do.
const READ_BYTES: u64 = 1 << 20;

/// Bytes of one round, and rounds. A round of the fastest drive takes a millisecond, of the slowest a second.
const ROUND_BYTES: u64 = 16 << 20;
const ROUNDS: usize = 5;

/// When measuring ends, whatever is still to be done.
const LONGEST: Duration = Duration::from_millis(1_500);

/// Reads at a time that are tried; loaders with workers have several.
const STREAMS: [u32; 2] = [1, 8];

/// Small reads that the latency is the median of.
const LATENCY_READS: usize = 32;

/// Less than this is too little to measure a rate.
const LEAST_BYTES: u64 = 1 << 20;

/// Kinds of file system that live in memory.
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

/// Where the measured bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// From the storage: the kernel counted them there.
    Storage,
    /// From memory: the file system lives there.
    Memory,
    /// From elsewhere, over a network.
    Network,
    /// Unknown: the kernel did not count them, so a cache may have had them.
    Unknown,
}

/// The way data takes to this process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// `file` for everything that is mounted here.
    pub protocol: &'static str,
    /// A read of 4 KiB at a random place, the median; opening the file not included.
    pub latency_s: Option<f64>,
    /// Reads of up to 1 MiB at random places of random files, opening them included.
    pub bytes_per_s: Amount,
    /// Reads at a time that were fastest.
    pub streams: u32,
    /// Where the bytes came from.
    pub origin: Origin,
    /// Bytes that were read to find out.
    pub measured_bytes: u64,
}

/// Measures the storage of these files; `None` where there is too little to measure on.
pub(crate) fn measure_link(files: &[SizedFile], watch: &Watch) -> Option<Link> {
    let mut rng = ChaCha8Rng::seed_from_u64(files.len() as u64);
    let mut plan = Plan::new(files, &mut rng)?;
    let in_memory = files.first().is_some_and(|file| lives_in_memory(&file.path));
    let counted_before = counted_reads();
    let started = Instant::now();
    let latency_s = latency(files, &mut rng);
    let mut results = STREAMS.map(|streams| (streams, Vec::new()));
    let mut read = 0;
    for _ in 0..ROUNDS {
        for (streams, rates) in &mut results {
            if watch.stopped() || started.elapsed() > LONGEST {
                break;
            }
            let round = read_round(&plan.round(), *streams);
            read += round.bytes;
            rates.extend((round.bytes > 0).then(|| round.bytes as f64 / round.seconds));
        }
    }
    let origin = match (in_memory, counted_before, counted_reads()) {
        (true, ..) => Origin::Memory,
        (false, Some(before), Some(after)) if (after - before) as f64 >= 0.95 * read as f64 => {
            Origin::Storage
        }
        _ => Origin::Unknown,
    };
    let measured = results.iter().filter_map(|(streams, rates)| Some((*streams, rate(rates)?)));
    let (streams, bytes_per_s) = measured.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    Some(Link { protocol: "file", latency_s, bytes_per_s, streams, origin, measured_bytes: read })
}

/// Measures the storage of one file.
pub(crate) fn measure_file(path: &Path, bytes: u64, watch: &Watch) -> Option<Link> {
    measure_link(&[SizedFile { path: path.to_owned(), bytes }], watch)
}

/// The mean rate and how far the rounds lie apart; of a single round the interval is not known.
fn rate(rounds: &[f64]) -> Option<Amount> {
    let count = rounds.len() as f64;
    let mean = rounds.iter().sum::<f64>() / count;
    // Student's factors at 95 % for 2 to 5 rounds.
    let factor = [12.7, 4.30, 3.18, 2.78].get(rounds.len().checked_sub(2)?).copied().unwrap_or(2.78);
    let variance = rounds.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let reach = factor * (variance / count).sqrt();
    // A rate is never below a tenth of its mean for want of rounds.
    Some(Amount::between((mean - reach).max(mean / 10.0), mean, mean + reach))
}

/// A stretch of a file.
#[derive(Clone, Copy)]
struct Range<'a> {
    path: &'a Path,
    start: u64,
    length: u64,
}

/// Ranges in random order, each handed out once before any comes again.
struct Plan<'a> {
    ranges: Vec<Range<'a>>,
    next: usize,
}

impl<'a> Plan<'a> {
    fn new(files: &'a [SizedFile], rng: &mut ChaCha8Rng) -> Option<Self> {
        let mut ranges = Vec::new();
        let wanted = ROUND_BYTES * (ROUNDS * STREAMS.len()) as u64;
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        for file in files {
            // Every file gives its share; a large one as many stretches as are wanted of it.
            let share = (u128::from(wanted) * u128::from(file.bytes) / u128::from(bytes.max(1))) as u64;
            let stretches = (share.min(file.bytes) / READ_BYTES).max(1);
            let apart = file.bytes / stretches;
            for index in 0..stretches {
                let spare = apart.saturating_sub(READ_BYTES);
                let place = index * apart + if spare > 0 { rng.next_u64() % spare } else { 0 };
                let start = place / ALIGNMENT as u64 * ALIGNMENT as u64;
                ranges.push(Range { path: &file.path, start, length: READ_BYTES.min(file.bytes - start) });
            }
        }
        for last in (1..ranges.len()).rev() {
            ranges.swap(last, (rng.next_u64() % (last as u64 + 1)) as usize);
        }
        let all: u64 = ranges.iter().map(|range| range.length).sum();
        (all >= LEAST_BYTES).then_some(Self { ranges, next: 0 })
    }

    fn round(&mut self) -> Vec<Range<'a>> {
        let mut round = Vec::new();
        let mut bytes = 0;
        while bytes < ROUND_BYTES && round.len() < self.ranges.len() {
            let range = self.ranges[self.next % self.ranges.len()];
            self.next += 1;
            bytes += range.length;
            round.push(range);
        }
        round
    }
}

struct RoundRead {
    bytes: u64,
    seconds: f64,
}

/// Reads the ranges with so many threads. A range that cannot be read counts as none: its file was reported.
fn read_round(ranges: &[Range<'_>], streams: u32) -> RoundRead {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    let bytes = std::thread::scope(|scope| {
        let reader = || {
            let mut buffer = Aligned::new(READ_BYTES as usize);
            let mut bytes = 0;
            while let Some(range) = ranges.get(next.fetch_add(1, Ordering::Relaxed)) {
                bytes += read_range(range, &mut buffer).unwrap_or(0);
            }
            bytes
        };
        let another = |_| std::thread::Builder::new().spawn_scoped(scope, reader).ok();
        let others: Vec<_> = (1..streams).filter_map(another).collect();
        let own = reader();
        own + others.into_iter().map(|other| other.join().unwrap_or(0)).sum::<u64>()
    });
    RoundRead { bytes, seconds: started.elapsed().as_secs_f64() }
}

fn read_range(range: &Range<'_>, buffer: &mut Aligned) -> Option<u64> {
    let (file, direct) = open_past_the_cache(range.path)?;
    if !direct {
        let length = std::num::NonZero::new(range.length);
        // Pages that are dirty stay; the kernel's count of reads shows if many did.
        let _ = fadvise(&file, range.start, length, Advice::DontNeed);
    }
    let length = (range.length as usize).next_multiple_of(ALIGNMENT);
    file.read_at(&mut buffer.bytes()[..length], range.start).ok().map(|read| read as u64)
}

/// The file opened for direct reads, or plainly where its file system has none.
fn open_past_the_cache(path: &Path) -> Option<(File, bool)> {
    let direct = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(path);
    match direct {
        Ok(file) => Some((file, true)),
        Err(_) => File::open(path).ok().map(|file| (file, false)),
    }
}

fn latency(files: &[SizedFile], rng: &mut ChaCha8Rng) -> Option<f64> {
    let mut buffer = Aligned::new(ALIGNMENT);
    let mut seconds: Vec<f64> = Vec::new();
    for _ in 0..LATENCY_READS {
        let file = files.get((rng.next_u64() % files.len().max(1) as u64) as usize)?;
        let pages = (file.bytes / ALIGNMENT as u64).max(1);
        let start = rng.next_u64() % pages * ALIGNMENT as u64;
        let Some((opened, _)) = open_past_the_cache(&file.path) else { continue };
        let started = Instant::now();
        if opened.read_at(buffer.bytes(), start).is_ok() {
            seconds.push(started.elapsed().as_secs_f64());
        }
    }
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

fn lives_in_memory(path: &Path) -> bool {
    let kind = File::open(path).ok().and_then(|file| fstatfs(&file).ok());
    kind.is_some_and(|kind| [TMPFS, RAMFS].contains(&(kind.f_type as u64)))
}

/// Bytes that this process has caused to be read from storage.
fn counted_reads() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    laptime_core::proc::value_of(&text, "read_bytes")
}

/// Memory that begins where direct reads may write.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(length: usize) -> Self {
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, start, length }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str, bytes: usize) -> SizedFile {
        let path = folder.join(name);
        std::fs::write(&path, vec![b'x'; bytes]).unwrap();
        SizedFile { path, bytes: bytes as u64 }
    }

    #[test]
    fn a_rate_is_measured_and_its_origin_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let files = [file(folder.path(), "a", 3 << 20), file(folder.path(), "b", 100_000)];
        let link = measure_link(&files, &Watch::default()).unwrap();
        assert!(link.bytes_per_s.low > 0.0 && link.bytes_per_s.low <= link.bytes_per_s.mean);
        assert!(link.measured_bytes >= 3 << 20);
        assert!(STREAMS.contains(&link.streams));
    }

    #[test]
    fn what_lives_in_memory_is_not_called_a_disk() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let files = [file(folder.path(), "a", 2 << 20)];
        assert_eq!(measure_link(&files, &Watch::default()).unwrap().origin, Origin::Memory);
    }

    #[test]
    fn too_little_is_not_measured() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(measure_link(&[file(folder.path(), "a", 5000)], &Watch::default()), None);
        assert_eq!(measure_link(&[], &Watch::default()), None);
    }

    #[test]
    fn a_single_round_has_no_interval_and_so_no_rate() {
        assert_eq!(rate(&[]), None);
        assert_eq!(rate(&[5.0]), None);
        let three = rate(&[10.0, 11.0, 12.0]).unwrap();
        assert!(three.mean == 11.0 && (8.4..8.6).contains(&three.low), "{three:?}");
    }
}
