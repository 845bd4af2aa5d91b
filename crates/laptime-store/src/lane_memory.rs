//! The lane of one track as it lies in memory, shared or not: its stack, its totals and its ring of events.

#![expect(unsafe_code, reason = "mapping memory as a struct of atomics")]

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use laptime_core::{
    Event, LaneState, MAX_STAGES, OpenStage, Record, StageId, StageTotal, Ticks, Track, TrackKind,
};
use memmap2::MmapRaw;

use crate::entry::Entry;
use crate::text_memory::TextMemory;

/// Events a lane holds until they are drained; a power of two.
pub const RING_ENTRIES: usize = 8192;
/// Open stages a lane can name; deeper ones are counted but booked on the last that fits.
pub const FRAMES: usize = 64;
/// Stages that a snapshot has room for at once; with more it grows.
const USUAL_STAGES: usize = 16;
/// The longest name of a stage or thread, in words of eight bytes.
pub(crate) const NAME_WORDS: usize = 8;

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

/// What one track is recorded into. Only one thread writes, except `tail`, which only the drain writes.
#[repr(C)]
pub struct LaneMemory {
    /// Events put so far; stored after the entry it covers.
    pub head: AtomicU64,
    _line_of_head: [u64; 7],
    /// Events drained so far; on a cache line of its own.
    pub tail: AtomicU64,
    _line_of_tail: [u64; 7],
    /// The lane's number plus one; 0 while no track has it.
    pub number: AtomicU64,
    /// What the track is of, by its number.
    kind: AtomicU64,
    /// The kernel's id of the thread that it is of; 0 where it is of none.
    thread: AtomicU64,
    /// When the track began.
    pub started: AtomicU64,
    /// Open stages, the background included.
    pub depth: AtomicU64,
    /// The depth inside the stage that absorbs all within it; 0 when none does.
    pub absorber: AtomicU64,
    /// Events that found the ring full.
    pub dropped: AtomicU64,
    /// Ends of stages that were not open.
    pub unmatched: AtomicU64,
    /// One more than the highest stage whose totals were ever asked for: snapshots look no further.
    stages: AtomicU64,
    /// Where the lap under way began: depth, start of the innermost stage, time, time of its children then.
    pub lap: [AtomicU64; 4],
    name: TextMemory<NAME_WORDS>,
    /// Open stages from the outermost.
    pub frames: [Frame; FRAMES],
    /// Totals by stage number; zero from `stages` on.
    totals: [TotalMemory; MAX_STAGES as usize],
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

    /// Gives the lane to a track, of the calling thread where it is a thread's.
    pub fn claim(&self, number: u32, track: &Track, started: Ticks) {
        let fields = [&self.head, &self.tail, &self.depth, &self.absorber, &self.dropped, &self.unmatched];
        for field in fields.into_iter().chain([&self.stages]) {
            field.store(0, Ordering::Relaxed);
        }
        self.lap.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        for total in &self.totals {
            total.own.store(0, Ordering::Relaxed);
            total.count.store(0, Ordering::Relaxed);
        }
        self.started.store(started.0, Ordering::Relaxed);
        let thread = match track.kind {
            TrackKind::Thread => rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs(),
            _ => 0,
        };
        self.thread.store(u64::from(thread), Ordering::Relaxed);
        self.kind.store(track.kind as u64, Ordering::Relaxed);
        self.name.write(&track.name);
        self.number.store(u64::from(number) + 1, Ordering::Release);
    }

    /// Takes the lane from a track that has ended, once it is drained.
    pub fn release(&self) {
        self.number.store(0, Ordering::Release);
    }

