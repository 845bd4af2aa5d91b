//! One process that is sampled: its Python, its threads, and what is known of its code.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use laptime_core::{ProfileRecord, SampledProcess as ProcessRecord, SampledThread, StageId};
use laptime_store::{LaneMemory, RunRings};

use crate::code_object::{CodeMark, read_marks};
use crate::memory::{ProcessMemory, Snapshot};
use crate::python::{Python, PythonThread};
use crate::sightings::{Place, Sightings};
use crate::task::Tasks;

/// Code objects that are remembered; a program that makes functions for ever must not fill memory.
const MOST_CODES: usize = 20_000;
/// How often a stack that changes under the reader is read again.
const TRIES: usize = 3;
/// A sample stands for the time since the one before, but not for a sleep of the whole machine.
const LONGEST_STRETCH: Duration = Duration::from_secs(1);
/// Samples in a row that may fail before the process is looked at anew: it may have become another program.
const MOST_FAILURES: u32 = 50;

/// A Python process under the sampler.
pub(crate) struct SampledProcess {
    number: u32,
    pub(crate) pid: u32,
    pub(crate) pid_start: u64,
    python: Python,
    memory: Snapshot<ProcessMemory>,
    tasks: Tasks,
    /// The function of a code object by its address, as long as the mark is the same.
    codes: HashMap<u64, (CodeMark, u32)>,
    threads: HashMap<(u32, Option<u32>), u32>,
    /// Threads that have recorded: what they do after the recorder's end is tearing down.
    recorded: HashSet<u32>,
    last: Instant,
    failures: u32,
}

/// Numbers for the threads of all processes, and what came out of one round.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) next_thread: u32,
    pub(crate) samples: u64,
    pub(crate) unread: u64,
    pub(crate) news: Vec<ProfileRecord>,
}

impl SampledProcess {
    /// Begins with a process that has a Python.
    pub(crate) fn new(number: u32, (pid, pid_start): (u32, u64), python: Python) -> Self {
        let last = Instant::now();
        Self {
            number,
            pid,
            pid_start,
            python,
            memory: Snapshot::of(ProcessMemory { pid }),
            tasks: Tasks::default(),
            codes: HashMap::new(),
            threads: HashMap::new(),
            recorded: HashSet::new(),
            last,
            failures: 0,
        }
    }

    /// What a profile says of it.
    pub(crate) fn record(&self) -> ProcessRecord {
        let (process, pid, pid_start) = (self.number, self.pid, self.pid_start);
        ProcessRecord { process, pid, pid_start, runtime: self.python.name() }
    }

    /// Whether its memory no longer makes sense: it has become another program, or ends.
    pub(crate) fn is_lost(&self) -> bool {
        self.failures > MOST_FAILURES
    }

    /// Reads the stack of every thread once.
    pub(crate) fn sample(&mut self, rings: &RunRings, seen: &mut Sightings, round: &mut Round) {
        let now = Instant::now();
        let stretch = now.duration_since(self.last).min(LONGEST_STRETCH);
        self.last = now;
        let lanes = lanes_of(rings, self.pid, self.pid_start);
        // A stage that ends while the stacks are read could get the functions of the next one.
        let before: Vec<_> = lanes.iter().map(|lane| lane.booked_stage()).collect();
        self.memory.renew();
        let threads = match self.python.threads(&self.memory) {
            Ok(threads) => threads,
            Err(error) => return self.fail(&error),
        };
        self.failures = 0;
        self.tasks.keep(|tid| threads.iter().any(|thread| thread.tid == tid));
        for thread in &threads {
            // A thread state that was freed while it was read names no thread.
            let Some(waiting) = self.tasks.waits(self.pid, thread.tid) else { continue };
            let at = lanes.iter().position(|lane| lane.thread() == thread.tid);
            let lane = at.and_then(|at| lanes.get(at)).copied();
            let stage = at.and_then(|at| before.get(at)).copied().flatten();
            match self.place(thread, lane, stage, seen) {
                Some((node, stage)) => {
                    let stage = self.stage(thread.tid, stage);
                    let thread = self.thread_number(thread.tid, lane.and_then(LaneMemory::number), round);
                    let micros = u64::try_from(stretch.as_micros()).unwrap_or(0);
                    seen.add(Place { thread, stage, waiting, node }, micros);
                    round.samples += 1;
                }
                None => round.unread += 1,
            }
        }
    }

    fn fail(&mut self, error: &io::Error) {
        // A right that is taken away does not come back by itself.
        let forbidden = error.kind() == io::ErrorKind::PermissionDenied;
        self.failures = if forbidden { MOST_FAILURES + 1 } else { self.failures + 1 };
    }

    /// The stage of a thread that has just been read; without a lane it has none, or has recorded its last.
    fn stage(&mut self, tid: u32, booked: Option<StageId>) -> Option<StageId> {
        if booked.is_some() {
            self.recorded.insert(tid);
        }
        booked.or_else(|| self.recorded.contains(&tid).then_some(StageId::TEAR_DOWN))
    }

    /// The stack and the stage of one moment; `None` when they did not hold still.
    fn place(
        &mut self,
        thread: &PythonThread,
        lane: Option<&LaneMemory>,
        mut before: Option<StageId>,
        seen: &mut Sightings,
    ) -> Option<(u32, Option<StageId>)> {
        let mut thread = *thread;
        for _ in 0..TRIES {
            let node = self.node(&thread, seen);
            let after = lane.and_then(LaneMemory::booked_stage);
            if let Some(node) = node.filter(|_| before == after) {
                return Some((node, after));
            }
            before = after;
            self.memory.renew();
            let threads = self.python.threads(&self.memory).ok()?;
            thread = *threads.iter().find(|known| known.tid == thread.tid)?;
        }
        None
    }

    fn node(&mut self, thread: &PythonThread, seen: &mut Sightings) -> Option<u32> {
        let stack = self.python.stack(thread, &self.memory).ok()?;
        let marks = read_marks(self.memory.memory(), &stack).ok()?;
        let mut functions = Vec::with_capacity(stack.len());
        for (address, mark) in stack.into_iter().zip(marks).rev() {
            functions.push(self.function(address, mark, seen)?);
        }
        seen.node(functions.into_iter())
    }

    fn function(&mut self, address: u64, mark: CodeMark, seen: &mut Sightings) -> Option<u32> {
        if let Some((known, function)) = self.codes.get(&address)
            && *known == mark
        {
            return Some(*function);
        }
        let function = seen.function(&self.python.code(address, self.memory.memory()).ok()?);
        if self.codes.len() >= MOST_CODES {
            self.codes.clear();
        }
        self.codes.insert(address, (mark, function));
        Some(function)
    }

    fn thread_number(&mut self, tid: u32, lane: Option<u32>, round: &mut Round) -> u32 {
        let process = self.number;
        *self.threads.entry((tid, lane)).or_insert_with(|| {
            let thread = round.next_thread;
            round.next_thread += 1;
            round.news.push(ProfileRecord::Thread(SampledThread { thread, process, tid, lane }));
            thread
        })
    }
}

/// The lanes of a process that are in use.
fn lanes_of(rings: &RunRings, pid: u32, pid_start: u64) -> Vec<&LaneMemory> {
    let own = rings
        .iter()
        .filter(|(identity, _)| (identity.process.pid, identity.process.pid_start) == (pid, pid_start));
    // Of several recorders of one process the newest records.
    let newest = own.max_by_key(|(identity, _)| identity.started);
    let lanes = newest.into_iter().flat_map(|(_, ring)| ring.lanes());
    lanes.filter(|lane| lane.number().is_some()).collect()
}
