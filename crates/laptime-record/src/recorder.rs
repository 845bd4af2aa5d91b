//! The recorder: started once in a process, fed by its threads, ended by `finish`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, Thread};
use std::time::Duration;

use laptime_core::{
    Anchor, Closing, FitFacts, ProcessFacts, Record, RunMeta, Sample, StageId, Status, Trouble,
};
use laptime_store::{
    Disk, LaneMemory, LogName, LogWriter, RING_LANES, RealDisk, Ring, RingHeader, RingIdentity, Unsaved,
};

use crate::clock::{self, SystemClock, now};
use crate::count::take_early_counts;
use crate::fit::Fit;
use crate::flusher::Flusher;
use crate::fork;
use crate::imports::take_early_imports;
use crate::lane::Lane;
use crate::place::Place;
use crate::probe::{Probes, RealSystem};
use crate::program_start::ProgramStart;
use crate::rank::Launch;
use crate::session;
use crate::span_cost::measure_span_cost_ns;
use crate::thread_lane::current_lane;
use crate::trouble::early_troubles;
use crate::worker::worker;

/// Threads that can record at once; those beyond the ring's lanes lose up to 100 ms when killed.
const MAX_LANES: usize = 64;
/// How long `finish` waits for the flusher: a stuck disk must not hang the end of a training.
pub const FINISH_PATIENCE: Duration = Duration::from_secs(2);
/// How often the flusher drains the rings.
const DRAIN_INTERVAL: Duration = Duration::from_millis(100);

/// The generation while a recorder starts with the first record.
pub(crate) const ARMED: u32 = u32::MAX;

static GENERATION: AtomicU32 = AtomicU32::new(0);
static ACTIVE: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());
static STARTING: Mutex<()> = Mutex::new(());

/// The next record starts a recorder.
pub(crate) fn set_armed() {
    GENERATION.store(ARMED, Ordering::Release);
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
    if let Some(flusher) = active().and_then(|recorder| recorder.flusher.get()) {
        flusher.unpark();
    }
}

/// What the threads of a process share while a recorder is on. It is leaked, like the ring: a thread may
/// stand inside a guard when the recorder ends, and a process has one recorder in its life, rarely two.
pub(crate) struct Shared {
    pub(crate) generation: u32,
    pub(crate) header: &'static RingHeader,
    pub(crate) began: Anchor,
    flusher: std::sync::OnceLock<Thread>,
    stop: AtomicBool,
    ring: &'static [LaneMemory; RING_LANES],
    lanes: Mutex<Lanes>,
    /// Facts too long for the ring, written by the flusher before the events that follow them.
    notes: Mutex<Vec<Record>>,
    next_fit: AtomicU32,
    threads_not_recorded: AtomicU64,
    pub(crate) span_cost_ns: f64,
}