    /// The lane's number; `None` while no track has it.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        u32::try_from(self.number.load(Ordering::Acquire).checked_sub(1)?).ok()
    }

    /// The kernel's id of the thread that it is of; 0 where it is of none.
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed) as u32
    }

    /// The stage that the running time is booked on; `None` before the thread's first.
    #[must_use]
    pub fn booked_stage(&self) -> Option<StageId> {
        let depth = (self.depth.load(Ordering::Acquire) as usize).min(FRAMES);
        let absorber = self.absorber.load(Ordering::Relaxed) as usize;
        let innermost = if absorber == 0 { depth } else { absorber.min(depth) };
        let frame = self.frames.get(innermost.checked_sub(1)?)?;
        Some(frame.open_stage().stage)
    }

    /// The track that has it.
    #[must_use]
    pub fn track(&self) -> Track {
        let number = u16::try_from(self.kind.load(Ordering::Relaxed)).ok();
        let kind = number.and_then(TrackKind::from_number).unwrap_or_default();
        Track { kind, name: self.name.read().unwrap_or_default() }
    }

    /// What the log says of its track.
    pub(crate) fn track_record(&self, lane: u32) -> Record {
        Record::Track { lane, track: self.track(), started: Ticks(self.started.load(Ordering::Relaxed)) }
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

    /// The totals of a stage, to be changed by the lane's thread alone; snapshots have them from here on.
    pub fn total(&self, stage: StageId) -> &TotalMemory {
        let at = stage.0 % MAX_STAGES;
        if u64::from(at) >= self.stages.load(Ordering::Relaxed) {
            self.stages.store(u64::from(at) + 1, Ordering::Relaxed);
        }
        &self.totals[usize::from(at)]
    }

    /// Adds a span that has ended to its stage's totals; for the lane's thread alone.
    #[inline]
    pub fn add_span(&self, stage: StageId, own: u64) {
        let total = &self.totals[usize::from(stage.0 % MAX_STAGES)];
        let count = total.count.load(Ordering::Relaxed);
        if count == 0 {
            // Only a stage without spans can be new to snapshots.
            self.total(stage);
        }
        total.own.store(total.own.load(Ordering::Relaxed).wrapping_add(own), Ordering::Relaxed);
        total.count.store(count.wrapping_add(1), Ordering::Relaxed);
    }

    /// Totals of the stages that have any.
    ///
    /// Every mark takes them: looking at all 256 stages was a fifth of an epoch of one short step.
    #[must_use]
    pub fn stage_totals(&self) -> Vec<StageTotal> {
        let stages = (self.stages.load(Ordering::Relaxed) as usize).min(self.totals.len());
        let used = self.totals[..stages].iter().enumerate();
        let mut totals = Vec::with_capacity(USUAL_STAGES);
        totals.extend(used.filter_map(|(stage, total)| total.stage_total(stage)));
        totals
    }

    /// Where the lane stands at `now`.
    #[must_use]
    pub fn state(&self, now: Ticks) -> LaneState {
        let depth = (self.depth.load(Ordering::Acquire) as usize).min(FRAMES);
        let open = self.frames[..depth].iter().map(Frame::open_stage).collect();
        LaneState {
            lane: self.number().unwrap_or_default(),
            at: now,
            open,
            totals: self.stage_totals(),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    /// The last instant the lane itself knows of.
    pub(crate) fn last_instant(&self) -> Ticks {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_longer_than_their_place_are_cut_at_a_character() {
        let lane = LaneMemory::leak_private().unwrap();
        lane.claim(3, &Track::thread("ä".repeat(40)), Ticks(7));
        assert_eq!(lane.track(), Track::thread("ä".repeat(32)));
        assert_eq!(lane.number(), Some(3));
    }

    #[test]
    fn a_snapshot_has_every_stage_that_was_booked_and_a_new_track_none_of_them() {
        let lane = LaneMemory::leak_private().unwrap();
        lane.claim(0, &Track::thread("main"), Ticks(0));
        let booked = [StageId(MAX_STAGES - 1), StageId(0), StageId(40)];
        for stage in booked {
            lane.total(stage).own.store(u64::from(stage.0) + 1, Ordering::Relaxed);
        }
        let totals = lane.state(Ticks(9)).totals;
        let own: Vec<(u16, u64)> = totals.iter().map(|total| (total.stage.0, total.own.0)).collect();
        assert_eq!(own, [(0, 1), (40, 41), (MAX_STAGES - 1, u64::from(MAX_STAGES))]);
        lane.claim(1, &Track::thread("next"), Ticks(10));
        assert!(lane.state(Ticks(11)).totals.is_empty());
        lane.add_span(StageId(30), 5);
        lane.add_span(StageId(3), 5);
        assert_eq!(lane.state(Ticks(12)).totals.len(), 2);
    }

    #[test]
    fn time_is_booked_on_the_innermost_stage_unless_one_around_it_absorbs_it() {
        let lane = LaneMemory::leak_private().unwrap();
        lane.claim(0, &Track::thread("main"), Ticks(0));
        assert_eq!(lane.booked_stage(), None);
        for (at, stage) in [StageId::UNACCOUNTED, StageId::EVALUATE, StageId::FORWARD].iter().enumerate() {
            lane.frames[at].stage.store(u64::from(stage.0), Ordering::Relaxed);
            lane.depth.store(at as u64 + 1, Ordering::Relaxed);
            assert_eq!(lane.booked_stage(), Some(*stage));
        }
        lane.absorber.store(2, Ordering::Relaxed);
        assert_eq!(lane.booked_stage(), Some(StageId::EVALUATE));
    }
}
