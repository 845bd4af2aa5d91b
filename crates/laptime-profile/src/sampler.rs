//! The sampler: a thread that finds the Pythons of a command, reads their stacks, and writes what it saw.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use laptime_core::{ProfileCost, ProfileFacts, ProfileRecord, ProfileTrouble};
use laptime_store::{ProfileWriter, RunRings};

use crate::pace::{DEFAULT_HZ, Pace};
use crate::process_tree::ProcessTree;
use crate::python::{Libraries, Python, Refusal};
use crate::sampled_process::{Round, SampledProcess};
use crate::sightings::Sightings;
use crate::task::thread_cpu;

/// How often processes are looked for; until there is a Python more often, because its start is short. One
/// that begins to record is seen at once.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const LOOK_EVERY_AT_FIRST: Duration = Duration::from_millis(20);
const AT_FIRST: Duration = Duration::from_secs(5);
/// How often recorders are looked for, which costs a look at one folder.
const LOOK_FOR_RINGS_EVERY: Duration = Duration::from_millis(40);
/// What a kill of laptime itself may cost of a profile.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// Each time the file has grown by this it is written half as often, so that weeks fit on a disk.
const GROWTH_BYTES: u64 = 4 << 20;
/// The most troubles that are reported.
const MOST_TROUBLES: usize = 16;

/// A running sampler.
pub struct Sampler {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Sampler {
    /// Samples a process and everything it starts, until it is stopped, into the run's folder.
    ///
    /// # Errors
    /// When the profile or the thread cannot be made.
    pub fn start(root: u32, run: &Path, rank: u32) -> io::Result<Self> {
        let writer = ProfileWriter::create(run, rank)?;
        let (stop, stopped) = mpsc::channel();
        let run: PathBuf = run.to_owned();
        let body = move || Sampling::new(root, &run, writer).go_on_until(&stopped, rank);
        let thread = thread::Builder::new().name("laptime-profile".into()).spawn(body)?;
        Ok(Self { stop, thread })
    }

    /// Ends sampling; everything is written then.
    ///
    /// # Errors
    /// When the profile could not be written in full.
    pub fn stop(self) -> io::Result<()> {
        // A thread that is gone needs no word.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the sampler broke")))
    }
}

/// Everything the thread knows.
struct Sampling {
    tree: ProcessTree,
    rings: RunRings,
    libraries: Libraries,
    processes: Vec<SampledProcess>,
    /// Processes that were no Python when they were looked at, and the program they ran.
    others: HashMap<(u32, u64), Option<PathBuf>>,
    next_process: u32,
    seen: Sightings,
    round: Round,
    cost: ProfileCost,
    troubles: BTreeSet<ProfileTrouble>,
    slowest_mhz: Option<u64>,
    pace: Pace,
    /// CPU time that looking for processes took: no slower pace would save it.
    looking: Duration,
    writer: ProfileWriter,
}

impl Sampling {
    fn new(root: u32, run: &Path, writer: ProfileWriter) -> Self {
        Self {
            tree: ProcessTree::of(root),
            rings: RunRings::of(run),
            libraries: Libraries::new(),
            processes: Vec::new(),
            others: HashMap::new(),
            next_process: 0,
            seen: Sightings::default(),
            round: Round::default(),
            cost: ProfileCost::default(),
            troubles: BTreeSet::new(),
            slowest_mhz: None,
            pace: Pace::new(),
            looking: Duration::ZERO,
            writer,
        }
    }

    fn go_on_until(mut self, stopped: &mpsc::Receiver<()>, rank: u32) -> io::Result<()> {
        let began = Instant::now();
        self.writer.put(&ProfileRecord::Began(ProfileFacts { rank, rate_hz: DEFAULT_HZ }))?;
        let (mut look_at, mut write_at, mut write_every) = (began, began + WRITE_EVERY, WRITE_EVERY);
        let (mut last, mut rings_at) = (began, began);
        while stopped.recv_timeout(self.pace.next_pause()) == Err(RecvTimeoutError::Timeout) {
            let now = Instant::now();
            let rings_are_due = now >= rings_at;
            if rings_are_due {
                rings_at = now + LOOK_FOR_RINGS_EVERY;
            }
            if (rings_are_due && self.rings.refresh()) || now >= look_at {
                self.look();
                let at_first = self.next_process == 0 && now.duration_since(began) < AT_FIRST;
                look_at = now + if at_first { LOOK_EVERY_AT_FIRST } else { LOOK_EVERY };
            }
            self.sample(now.duration_since(last));
            last = now;
            if now >= write_at {
                self.write(began.elapsed())?;
                while self.writer.bytes() > GROWTH_BYTES * doublings(write_every) {
                    write_every *= 2;
                }
                write_at = now + write_every;
            }
        }
        self.end();
        self.write(began.elapsed())
    }

