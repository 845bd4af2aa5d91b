//! The ring: a small file in shared memory that holds what a process has not yet written to its log.
//!
//! The kernel keeps a mapped tmpfs file when a process is killed, so nothing acknowledged is lost and
//! the stages that were open are known. The layout is native (same machine, same boot) and described by
//! the `repr(C)` structs here. Everything is an atomic word: one thread writes a lane, others read it.
//! The file is allocated in full before it is mapped: touching a hole on a full file system would kill
//! the process.

#![expect(unsafe_code, reason = "mapping a file as a struct of atomics")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::size_of;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use laptime_core::{Anchor, FIRST_USER_STAGE, LaneState, MAX_STAGES, ProcessFacts, StageId, Ticks};
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, OFlags, fallocate};

use crate::lane_memory::{LaneMemory, NAME_WORDS};
use crate::process::ProcessIdentity;
use crate::random_name::random_name;
use crate::segment::LogName;
use crate::shared_memory::{ring_directory, room_for};
use crate::text_memory::TextMemory;

/// Threads that can record into the ring at once.
pub const RING_LANES: usize = 8;

const MAGIC: u64 = u64::from_le_bytes(*b"LTRING\x05\x00");
const PATH_WORDS: usize = 256;
/// How a ring's file name ends while it is being made, which takes a millisecond.
const UNFINISHED: &str = "unfinished";
/// A ring that is still unfinished after this has no maker any more.
const LONGEST_MAKING: Duration = Duration::from_secs(60);
/// What a ring knows of its process.
#[repr(C)]
pub struct RingHeader {
    magic: AtomicU64,
    pid: AtomicU64,
    pid_start: AtomicU64,
    /// The rank in bits 0-31, which recorder of a process that joined the run above.
    rank: AtomicU64,
    started: AtomicU64,
    ns_per_tick: AtomicU64,
    /// Two places for the newest anchor and which of them is whole: a kill may strike in mid-update.
    newest_anchor: AtomicU64,
    anchors: [[AtomicU64; 4]; 2],
    boot_id: TextMemory<NAME_WORDS>,
    clock: TextMemory<NAME_WORDS>,
    run: TextMemory<PATH_WORDS>,
    stages: [TextMemory<NAME_WORDS>; MAX_STAGES as usize],
}

/// Who a ring belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct RingIdentity {
    /// The process that fills it.
    pub process: ProcessIdentity,
    /// Its rank.
    pub rank: u32,
    /// 0 for the process that made the run; else it joined, and this is which recorder of it, from 1.
    pub joined: u32,
    /// The run's folder.
    pub run: PathBuf,
    /// The recorder's start.
    pub started: Ticks,
    /// The length of a tick measured at start, nanoseconds.
    pub ns_per_tick: f64,
    /// Where the clock comes from.
    pub clock: String,
}

impl RingIdentity {
    /// The log that the process of this ring writes.
    #[must_use]
    pub fn log(&self) -> LogName {
        LogName::of(self.rank, &self.process, self.joined)
    }
}

#[repr(C)]
struct RingMemory {
    header: RingHeader,
    lanes: [LaneMemory; RING_LANES],
}

/// A ring, mapped: the one a recorder fills, or one that another process left.
pub struct Ring {
    map: MmapRaw,
    path: Option<PathBuf>,
}

impl Ring {
    /// Makes a ring in shared memory under a random name.
    ///
    /// # Errors
    /// When shared memory is missing, full, or too small to take from.
    pub fn create(identity: &RingIdentity) -> io::Result<Self> {
        let made = Self::create_once(identity);
        match made {
            // A laptime that ends removes the folder when it is empty, perhaps just before it is used.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create_once(identity),
            made => made,
        }
    }

    fn create_once(identity: &RingIdentity) -> io::Result<Self> {
        let folder = room_for(size_of::<RingMemory>() as u64)?;
        let path = folder.join(ring_name(&identity.run)?);
        // Under another name until it is whole: what a kill leaves half-made is then known as such.
        let unfinished = path.with_extension(UNFINISHED);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(&unfinished)?;
        let finish = || {
            let ring = Self::map_new(&file, &path)?;
            ring.memory().header.fill(identity);
            fs::rename(&unfinished, &path)?;
            Ok(ring)
        };
        finish().inspect_err(|_: &io::Error| {
            // The error that is returned says why; a ring that could not be made must not stay behind.
            let _ = fs::remove_file(&unfinished);
        })
    }

