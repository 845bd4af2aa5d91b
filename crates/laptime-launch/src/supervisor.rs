//! The supervisor's log: what a command and all it started used, from just before its start to its end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use laptime_core::{Anchor, Closing, ProcessFacts, Record, Role, RunMeta, Sample, Status, Trouble};
use laptime_record::probe::{RealSystem, nothing_used_at};
use laptime_record::{
    FINISH_PATIENCE, Finished, MadeRun, Options, anchor, calibrate, host, make_run, source_name,
};
use laptime_store::{Catalogue, LogName, LogWriter, ProcessIdentity, RealDisk};

use crate::child_usage::ChildUsage;
use crate::tree::TreeProbes;

/// What a power cut may cost, as for every log.
const SYNC_EVERY_NS: u64 = 5_000_000_000;
/// Anchors in the log, so that steps of the wall clock and suspends show.
const ANCHOR_EVERY_NS: u64 = 10_000_000_000;

/// Watches one command. It makes the run, keeps a log of its own in it, and leaves signals, waiting and
/// the command itself to its owner.
///
/// The log is written by a thread of its own: a stuck disk holds up neither a signal nor the end.
pub struct Supervisor {
    run: io::Result<PathBuf>,
    meta: RunMeta,
    log_name: LogName,
    is_shared: bool,
    began: Anchor,
    anchor_due_ns: u64,
    probes: TreeProbes,
    log: mpsc::Sender<(Anchor, Vec<Record>)>,
    writer: mpsc::Receiver<LogWriter>,
}

impl Supervisor {
    /// Makes the run and begins its log; the command is to be started next.
    #[must_use]
    pub fn start(options: &Options) -> Self {
        let first = anchor();
        let log_name = LogName::Supervisor { rank: options.rank };
        let MadeRun { meta, folder, made: run } = make_run(&mut RealDisk, options, &first, log_name);
        let mut writer = LogWriter::named(Box::new(RealDisk), &folder, log_name);
        if let Err(error) = &run {
            writer.blame(error);
        }
        let ns_per_tick = calibrate(&first).ns_per_tick;
        let probes = TreeProbes::new(Box::new(RealSystem));
        let (log, batches) = mpsc::channel();
        let writer = spawn_writer(writer, batches);
        let began = anchor();
        let anchor_due_ns = began.monotonic_ns + ANCHOR_EVERY_NS;
        let is_shared = options.launch.is_some();
        let supervisor = Self { run, meta, log_name, is_shared, began, anchor_due_ns, probes, log, writer };
        supervisor.begin(ns_per_tick, options.launch.as_ref().map_or(0, |launch| launch.restart));
        supervisor
    }

    fn begin(&self, ns_per_tick: f64, restart: u32) {
        let process = ProcessIdentity::current();
        let facts = ProcessFacts {
            rank: self.log_name.rank(),
            role: Role::Supervisor,
            host: host(),
            restart,
            pid: process.pid,
            boot_id: process.boot_id,
            pid_start: process.pid_start,
            clock: source_name().into(),
            ns_per_tick,
            started: self.began.ticks,
            ..ProcessFacts::default()
        };
        let mut nothing = nothing_used_at(self.began.ticks);
        nothing.readings.extend(self.probes.machine());
        self.put(
            self.began,
            vec![Record::Process(facts), Record::Anchor(self.began), Record::Sample(nothing)],
        );
    }

    /// The run's folder; `None` when it could not be made.
    #[must_use]
    pub fn run(&self) -> Option<&Path> {
        self.run.as_deref().ok()
    }

    /// The rank of the command.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.log_name.rank()
    }

    /// Why the run's folder could not be made; `None` when it was.
    #[must_use]
    pub fn trouble(&self) -> Option<&io::Error> {
        self.run.as_ref().err()
    }

    /// Just before the command is started: where the run's wall time begins.
    #[must_use]
    pub fn began(&self) -> &Anchor {
        &self.began
    }

    /// Watches this child and everything it starts.
    pub fn watch(&mut self, pid: u32) {
        self.probes.watch(pid);
    }

    /// Reads the probes; to be called about every second, and once more between the child's end and its
    /// reaping, when all it used is known and still there to be read.
    pub fn sample(&mut self) {
        let now = anchor();
        let mut records = vec![Record::Sample(Sample { at: now.ticks, readings: self.probes.read(None) })];
        if now.monotonic_ns >= self.anchor_due_ns {
            self.anchor_due_ns = now.monotonic_ns + ANCHOR_EVERY_NS;
            records.push(Record::Anchor(now));
        }
        self.put(now, records);
    }

    /// The processes of the command that live now.
    pub fn processes(&mut self) -> Vec<u32> {
        self.probes.processes()
    }

    /// Puts what did not work on record.
    pub fn note(&self, troubles: Vec<Trouble>) {
        self.put(anchor(), troubles.into_iter().map(Record::Trouble).collect());
    }

    /// Says how and when the child ended, and hands over what is left. The child is reaped by now.
    pub fn finish(
        mut self,
        ended: &Anchor,
        usage: &ChildUsage,
        status: Status,
        message: Option<String>,
    ) -> Finished {
        let readings = self.probes.read(Some(usage));
        let closing = Closing { status, message, spans: 0, span_cost_ns: 0.0 };
        self.put(
            *ended,
            vec![
                Record::Sample(Sample { at: ended.ticks, readings }),
                Record::Anchor(*ended),
                Record::Closed { at: ended.ticks, closing },
            ],
        );
        drop(self.log);
        // A disk that is stuck must not hang the end of a command.
        let writer = self.writer.recv_timeout(FINISH_PATIENCE).ok();
        let unsaved = writer.and_then(LogWriter::into_unsaved);
        Finished { run: self.run.ok(), unsaved, meta: self.meta, log: self.log_name }
    }

    /// Takes everything back: the command could not be started, so there was no run, unless other ranks
    /// have a part in it.
    pub fn abandon(self) {
        drop(self.log);
        let _ = self.writer.recv_timeout(FINISH_PATIENCE);
        if let Ok(run) = self.run.as_ref()
            && !self.is_shared
            && let Some(root) = run.parent()
        {
            // A folder that cannot be removed now can be with `laptime runs remove`.
            let _ = Catalogue::at(root).discard(run);
        }
    }

    fn put(&self, now: Anchor, records: Vec<Record>) {
        // Without a writer there is nowhere to record it.
        let _ = self.log.send((now, records));
    }
}

/// Starts the thread that writes the log until the sender is gone, and then gives the writer back.
fn spawn_writer(
    mut writer: LogWriter,
    batches: mpsc::Receiver<(Anchor, Vec<Record>)>,
) -> mpsc::Receiver<LogWriter> {
    let (give_back, given_back) = mpsc::channel();
    let body = move || {
        let mut sync_due_ns = u64::MAX;
        while let Ok((now, records)) = batches.recv() {
            records.iter().for_each(|record| writer.put(record));
            writer.flush(&now);
            if sync_due_ns == u64::MAX {
                sync_due_ns = now.monotonic_ns + SYNC_EVERY_NS;
            }
            if now.monotonic_ns >= sync_due_ns {
                sync_due_ns = now.monotonic_ns + SYNC_EVERY_NS;
                writer.sync();
            }
        }
        // The receiver may have lost patience; then nobody needs the writer.
        let _ = give_back.send(writer);
    };
    // Without a thread the sender finds nobody, and the run has no log of its supervisor.
    let _ = thread::Builder::new().name("laptime-log".into()).spawn(body);
    given_back
}