    /// Finds what is new among the command's processes.
    fn look(&mut self) {
        let began = thread_cpu();
        self.tree.grow();
        let tree = &self.tree;
        self.processes.retain(|process| tree.has(process.pid, process.pid_start) && !process.is_lost());
        self.others.retain(|(pid, start), _| tree.has(*pid, *start));
        let known: BTreeMap<u32, u64> =
            self.processes.iter().map(|process| (process.pid, process.pid_start)).collect();
        let new: Vec<(u32, u64)> =
            self.tree.members().filter(|(pid, start)| known.get(pid) != Some(start)).collect();
        for identity in new {
            self.attach(identity);
        }
        self.looking += thread_cpu().saturating_sub(began);
    }

    fn attach(&mut self, (pid, start): (u32, u64)) {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        // What is no Python may become one by `exec`, and a Python needs a moment to start.
        let is_python = program.as_deref().and_then(Path::to_str).is_some_and(crate::mapping::is_python);
        if !is_python && self.others.get(&(pid, start)) == Some(&program) {
            return;
        }
        match Python::find(pid, &mut self.libraries) {
            Ok(python) => {
                let process = SampledProcess::new(self.next_process, (pid, start), python);
                self.round.news.push(ProfileRecord::Process(process.record()));
                self.processes.push(process);
                self.next_process += 1;
                return;
            }
            Err(Refusal::Forbidden(error)) => {
                self.trouble(ProfileTrouble::Forbidden { pid, because: error.to_string() });
            }
            Err(Refusal::Unknown(version)) => self.trouble(ProfileTrouble::UnknownPython { version }),
            Err(Refusal::NotPython) => {}
        }
        self.others.insert((pid, start), program);
    }

    fn trouble(&mut self, trouble: ProfileTrouble) {
        if self.troubles.len() < MOST_TROUBLES && self.troubles.insert(trouble.clone()) {
            self.round.news.push(ProfileRecord::Trouble(trouble));
        }
    }

    /// Reads every stack once.
    fn sample(&mut self, stretch: Duration) {
        for process in &mut self.processes {
            process.sample(&self.rings, &mut self.seen, &mut self.round);
        }
        let looking = self.looking;
        if self.pace.note(stretch, || thread_cpu().saturating_sub(looking)) {
            let rate_mhz = in_thousandths(self.pace.hz());
            self.slowest_mhz = Some(self.slowest_mhz.map_or(rate_mhz, |slowest| slowest.min(rate_mhz)));
        }
    }

    /// What is known only at the end.
    fn end(&mut self) {
        if let Some(rate_mhz) = self.slowest_mhz {
            self.trouble(ProfileTrouble::Slowed { rate_mhz });
        }
        if self.seen.is_full() {
            self.trouble(ProfileTrouble::Full);
        }
        if self.next_process == 0 && self.troubles.is_empty() {
            self.trouble(ProfileTrouble::NoPython);
        }
    }

    fn write(&mut self, wall: Duration) -> io::Result<()> {
        self.cost.samples += std::mem::take(&mut self.round.samples);
        self.cost.unread += std::mem::take(&mut self.round.unread);
        self.cost.wall_ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
        self.cost.cpu_ns = u64::try_from(thread_cpu().as_nanos()).unwrap_or(u64::MAX);
        self.cost.rate_mhz = in_thousandths(self.pace.hz());
        for record in std::mem::take(&mut self.round.news).iter().chain(&self.seen.take()) {
            self.writer.put(record)?;
        }
        self.writer.put(&ProfileRecord::Cost(self.cost))?;
        self.writer.flush()
    }
}

/// How often the pause between two writes was doubled, plus one.
fn doublings(write_every: Duration) -> u64 {
    u64::from((write_every.as_secs() / WRITE_EVERY.as_secs()).max(1).ilog2()) + 1
}

fn in_thousandths(hz: f64) -> u64 {
    (hz * 1000.0).round() as u64
}