    fn map_new(file: &File, path: &Path) -> io::Result<Self> {
        fallocate(file, FallocateFlags::empty(), 0, size_of::<RingMemory>() as u64)?;
        let map = MmapOptions::new().len(size_of::<RingMemory>()).populate().map_raw(file)?;
        Ok(Self { map, path: Some(path.to_owned()) })
    }

    /// A ring in ordinary memory, for where shared memory cannot be had.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn in_memory(identity: &RingIdentity) -> io::Result<Self> {
        let map = MmapRaw::from(memmap2::MmapMut::map_anon(size_of::<RingMemory>())?);
        let ring = Self { map, path: None };
        ring.memory().header.fill(identity);
        Ok(ring)
    }

    /// Opens a ring to read it, also while its process still writes.
    ///
    /// # Errors
    /// When it is not there, cut short, or not a ring of this version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
        if file.metadata()?.len() != size_of::<RingMemory>() as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a whole ring"));
        }
        let map = MmapOptions::new().len(size_of::<RingMemory>()).map_raw_read_only(&file)?;
        let ring = Self { map, path: Some(path.to_owned()) };
        if ring.memory().header.magic.load(Ordering::Acquire) != MAGIC {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a ring of this version"));
        }
        Ok(ring)
    }

    /// The ring's file; `None` in ordinary memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The name under which the run remembers its ring.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        Some(self.path.as_ref()?.file_name()?.to_string_lossy().into_owned())
    }

    /// Keeps the mapping for the rest of the process and gives it out for ever.
    ///
    /// A thread may be inside a guard while the recorder ends; unmapping under it would kill the host.
    #[must_use]
    pub fn leak(self) -> (&'static RingHeader, &'static [LaneMemory; RING_LANES]) {
        let memory = self.map.as_mut_ptr().cast::<RingMemory>().cast_const();
        std::mem::forget(self.map);
        // SAFETY: as in `memory`, and the mapping is never unmapped.
        let memory = unsafe { &*memory };
        (&memory.header, &memory.lanes)
    }

    fn memory(&self) -> &RingMemory {
        // SAFETY: every way to make a `Ring` maps at least `size_of::<RingMemory>()` bytes, page-aligned;
        // all fields are atomics, for which any bytes are valid and shared change is allowed; a read-only
        // mapping is only ever loaded from.
        unsafe { &*self.map.as_ptr().cast::<RingMemory>() }
    }

    /// What the ring knows of its process.
    #[must_use]
    pub fn header(&self) -> &RingHeader {
        &self.memory().header
    }

    /// What the ring knows of its process, for when its log says nothing.
    #[must_use]
    pub fn process_facts(&self) -> ProcessFacts {
        let identity = self.header().identity();
        ProcessFacts {
            rank: identity.rank,
            pid: identity.process.pid,
            boot_id: identity.process.boot_id,
            pid_start: identity.process.pid_start,
            clock: identity.clock,
            ns_per_tick: identity.ns_per_tick,
            started: identity.started,
            ring: self.name(),
            ..ProcessFacts::default()
        }
    }

    /// Where a lane stood at the last instant the ring knows of: its own, or the flusher's last round.
    ///
    /// A stage that hung for an hour before the kill has nothing newer than its own begin on its lane.
    #[must_use]
    pub fn last_state(&self, lane: &LaneMemory) -> LaneState {
        let drained = self.header().anchor().map(|anchor| anchor.ticks).unwrap_or_default();
        lane.state(lane.last_instant().max(drained))
    }

    /// The lanes, used or not.
    #[must_use]
    pub fn lanes(&self) -> &[LaneMemory; RING_LANES] {
        &self.memory().lanes
    }
}

