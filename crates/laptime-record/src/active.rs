//! The recorder that is on: what the threads of the process share, and how they find it.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

use laptime_core::{Anchor, FitFacts, Record, StageId, Ticks, Track};
use laptime_store::{LaneMemory, RING_LANES, RingHeader};

use crate::clock::now;
use crate::lane::Lane;
use crate::span_cost::measure_span_cost_ns;

/// Tracks that can be recorded at once; those beyond the ring's lanes lose up to 100 ms when killed.
const MAX_LANES: usize = 64;

/// The generation while a recorder starts with the first record.
pub(crate) const ARMED: u32 = u32::MAX;

static GENERATION: AtomicU32 = AtomicU32::new(0);
static ACTIVE: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());
static STARTING: Mutex<()> = Mutex::new(());
/// What starts the recorder that is armed: starting is above this, and threads below it ask for it.
static START: OnceLock<fn()> = OnceLock::new();

/// Says what an armed recorder is started by: the same function every time.
pub(crate) fn armed_is_started_by(start: fn()) {
    START.get_or_init(|| start);
}

/// The next record starts a recorder.
pub(crate) fn set_armed() {
    GENERATION.store(ARMED, Ordering::Release);
}

/// Starts what is armed.
#[cold]
pub(crate) fn start_armed() {
    if let Some(start) = START.get() {
        start();
    }
}

/// No record starts a recorder any more.
pub(crate) fn unset_armed() {
    let _ = GENERATION.compare_exchange(ARMED, 0, Ordering::AcqRel, Ordering::Relaxed);
}

/// From here on nothing is put on a lane; what is there still goes into the log.
pub(crate) fn stop_taking_records() {
    GENERATION.store(0, Ordering::Release);
}

/// Locks of the recorder that is on, held around a fork.
pub(crate) struct RecorderLocks {
    _starting: MutexGuard<'static, ()>,
    _lanes: Option<MutexGuard<'static, Lanes>>,
    _notes: Option<MutexGuard<'static, Vec<Record>>>,
}

/// Takes every lock of the recorder.
pub(crate) fn lock_all() -> RecorderLocks {
    let starting = lock(&STARTING);
    let recorder = active();
    RecorderLocks {
        _starting: starting,
        _lanes: recorder.map(|recorder| lock(&recorder.lanes)),
        _notes: recorder.map(|recorder| lock(&recorder.notes)),
    }
}

/// In a forked child: no recorder is on here, and the parent's ring is out of reach.
///
/// Says whether the parent was taking records.
pub(crate) fn begin_anew_in_child() -> bool {
    let Some(parents) = active() else { return false };
    let was_on = ![0, ARMED].contains(&GENERATION.swap(0, Ordering::Relaxed));
    ACTIVE.store(std::ptr::null_mut(), Ordering::Relaxed);
    // A guard that was open at the fork still points there.
    laptime_store::detach_ring(parents.header);
    was_on
}

/// Nobody else starts a recorder meanwhile.
pub(crate) fn lock_starting() -> MutexGuard<'static, ()> {
    lock(&STARTING)
}

/// From here on this is the recorder that is on.
pub(crate) fn put_on(recorder: &'static Shared) {
    ACTIVE.store(std::ptr::from_ref(recorder).cast_mut(), Ordering::Release);
    GENERATION.store(recorder.generation, Ordering::Release);
}

/// From here on no recorder is on.
pub(crate) fn put_off() {
    GENERATION.store(0, Ordering::Release);
    ACTIVE.store(std::ptr::null_mut(), Ordering::Release);
}

/// The number of the recorder that is on; 0 when there is none.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// The recorder that is on.
#[expect(unsafe_code, reason = "a leaked pointer is given out for ever")]
pub(crate) fn active() -> Option<&'static Shared> {
    // SAFETY: the pointer is null or comes from `Box::leak`, so what it points to is never freed.
    unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }
}

/// Wakes the flusher before a ring fills up.
#[cold]
pub(crate) fn wake_flusher() {
    if let Some(recorder) = active() {
        recorder.wake();
    }
}

/// What the threads of a process share while a recorder is on. It is leaked, like the ring: a thread may
/// stand inside a guard when the recorder ends, and a process has one recorder in its life, rarely two.
pub(crate) struct Shared {
    pub(crate) generation: u32,
    pub(crate) header: &'static RingHeader,
    pub(crate) began: Anchor,
    flusher: OnceLock<Thread>,
    stop: AtomicBool,
    ring: &'static [LaneMemory; RING_LANES],
    lanes: Mutex<Lanes>,
    /// Facts too long for the ring, written by the flusher before the events that follow them.
    notes: Mutex<Vec<Record>>,
    next_fit: AtomicU32,
    threads_not_recorded: AtomicU64,
    pub(crate) span_cost_ns: f64,
}

