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
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use laptime_core::{
    Anchor, Counter, Event, FIRST_USER_STAGE, LaneState, MAX_STAGES, Metric, OpenStage, ProcessFacts,
    StageId, StageTotal, Ticks,
};
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, OFlags, fallocate, statvfs};

use crate::disk::{Disk, RealDisk};
use crate::process::ProcessIdentity;
use crate::segment::LogName;

/// Events a lane holds until they are drained; a power of two.
pub const RING_ENTRIES: usize = 8192;
/// Threads that can record into the ring at once.
pub const RING_LANES: usize = 8;
/// Open stages a lane can name; deeper ones are counted but booked on the last that fits.
pub const FRAMES: usize = 64;

const MAGIC: u64 = u64::from_le_bytes(*b"LTRING\x01\x00");
/// A stage or thread name in the ring: a length byte and up to 63 bytes.
const NAME_WORDS: usize = 8;
const PATH_WORDS: usize = 256;
/// How a ring's file name ends while it is being made, which takes a millisecond.
const UNFINISHED: &str = "unfinished";
/// A ring that is still unfinished after this has no maker any more.
const LONGEST_MAKING: Duration = Duration::from_secs(60);
/// All rings of a user may take this share of what is free: loader workers need shared memory too.
const SHARE_OF_FREE: u64 = 16;

/// One event as four words; see [`Entry::event`] for their meaning by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(pub [u64; 4]);

mod kind {
    pub(super) const SPAN: u64 = 1;
    pub(super) const STEP: u64 = 2;
    pub(super) const FIT_BEGIN: u64 = 3;
    pub(super) const FIT_END: u64 = 4;
    pub(super) const EPOCH_BEGIN: u64 = 5;
    pub(super) const EPOCH_END: u64 = 6;
    pub(super) const TOTAL: u64 = 7;
    pub(super) const COUNT: u64 = 8;
    pub(super) const MEASURED: u64 = 9;
}

/// Word 0 of an entry: kind in bits 0-7, a flag in bit 8, an id in bits 16-31, a number above.
const fn word(kind: u64, flag: bool, id: u16, number: u32) -> u64 {
    kind | (flag as u64) << 8 | (id as u64) << 16 | (number as u64) << 32
}

impl Entry {
    /// A span; the shortest way from a guard's end into the ring.
    #[inline]
    #[must_use]
    pub fn span(stage: StageId, start: Ticks, end: Ticks, own: Ticks, in_evaluate: bool) -> Self {
        Self([word(kind::SPAN, in_evaluate, stage.0, 0), start.0, end.0, own.0])
    }

    /// Any event as an entry.
    #[must_use]
    pub fn from_event(event: &Event) -> Self {
        match *event {
            Event::Span { stage, start, end, own, in_evaluate } => {
                Self::span(stage, start, end, own, in_evaluate)
            }
            Event::Step { start, end, samples, loss } => Self([
                word(kind::STEP, loss.is_some(), 0, samples),
                start.0,
                end.0,
                loss.unwrap_or_default().to_bits(),
            ]),
            Event::FitBegin { fit, at } => Self([word(kind::FIT_BEGIN, false, 0, fit), at.0, 0, 0]),
            Event::FitEnd { fit, at } => Self([word(kind::FIT_END, false, 0, fit), at.0, 0, 0]),
            Event::EpochBegin { epoch, at } => Self([word(kind::EPOCH_BEGIN, false, 0, epoch), at.0, 0, 0]),
            Event::EpochEnd { epoch, at } => Self([word(kind::EPOCH_END, false, 0, epoch), at.0, 0, 0]),
            Event::Total(total) => {
                Self([word(kind::TOTAL, false, total.stage.0, 0), total.own.0, total.count, 0])
            }
            Event::Count { counter, at, amount } => {
                Self([word(kind::COUNT, false, counter as u16, 0), at.0, amount, 0])
            }
            Event::Measured { metric, at, value } => {
                Self([word(kind::MEASURED, false, metric as u16, 0), at.0, value.to_bits(), 0])
            }
        }
    }

    /// The event, or `None` for words no version 1 writes.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        let [head, first, second, third] = self.0;
        let (flag, id, number) = (head & 0x100 != 0, (head >> 16) as u16, (head >> 32) as u32);
        let at = Ticks(first);
        Some(match head & 0xff {
            kind::SPAN => Event::Span {
                stage: StageId(id),
                start: at,
                end: Ticks(second),
                own: Ticks(third),
                in_evaluate: flag,
            },
            kind::STEP => Event::Step {
                start: at,
                end: Ticks(second),
                samples: number,
                loss: flag.then(|| f64::from_bits(third)),
            },
            kind::FIT_BEGIN => Event::FitBegin { fit: number, at },
            kind::FIT_END => Event::FitEnd { fit: number, at },
            kind::EPOCH_BEGIN => Event::EpochBegin { epoch: number, at },
            kind::EPOCH_END => Event::EpochEnd { epoch: number, at },
            kind::TOTAL => Event::Total(StageTotal { stage: StageId(id), own: at, count: second }),
            kind::COUNT => Event::Count { counter: Counter::from_number(id)?, at, amount: second },
            kind::MEASURED => {
                Event::Measured { metric: Metric::from_number(id)?, at, value: f64::from_bits(second) }
            }
            _ => return None,
        })
    }
}