impl RingHeader {
    fn fill(&self, identity: &RingIdentity) {
        self.pid.store(u64::from(identity.process.pid), Ordering::Relaxed);
        self.pid_start.store(identity.process.pid_start, Ordering::Relaxed);
        let rank = u64::from(identity.rank) | u64::from(identity.joined) << 32;
        self.rank.store(rank, Ordering::Relaxed);
        self.started.store(identity.started.0, Ordering::Relaxed);
        self.ns_per_tick.store(identity.ns_per_tick.to_bits(), Ordering::Relaxed);
        self.boot_id.write(&identity.process.boot_id);
        self.clock.write(&identity.clock);
        self.run.write(&identity.run.to_string_lossy());
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Who the ring belongs to.
    #[must_use]
    pub fn identity(&self) -> RingIdentity {
        RingIdentity {
            process: ProcessIdentity {
                pid: self.pid.load(Ordering::Relaxed) as u32,
                boot_id: self.boot_id.read().unwrap_or_default(),
                pid_start: self.pid_start.load(Ordering::Relaxed),
            },
            rank: self.rank.load(Ordering::Relaxed) as u32,
            joined: (self.rank.load(Ordering::Relaxed) >> 32) as u32,
            run: PathBuf::from(self.run.read().unwrap_or_default()),
            started: Ticks(self.started.load(Ordering::Relaxed)),
            ns_per_tick: f64::from_bits(self.ns_per_tick.load(Ordering::Relaxed)),
            clock: self.clock.read().unwrap_or_default(),
        }
    }

    /// Remembers the name of a user's stage.
    pub fn name_stage(&self, stage: StageId, name: &str) {
        if let Some(place) = self.stages.get(usize::from(stage.0)) {
            place.write(name);
        }
    }

    /// The names of the user's stages.
    #[must_use]
    pub fn stage_names(&self) -> Vec<(StageId, String)> {
        (FIRST_USER_STAGE..MAX_STAGES)
            .filter_map(|stage| Some((StageId(stage), self.stages[usize::from(stage)].read()?)))
            .collect()
    }

    /// Remembers the newest anchor.
    pub fn put_anchor(&self, anchor: &Anchor) {
        let place = self.newest_anchor.load(Ordering::Relaxed) + 1;
        let values = [anchor.ticks.0, anchor.monotonic_ns, anchor.real_ns, anchor.boot_ns];
        for (word, value) in self.anchors[place as usize % 2].iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        self.newest_anchor.store(place, Ordering::Release);
    }

    /// The newest anchor; `None` before the first.
    #[must_use]
    pub fn anchor(&self) -> Option<Anchor> {
        let place = self.newest_anchor.load(Ordering::Acquire);
        let [ticks, monotonic_ns, real_ns, boot_ns] =
            [0, 1, 2, 3].map(|at: usize| self.anchors[place as usize % 2][at].load(Ordering::Relaxed));
        (place > 0).then_some(Anchor { ticks: Ticks(ticks), monotonic_ns, real_ns, boot_ns })
    }
}

/// The name of a new ring: the run's id, so that a run's rings are found by their names, and 128 random bits.
fn ring_name(run: &Path) -> io::Result<String> {
    let id = run.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{id}.{}.ring", random_name()?))
}

/// Removes what processes left that were killed while they made their ring.
pub(crate) fn remove_unfinished_rings() {
    let Ok(entries) = fs::read_dir(ring_directory()) else { return };
    for entry in entries.flatten() {
        let unfinished = entry.path().extension().is_some_and(|extension| extension == UNFINISHED);
        let age = entry.metadata().and_then(|metadata| metadata.modified()).map(|at| at.elapsed());
        if unfinished && matches!(age, Ok(Ok(age)) if age > LONGEST_MAKING) {
            // Another command may have been faster.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Cuts a forked child off from its parent's ring: what it still writes there stays its own.
///
/// Safe to call right after a fork: it is one system call. Should that fail, the child can still write.
pub fn detach_ring(header: &'static RingHeader) {
    let start = std::ptr::from_ref(header).cast::<std::ffi::c_void>().cast_mut();
    let flags = rustix::mm::MapFlags::PRIVATE | rustix::mm::MapFlags::FIXED;
    let access = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
    // SAFETY: a header given out by `Ring::leak` stands at the begin of a mapping of a whole ring that is
    // never unmapped and holds only atomics; zeroed memory of the same size takes its place.
    let _ = unsafe { rustix::mm::mmap_anonymous(start, size_of::<RingMemory>(), access, flags) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::SHARE_OF_FREE;

    #[test]
    fn the_ring_is_small_enough_for_a_containers_shared_memory() {
        assert!(
            size_of::<RingMemory>() < 64 * 1024 * 1024 / SHARE_OF_FREE as usize,
            "{}",
            size_of::<RingMemory>()
        );
    }
}