/// The lanes that tracks have.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(crate) used: Vec<Lane>,
    /// Lanes whose track has ended; they are free once drained.
    pub(crate) ended: Vec<Lane>,
    /// Lanes outside the ring that no track has.
    spare: Vec<Lane>,
    private: usize,
    next_number: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked while holding it left plain data behind, which is still good.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// What the threads of a new recorder share, on these lanes.
    pub(crate) fn leak(
        header: &'static RingHeader,
        ring: &'static [LaneMemory; RING_LANES],
        began: Anchor,
    ) -> &'static Self {
        static NEXT_GENERATION: AtomicU32 = AtomicU32::new(1);
        Box::leak(Box::new(Self {
            generation: NEXT_GENERATION.fetch_add(1, Ordering::Relaxed),
            header,
            began,
            flusher: OnceLock::new(),
            stop: AtomicBool::new(false),
            ring,
            lanes: Mutex::default(),
            notes: Mutex::default(),
            next_fit: AtomicU32::new(0),
            threads_not_recorded: AtomicU64::new(0),
            span_cost_ns: measure_span_cost_ns(Lane(&ring[RING_LANES - 1]), began.ticks),
        }))
    }

    pub(crate) fn lanes(&self) -> MutexGuard<'_, Lanes> {
        lock(&self.lanes)
    }

    pub(crate) fn note(&self, record: Record) {
        lock(&self.notes).push(record);
    }

    /// A number for a new fit, of which this is known.
    pub(crate) fn next_fit(&self, facts: &FitFacts) -> u32 {
        let number = self.next_fit.fetch_add(1, Ordering::Relaxed);
        self.record_fit(number, facts);
        number
    }

    /// Whether a fit has begun.
    pub(crate) fn any_fit(&self) -> bool {
        self.next_fit.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn record_fit(&self, number: u32, facts: &FitFacts) {
        self.note(Record::Fit { fit: number, facts: Box::new(facts.clone()) });
    }

    pub(crate) fn take_notes(&self) -> Vec<Record> {
        std::mem::take(&mut lock(&self.notes))
    }

    pub(crate) fn threads_not_recorded(&self) -> u64 {
        self.threads_not_recorded.load(Ordering::Relaxed)
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Lets the flusher come to its end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    /// The thread that drains the lanes.
    pub(crate) fn drained_by(&self, flusher: Thread) {
        let _ = self.flusher.set(flusher);
    }

    fn wake(&self) {
        if let Some(flusher) = self.flusher.get() {
            flusher.unpark();
        }
    }

    /// Gives the calling thread a lane.
    pub(crate) fn claim_lane(&self) -> Option<Lane> {
        let mut lanes = self.lanes();
        // The thread that starts the recorder has been running since the recorder's beginning.
        let first = lanes.next_number == 0;
        let started = if first { self.began.ticks } else { now() };
        let background = if first { StageId::START_UP } else { StageId::UNACCOUNTED };
        let thread = Track::thread(thread::current().name().unwrap_or("unnamed"));
        let lane = self.claim(&mut lanes, thread, background, started);
        if lane.is_none() {
            self.threads_not_recorded.fetch_add(1, Ordering::Relaxed);
        }
        lane
    }

    /// Gives a track beside the threads a lane; it has been there since the recorder's beginning.
    pub(crate) fn claim_track(&self, track: &Track) -> Option<Lane> {
        self.claim(&mut self.lanes(), track.clone(), StageId::UNACCOUNTED, self.began.ticks)
    }

    fn claim(&self, lanes: &mut Lanes, track: Track, background: StageId, started: Ticks) -> Option<Lane> {
        let lane = self.free_lane(lanes)?;
        let number = lanes.next_number;
        lanes.next_number += 1;
        lane.0.claim(number, &track, started);
        lane.begin(background, started);
        lanes.used.push(lane);
        self.note(Record::Track { lane: number, track, started });
        Some(lane)
    }

    fn free_lane(&self, lanes: &mut Lanes) -> Option<Lane> {
        if let Some(free) = self.ring.iter().find(|lane| lane.number().is_none()) {
            return Some(Lane(free));
        }
        if let Some(spare) = lanes.spare.pop() {
            return Some(spare);
        }
        if lanes.private + RING_LANES >= MAX_LANES {
            return None;
        }
        let lane = LaneMemory::leak_private().ok()?;
        lanes.private += 1;
        Some(Lane(lane))
    }

    /// The track of this lane has ended: the flusher drains what it left and frees the lane.
    pub(crate) fn track_ended(&self, lane: Lane) {
        let mut lanes = self.lanes();
        lanes.used.retain(|used| !std::ptr::eq(used.0, lane.0));
        lanes.ended.push(lane);
    }

    /// Frees a lane that was drained after its track's end.
    pub(crate) fn free(&self, lane: Lane) {
        lane.0.release();
        if !self.ring.as_ptr_range().contains(&std::ptr::from_ref(lane.0)) {
            self.lanes().spare.push(lane);
        }
    }
}
