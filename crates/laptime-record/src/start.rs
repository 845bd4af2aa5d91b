//! Starting a recorder: its place on disk, its ring, its log and the thread that drains the lanes.

use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use laptime_core::{Anchor, ProcessFacts, Record, Trouble};
use laptime_store::{Disk, RealDisk, Ring, RingIdentity};

use crate::active::{Shared, active, lock_starting, put_on};
use crate::clock::{self, SystemClock};
use crate::count::take_early_counts;
use crate::flusher::Flusher;
use crate::fork;
use crate::guard::guarded;
use crate::imports::take_early_imports;
use crate::machine;
use crate::options::Options;
use crate::place::Place;
use crate::probe::{Probes, RealSystem};
use crate::recorder::{FlusherThread, Recorder};
use crate::stage::stage_names_from;
use crate::thread_lane::current_lane;
use crate::trouble::early_troubles;
use crate::worker::worker;

/// How often the flusher drains the rings.
const DRAIN_INTERVAL: Duration = Duration::from_millis(100);

impl Recorder {
    /// Starts recording. A second recorder in the same process is idle until the first has finished.
    #[must_use]
    pub fn start(options: &Options) -> Self {
        Self::start_on(options, Box::new(RealDisk))
    }

    pub(crate) fn start_on(options: &Options, mut disk: Box<dyn Disk>) -> Self {
        let _one_at_a_time = lock_starting();
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
        facts.restart = options.launch.as_ref().map_or(0, |launch| launch.restart);
        facts.ring = ring.name();
        facts.known = place.known.clone();
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
        put_on(shared);
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
}

/// Starts the thread that drains the rings.
fn spawn_flusher(shared: &'static Shared, mut flusher: Flusher) -> FlusherThread {
    let (last_words, hear_last_words) = mpsc::channel();
    let (give_back, writer) = mpsc::channel();
    flusher.write_head();
    let body = move || {
        while !shared.stopping() {
            guarded((), || flusher.tick());
            thread::park_timeout(DRAIN_INTERVAL);
        }
        if let Ok(closing) = hear_last_words.recv() {
            // The receiver may have lost patience; then nobody needs the writer.
            guarded((), || drop(give_back.send(flusher.close(closing))));
        }
    };
    if let Ok(handle) = thread::Builder::new().name("laptime-flusher".into()).spawn(body) {
        shared.drained_by(handle.thread().clone());
    }
    FlusherThread { last_words, writer }
}

fn parent_pid() -> u32 {
    rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get() as u32)
}

pub(crate) fn process_facts(identity: &RingIdentity) -> ProcessFacts {
    ProcessFacts {
        rank: identity.rank,
        host: machine::host(),
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
    let (header, lanes) = ring.leak();
    for (stage, name) in stage_names_from(0) {
        header.name_stage(stage, &name);
    }
    Shared::leak(header, lanes, began)
}