/// Names and paths as words, so that they can be shared like everything else.
#[repr(C)]
struct TextMemory<const WORDS: usize> {
    /// Bytes of the text plus one, written last; 0 while there is none.
    length: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> TextMemory<WORDS> {
    fn write(&self, text: &str) {
        let mut end = text.len().min(WORDS * 8);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (word, chunk) in self.words.iter().zip(text.as_bytes()[..end].chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        self.length.store(end as u64 + 1, Ordering::Release);
    }

    fn read(&self) -> Option<String> {
        let length = usize::try_from(self.length.load(Ordering::Acquire).checked_sub(1)?).ok()?;
        let bytes: Vec<u8> = self
            .words
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .take(length)
            .collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// One open stage.
#[repr(C)]
#[derive(Debug)]
pub struct Frame {
    /// The stage's number.
    pub stage: AtomicU64,
    /// When it began.
    pub start: AtomicU64,
    /// Time of the stages inside it that have ended.
    pub children: AtomicU64,
}

/// The totals of one stage.
#[repr(C)]
#[derive(Debug)]
pub struct TotalMemory {
    /// Exclusive time.
    pub own: AtomicU64,
    /// Spans that ended.
    pub count: AtomicU64,
}

/// What one thread records into. Only that thread writes, except `tail`, which only the drain writes.
#[repr(C)]
pub struct LaneMemory {
    /// Events put so far; stored after the entry it covers.
    pub head: AtomicU64,
    _line_of_head: [u64; 7],
    /// Events drained so far; on a cache line of its own.
    pub tail: AtomicU64,
    _line_of_tail: [u64; 7],
    /// The lane's number plus one; 0 while no thread has it.
    pub number: AtomicU64,
    /// When the thread began recording.
    pub started: AtomicU64,
    /// Open stages, the background included.
    pub depth: AtomicU64,
    /// The depth inside the stage that absorbs all within it; 0 when none does.
    pub absorber: AtomicU64,
    /// Events that found the ring full.
    pub dropped: AtomicU64,
    /// Ends of stages that were not open.
    pub unmatched: AtomicU64,
    name: TextMemory<NAME_WORDS>,
    /// Open stages from the outermost.
    pub frames: [Frame; FRAMES],
    /// Totals by stage number.
    pub totals: [TotalMemory; MAX_STAGES as usize],
    /// The events, at their number modulo [`RING_ENTRIES`].
    pub entries: [[AtomicU64; 4]; RING_ENTRIES],
}

impl LaneMemory {
    /// A lane outside any ring: recorded and drained like others, lost when the process is killed.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn leak_private() -> io::Result<&'static Self> {
        let map = MmapRaw::from(memmap2::MmapMut::map_anon(size_of::<Self>())?);
        let lane = map.as_mut_ptr().cast::<Self>();
        std::mem::forget(map);
        // SAFETY: the mapping is zeroed, page-aligned, large enough and never unmapped; all-zero is a
        // valid lane, and every field is atomic.
        Ok(unsafe { &*lane })
    }

    /// Gives the lane to a thread.
    pub fn claim(&self, number: u32, name: &str, started: Ticks) {
        let fields = [&self.head, &self.tail, &self.depth, &self.absorber, &self.dropped, &self.unmatched];
        for field in fields {
            field.store(0, Ordering::Relaxed);
        }
        for total in &self.totals {
            total.own.store(0, Ordering::Relaxed);
            total.count.store(0, Ordering::Relaxed);
        }
        self.started.store(started.0, Ordering::Relaxed);
        self.name.write(name);
        self.number.store(u64::from(number) + 1, Ordering::Release);
    }

    /// Takes the lane from a thread that has ended, once it is drained.
    pub fn release(&self) {
        self.number.store(0, Ordering::Release);
    }

    /// The lane's number; `None` while no thread has it.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        u32::try_from(self.number.load(Ordering::Acquire).checked_sub(1)?).ok()
    }

    /// The thread's name.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.read().unwrap_or_default()
    }

    /// Events from number `from` on that are still there, and the number of the first of them.
    #[must_use]
    pub fn events_from(&self, from: u64) -> (u64, Vec<Event>) {
        let head = self.head.load(Ordering::Acquire);
        let oldest = head.saturating_sub(RING_ENTRIES as u64);
        let first = from.max(oldest).min(head);
        let entries: Vec<Entry> = (first..head).map(|number| self.entry(number)).collect();
        let overwritten = self.first_untouched().saturating_sub(first);
        let skip = usize::try_from(overwritten).unwrap_or(usize::MAX).min(entries.len());
        (first + skip as u64, entries[skip..].iter().map_while(Entry::event).collect())
    }

    /// The oldest event no newer one has been written over, nor is being written over just now.
    ///
    /// What is not drained is never written over; of the rest only the place after the newest is at risk.
    fn first_untouched(&self) -> u64 {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        tail.min((head + 1).saturating_sub(RING_ENTRIES as u64))
    }

    fn entry(&self, number: u64) -> Entry {
        let slot = &self.entries[number as usize % RING_ENTRIES];
        Entry([0, 1, 2, 3].map(|at: usize| slot[at].load(Ordering::Relaxed)))
    }

    /// Where the lane stands at `now`.
    #[must_use]
    pub fn state(&self, now: Ticks) -> LaneState {
        let depth = (self.depth.load(Ordering::Acquire) as usize).min(FRAMES);
        let open = self.frames[..depth].iter().map(Frame::open_stage).collect();
        let totals =
            self.totals.iter().enumerate().filter_map(|(stage, total)| total.stage_total(stage)).collect();
        LaneState {
            lane: self.number().unwrap_or_default(),
            at: now,
            open,
            totals,
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    /// The last instant the lane itself knows of.
    fn last_instant(&self) -> Ticks {
        let depth = (self.depth.load(Ordering::Acquire) as usize).min(FRAMES);
        let opened = self.frames[..depth].iter().map(|frame| frame.start.load(Ordering::Relaxed)).max();
        let head = self.head.load(Ordering::Acquire);
        let newest = head.saturating_sub(16)..head;
        let ended = newest.filter_map(|number| self.entry(number).event()?.instant()).max();
        Ticks(opened.unwrap_or(0))
            .max(ended.unwrap_or_default())
            .max(Ticks(self.started.load(Ordering::Relaxed)))
    }
}

impl Frame {
    /// The frame's words as an open stage.
    #[must_use]
    pub fn open_stage(&self) -> OpenStage {
        OpenStage {
            stage: StageId(self.stage.load(Ordering::Relaxed) as u16),
            start: Ticks(self.start.load(Ordering::Relaxed)),
            children: Ticks(self.children.load(Ordering::Relaxed)),
        }
    }
}

impl TotalMemory {
    fn stage_total(&self, stage: usize) -> Option<StageTotal> {
        let total = StageTotal {
            stage: StageId(stage as u16),
            own: Ticks(self.own.load(Ordering::Relaxed)),
            count: self.count.load(Ordering::Relaxed),
        };
        (total.own.0 > 0 || total.count > 0).then_some(total)
    }
}

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
        let folder = ring_directory();
        RealDisk.create_folder(&folder)?;
        refuse_foreign(&folder)?;
        refuse_when_scarce(&folder)?;
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

    /// What the ring can tell of its process, for when its log cannot.
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

/// The rings of this user's processes that record into a run.
pub(crate) fn rings_of(run: &Path) -> Vec<Ring> {
    let Ok(entries) = fs::read_dir(ring_directory()) else { return Vec::new() };
    let beginning = format!("{}.", run.file_name().unwrap_or_default().to_string_lossy());
    let of_run =
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&beginning));
    let rings = of_run.filter_map(|entry| Ring::open(&entry.path()).ok());
    rings.filter(|ring| ring.header().identity().run == run).collect()
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

/// Where this user's rings are.
#[must_use]
pub fn ring_directory() -> PathBuf {
    PathBuf::from(format!("/dev/shm/laptime-{}", rustix::process::getuid().as_raw()))
}

fn refuse_foreign(folder: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    let ours = metadata.is_dir() && metadata.uid() == rustix::process::getuid().as_raw();
    if ours {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the ring folder is not ours"))
    }
}

fn refuse_when_scarce(folder: &Path) -> io::Result<()> {
    let space = statvfs(folder)?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let rings = fs::read_dir(folder)?.count() as u64;
    // What other rings took is no longer free, so it counts towards what was free before them.
    let taken = rings.saturating_mul(size_of::<RingMemory>() as u64);
    if (taken + size_of::<RingMemory>() as u64).saturating_mul(SHARE_OF_FREE) <= free.saturating_add(taken) {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::StorageFull, "shared memory is scarce"))
    }
}

/// 128 random bits in hex.
pub(crate) fn random_name() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::events::tests::any_event;

    proptest! {
        #[test]
        fn an_event_survives_its_entry(event in any_event()) {
            prop_assert_eq!(Entry::from_event(&event).event(), Some(event));
        }

        #[test]
        fn any_words_give_an_event_or_none(words in any::<[u64; 4]>()) {
            let _ = Entry(words).event();
        }
    }

    #[test]
    fn names_longer_than_their_place_are_cut_at_a_character() {
        let lane = LaneMemory::leak_private().unwrap();
        lane.claim(3, &"ä".repeat(40), Ticks(7));
        assert_eq!(lane.name(), "ä".repeat(32));
        assert_eq!(lane.number(), Some(3));
    }

    #[test]
    fn the_ring_is_small_enough_for_a_containers_shared_memory() {
        assert!(
            size_of::<RingMemory>() < 64 * 1024 * 1024 / SHARE_OF_FREE as usize,
            "{}",
            size_of::<RingMemory>()
        );
    }
}