/// The lanes threads have.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(crate) used: Vec<Lane>,
    /// Lanes whose thread has ended; they are free once drained.
    pub(crate) ended: Vec<Lane>,
    /// Lanes outside the ring that no thread has.
    spare: Vec<Lane>,
    private: usize,
    next_number: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked while holding it left plain data behind, which is still good.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn lanes(&self) -> MutexGuard<'_, Lanes> {
        lock(&self.lanes)
    }

    pub(crate) fn note(&self, record: Record) {
        lock(&self.notes).push(record);
    }

    /// A number for a new fit, of which this is known.
    pub(crate) fn next_fit(&self, facts: &FitFacts) -> u32 {
        let number = self.next_fit.fetch_add(1, Ordering::Relaxed);
        self.tell_fit(number, facts);
        number
    }

    /// Whether a fit has begun.
    pub(crate) fn any_fit(&self) -> bool {
        self.next_fit.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn tell_fit(&self, number: u32, facts: &FitFacts) {
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

    /// Gives the calling thread a lane.
    pub(crate) fn claim_lane(&self) -> Option<Lane> {
        let mut lanes = self.lanes();
        let Some(lane) = self.free_lane(&mut lanes) else {
            self.threads_not_recorded.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let number = lanes.next_number;
        lanes.next_number += 1;
        // The thread that starts the recorder has been running since the recorder's beginning.
        let started = if number == 0 { self.began.ticks } else { now() };
        let background = if number == 0 { StageId::START_UP } else { StageId::UNACCOUNTED };
        let name = thread::current().name().unwrap_or("unnamed").to_owned();
        lane.0.claim(number, &name, started);
        lane.begin(background, started);
        lanes.used.push(lane);
        self.note(Record::Thread { lane: number, name, started });
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

    /// The thread of this lane has ended: the flusher drains what it left and frees the lane.
    pub(crate) fn thread_ended(&self, lane: Lane) {
        let mut lanes = self.lanes();
        lanes.used.retain(|used| !std::ptr::eq(used.0, lane.0));
        lanes.ended.push(lane);
    }

    /// Frees a lane that was drained after its thread's end.
    pub(crate) fn free(&self, lane: Lane) {
        lane.0.release();
        if !self.ring.as_ptr_range().contains(&std::ptr::from_ref(lane.0)) {
            self.lanes().spare.push(lane);
        }
    }
}

/// What a recorder is started with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder that holds runs; `LAPTIME_DIR`, else `.laptime`, when not given. Under `laptime run` the
    /// recorder joins the command's run instead, whatever is said here.
    pub root: Option<PathBuf>,
    /// What is known of the run; id, start and machine are filled in.
    pub meta: RunMeta,
    /// Rank of this process; where it joins a run and this is 0, the launcher's word counts.
    pub rank: u32,
    /// The folder of a run to join; `LAPTIME_RUN` when not given. Without either a new run is made.
    pub join: Option<PathBuf>,
    /// The launch this process is one rank of: its ranks share the run that is made.
    pub launch: Option<Launch>,
    /// Where the program began, from [`ProgramStart::now`] in its first line: the run then covers the whole
    /// program, and what it used and counted before the recorder's start. Else the recorder's start.
    pub began: Option<ProgramStart>,
}

impl Options {
    pub(crate) fn began_at(&self) -> Option<&Anchor> {
        self.began.as_ref().map(ProgramStart::anchor)
    }

    /// What the process had used when the program began.
    pub(crate) fn used_before(&self) -> Option<Sample> {
        self.began.as_ref().map(ProgramStart::used)
    }
}

/// Records this process from `start` to `finish`. A process has one recorder at a time.
///
/// After `start` nothing here fails, blocks or prints: what cannot be done is counted and told in the report.
pub struct Recorder {
    shared: Option<&'static Shared>,
    meta: RunMeta,
    run: io::Result<PathBuf>,
    log: LogName,
    flusher: Mutex<Option<FlusherThread>>,
}

/// The running flusher: told how it ended, it gives the writer back.
struct FlusherThread {
    last_words: mpsc::Sender<Closing>,
    writer: mpsc::Receiver<LogWriter>,
}

/// What is left when a recorder has finished.
#[derive(Debug, Default)]
pub struct Finished {
    /// The run's folder; `None` when it could not be made.
    pub run: Option<PathBuf>,
    /// What could not be put on disk; `None` when all is there.
    pub unsaved: Option<Unsaved>,
    /// What is known of the run, as in its description on disk.
    pub meta: RunMeta,
    /// The log of this process in the run.
    pub log: LogName,
}

impl Recorder {
    /// Starts recording. A second recorder in the same process is idle until the first has finished.
    #[must_use]
    pub fn start(options: &Options) -> Self {
        Self::start_on(options, Box::new(RealDisk))
    }

    pub(crate) fn start_on(options: &Options, mut disk: Box<dyn Disk>) -> Self {
        let _one_at_a_time = lock(&STARTING);
        if active().is_some() {
            return Self::idle();
        }
        let mut place = Place::take(disk.as_mut(), options);
        let mut writer = place.open_log(disk);
        let (began, used) = (place.began, place.used.take());
        let identity = place.ring_identity(clock::calibrate(&began));
        let Some((ring, ring_trouble)) = make_ring(&identity) else { return Self::idle() };
        let mut facts = process_facts(&identity);
        facts.parent = place.is_beside_another().then(parent_pid);
        facts.worker = worker();
        facts.ring = ring.name();
        facts.told = place.told.clone();
        let ring_path = ring.path().map(Path::to_owned);
        let shared = share(ring, began);
        writer.put(&Record::Process(facts));
        writer.put(&Record::Anchor(began));
        let covers_program = used.is_some();
        if let Some(used) = used {
            writer.put(&Record::Sample(used));
        }
        let early = std::mem::take(&mut *early_troubles());
        early.into_iter().chain(ring_trouble).for_each(|trouble| writer.put(&Record::Trouble(trouble)));
        if let Err(error) = &place.made {
            writer.blame(error);
        }
        fork::stand_by();
        ACTIVE.store(std::ptr::from_ref(shared).cast_mut(), Ordering::Release);
        GENERATION.store(shared.generation, Ordering::Release);
        // The starting thread is lane 0.
        let lane = current_lane();
        take_early_counts(lane.filter(|_| covers_program));
        take_early_imports(shared, lane);
        let flusher =
            Flusher::new(shared, writer, Box::new(SystemClock), Probes::new(Box::new(RealSystem)), ring_path);
        let flusher = spawn_flusher(shared, flusher);
        Self {
            shared: Some(shared),
            meta: place.meta,
            run: place.made,
            log: place.log,
            flusher: Mutex::new(Some(flusher)),
        }
    }

    fn idle() -> Self {
        let run = Err(io::Error::other("this process is being recorded already"));
        Self {
            shared: None,
            meta: RunMeta::default(),
            run,
            log: LogName::default(),
            flusher: Mutex::default(),
        }
    }

    /// What a forked child starts its own recorder with: it joins this run.
    pub(crate) fn child_options(&self) -> Options {
        Options { join: self.run().map(Path::to_owned), rank: self.log.rank(), ..Options::default() }
    }

    /// The run's folder; `None` when it could not be made.
    #[must_use]
    pub fn run(&self) -> Option<&Path> {
        self.run.as_deref().ok()
    }

    /// Why the run's folder could not be made; `None` when it was.
    #[must_use]
    pub fn trouble(&self) -> Option<&io::Error> {
        self.run.as_ref().err()
    }

    /// Begins a fit on this thread; it ends when the guard is dropped.
    pub fn fit(&self, facts: FitFacts) -> Fit {
        let Some(shared) = self.shared else { return Fit::idle() };
        let Some(lane) = current_lane() else { return Fit::idle() };
        Fit::begin(lane, shared.next_fit(&facts), facts)
    }

    /// Ends recording: drains every lane, says how the run ended, and hands over what is left.
    pub fn finish(mut self, status: Status, message: Option<String>) -> Finished {
        self.end(status, message)
    }

    fn end(&mut self, status: Status, message: Option<String>) -> Finished {
        let (run, meta) = (self.run().map(Path::to_owned), std::mem::take(&mut self.meta));
        let (Some(shared), Some(flusher)) = (self.shared, lock(&self.flusher).take()) else {
            return Finished { run, unsaved: None, meta, log: self.log };
        };
        let closing = Closing { status, message, spans: 0, span_cost_ns: shared.span_cost_ns };
        let _ = flusher.last_words.send(closing);
        shared.stop.store(true, Ordering::Release);
        if let Some(thread) = shared.flusher.get() {
            thread.unpark();
        }
        let writer = flusher.writer.recv_timeout(FINISH_PATIENCE).ok();
        GENERATION.store(0, Ordering::Release);
        ACTIVE.store(std::ptr::null_mut(), Ordering::Release);
        Finished { run, unsaved: writer.and_then(LogWriter::into_unsaved), meta, log: self.log }
    }
}

/// Starts the thread that drains the rings.
fn spawn_flusher(shared: &'static Shared, mut flusher: Flusher) -> FlusherThread {
    let (last_words, hear_last_words) = mpsc::channel();
    let (give_back, writer) = mpsc::channel();
    flusher.write_head();
    let body = move || {
        while !shared.stopping() {
            session::guarded((), || flusher.tick());
            thread::park_timeout(DRAIN_INTERVAL);
        }
        if let Ok(closing) = hear_last_words.recv() {
            // The receiver may have lost patience; then nobody needs the writer.
            session::guarded((), || drop(give_back.send(flusher.close(closing))));
        }
    };
    if let Ok(handle) = thread::Builder::new().name("laptime-flusher".into()).spawn(body) {
        let _ = shared.flusher.set(handle.thread().clone());
    }
    FlusherThread { last_words, writer }
}

impl Drop for Recorder {
    /// A recorder that is dropped without `finish` tells of a failure.
    fn drop(&mut self) {
        let _ = self.end(Status::Failed, Some("the recorder was dropped before it was finished".into()));
    }
}

fn parent_pid() -> u32 {
    rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get() as u32)
}

pub(crate) fn process_facts(identity: &RingIdentity) -> ProcessFacts {
    ProcessFacts {
        rank: identity.rank,
        pid: identity.process.pid,
        boot_id: identity.process.boot_id.clone(),
        pid_start: identity.process.pid_start,
        clock: identity.clock.clone(),
        ns_per_tick: identity.ns_per_tick,
        started: identity.started,
        ..ProcessFacts::default()
    }
}

/// A ring in shared memory, or in ordinary memory with the reason; `None` when there is no memory at all.
fn make_ring(identity: &RingIdentity) -> Option<(Ring, Option<Trouble>)> {
    match Ring::create(identity) {
        Ok(ring) => Some((ring, None)),
        Err(error) => {
            let trouble = Trouble::RingNotKept { because: error.to_string() };
            Some((Ring::in_memory(identity).ok()?, Some(trouble)))
        }
    }
}

fn share(ring: Ring, began: Anchor) -> &'static Shared {
    static NEXT_GENERATION: AtomicU32 = AtomicU32::new(1);
    let (header, lanes) = ring.leak();
    for (stage, name) in crate::stage::stage_names_from(0) {
        header.name_stage(stage, &name);
    }
    Box::leak(Box::new(Shared {
        generation: NEXT_GENERATION.fetch_add(1, Ordering::Relaxed),
        header,
        began,
        flusher: std::sync::OnceLock::new(),
        stop: AtomicBool::new(false),
        ring: lanes,
        lanes: Mutex::default(),
        notes: Mutex::default(),
        next_fit: AtomicU32::new(0),
        threads_not_recorded: AtomicU64::new(0),
        span_cost_ns: measure_span_cost_ns(Lane(&lanes[RING_LANES - 1]), began.ticks),
    }))
}
