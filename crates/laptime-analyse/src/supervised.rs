//! Supervised: the run of a command, from just before its start to its reaping, around what it recorded.

use laptime_core::{Gauge, Role, RunMeta, StageId, Status, Ticks, Timebase};

use crate::gauges::Gauges;
use crate::lane::Lane;
use crate::ledger::{Extent, rows, run_totals};
use crate::origin;
use crate::process::Process;
use crate::report::{LedgerRow, MachineUse, Memory, Transfer, Warning};
use crate::totals::Totals;

/// A run's processes in their parts: the one that is reported on, and the one that waited for it.
#[derive(Clone, Copy)]
pub(crate) struct Supervised<'a> {
    /// Whose ledger is the run's; the supervisor itself where the command recorded nothing.
    pub(crate) process: &'a Process,
    supervisor: Option<&'a Process>,
    /// The rank's own process, where another trains in its place.
    host: Option<&'a Process>,
    /// Everything else of the run, where other ranks have supervisors of their own.
    all: &'a [Process],
}

impl<'a> Supervised<'a> {
    /// Finds the parts among the processes of a run; `None` when there are none.
    ///
    /// Of several ranks the lowest counts.
    pub(crate) fn among(processes: &'a [Process]) -> Option<Self> {
        let ranks = processes.iter().filter(|process| process.facts.role == Role::Trainer);
        let own = ranks.clone().filter(|process| is_own(process, processes));
        let lowest = own.map(|process| process.facts.rank).min();
        let trainer = lowest.and_then(|rank| trainer_of(rank, processes));
        // Where every rank's own log is lost, whoever recorded says what is known.
        let trainer = trainer.or_else(|| ranks.min_by_key(|process| process.facts.rank));
        let process = trainer.or_else(|| supervisors(processes).min_by_key(|process| process.facts.rank))?;
        let host = host_of(process, processes);
        Some(Self { process, supervisor: supervisor_of(process, processes), host, all: processes })
    }

    /// One rank of a run, with the supervisor it has for itself.
    pub(crate) fn of_rank(rank: u32, processes: &'a [Process]) -> Option<Self> {
        let process = trainer_of(rank, processes)?;
        let own = |one: &&Process| one.facts.rank == rank && is_beside(one, process);
        let supervisor = supervisors(processes).find(own);
        let supervisor = supervisor.filter(|_| supervisors(processes).count() > 1);
        Some(Self { process, supervisor, host: host_of(process, processes), all: &[] })
    }

    /// A process that nobody waits for.
    pub(crate) fn alone(process: &'a Process) -> Self {
        Self { process, supervisor: None, host: None, all: &[] }
    }

    /// Whether a command was watched that said nothing of itself.
    pub(crate) fn recorded_nothing(&self) -> bool {
        self.process.facts.role == Role::Supervisor
    }

    /// How it stands: as the supervisors saw it, where one saw the end or still waits for it, else as the
    /// process itself reports. A run of several ranks runs as long as one does, and one that failed decides.
    pub(crate) fn status(&self) -> Status {
        let witnessed = self.supervisors().filter(is_witness).map(Process::status);
        let own = || self.host.unwrap_or(self.process).status();
        witnessed.max_by_key(|status| weight(*status)).unwrap_or_else(own)
    }

    /// Why it did not finish: in its own words where it had any, else how it ended.
    pub(crate) fn message(&self) -> Option<String> {
        let words = |process: &Process| process.closed.as_ref()?.1.message.clone();
        let own = words(self.process).or_else(|| self.host.and_then(words));
        let status = self.status();
        let decided = |process: &&Process| process.status() == status;
        own.or_else(|| self.supervisor.filter(decided).and_then(words)).or_else(|| {
            let other =
                self.supervisors().filter(decided).find_map(|one| Some((one.facts.rank, words(one)?)));
            other.map(|(rank, words)| format!("rank {rank} {words}"))
        })
    }

    fn supervisors(&self) -> impl Iterator<Item = &'a Process> {
        let own = self.supervisor.filter(|_| self.all.is_empty());
        supervisors(self.all).chain(own)
    }

    /// From just before the command's start to its reaping, or to the last instant known.
    pub(crate) fn extent(&self) -> Extent {
        let own = self.process.extent();
        let Some(outer) = self.supervisor.or(self.host).map(Process::extent) else { return own };
        let end = if outer.finished { outer.end } else { outer.end.max(own.end) };
        Extent { started: outer.started.min(own.started), end, finished: outer.finished || own.finished }
    }

    /// The wall time in seconds, and the ledger that closes to it.
    pub(crate) fn ledger(&self) -> (f64, Vec<LedgerRow>) {
        let (process, timebase) = (self.process, self.process.timebase());
        let unknown = Lane::new(0);
        let stepping = process.stepping_lane().unwrap_or(&unknown);
        let mut totals = run_totals(stepping, &process.extent(), process.any_fit());
        self.widen(&mut totals, process.any_fit());
        let wall_s = timebase.seconds(self.extent().wall());
        (wall_s, rows(&totals, &stepping.spans, &process.names, &timebase))
    }

    /// Adds to the trainer's ledger what came before its recorder and after it.
    ///
    /// What follows the end of a trainer is its tear-down where it closed its log or the command ended well; of
    /// one that died nobody knows more than that it was gone when it was reaped.
    fn widen(&self, totals: &mut Totals, any_fit: bool) {
        let (own, outer) = (self.process.extent(), self.extent());
        let known = |stage| if any_fit { stage } else { StageId::UNACCOUNTED };
        let ended_well = own.finished || self.status() == Status::Finished;
        let after = if ended_well { StageId::TEAR_DOWN } else { StageId::UNACCOUNTED };
        for (stage, length) in
            [(StageId::START_UP, own.started.since(outer.started)), (after, outer.end.since(own.end))]
        {
            if length > Ticks(0) {
                totals.add(known(stage), length);
            }
        }
    }

    /// Memory of the command and all it started.
    pub(crate) fn memory(&self) -> Memory {
        let mut own = self.process.gauges.memory();
        let fits = self.process.fits.values();
        // What the framework took, where it says; else what anyone took on the device.
        let allocated = fits.filter_map(|fit| fit.facts.peak_device_bytes).max();
        own.peak_device_bytes = allocated.or(own.peak_device_bytes);
        let Some(tree) = self.supervisor.map(|supervisor| supervisor.gauges.memory()) else { return own };
        Memory {
            peak_rss_bytes: tree.peak_rss_bytes.or(own.peak_rss_bytes),
            major_faults: tree.major_faults.or(own.major_faults),
            ..own
        }
    }

    /// Bytes that moved: what the trainer counted, and what went to and from storage for the whole tree.
    pub(crate) fn transfer(&self, meta: &RunMeta) -> Transfer {
        let own = self.process.gauges.transfer(meta);
        let Some(tree) = self.supervisor.map(|supervisor| supervisor.gauges.transfer(meta)) else {
            return own;
        };
        Transfer {
            storage_read_bytes: tree.storage_read_bytes.or(own.storage_read_bytes),
            network_bytes: tree.network_bytes.or(own.network_bytes),
            ..own
        }
    }

    /// What the command and all it started got of the machine.
    pub(crate) fn machine_use(&self, timebase: &Timebase) -> MachineUse {
        let gauges = &self.supervisor.unwrap_or(self.process).gauges;
        // Waits are counted from the command's start on, and read for the first time when some have passed: of a short
        // command only at its end.
        let cpu_wait_s = gauges.last(Gauge::CpuWaitNs).map(|ns| ns as f64 * 1e-9);
        MachineUse { cpu_wait_s, ..gauges.machine_use(timebase) }
    }

    /// The gauges from the first pass to the end of the last fit: those of the command and all it started,
    /// and those of the process that trains. `None` where no fit began.
    pub(crate) fn gauges_in_passes(&self) -> Option<(Gauges, Gauges)> {
        let fits = || self.process.fits.values();
        let began = self.first_pass()?;
        let end = self.process.extent().end;
        let ended = fits().filter(|fit| fit.began.is_some()).map(|fit| fit.ended.unwrap_or(end)).max()?;
        let of = |process: &Process| process.gauges.between(began, ended);
        Some((of(self.supervisor.unwrap_or(self.process)), of(self.process)))
    }

    /// When the first pass of a fit began.
    fn first_pass(&self) -> Option<Ticks> {
        let fits = self.process.fits.values();
        fits.filter_map(|fit| fit.epochs.first().map(|epoch| epoch.began).or(fit.began)).min()
    }

    /// A gauge of the command and all it started: at its start, when the first pass began, when the second epoch did or
    /// as it is now where there is none, and as it is now.
    pub(crate) fn by_epochs(&self, gauge: Gauge) -> Option<[f64; 4]> {
        let gauges = &self.supervisor.unwrap_or(self.process).gauges;
        let seconds = self.process.fits.values().filter_map(|fit| fit.epochs.rows().get(1));
        let second = seconds.map(|epoch| epoch.began).min().and_then(|began| gauges.at_growing(gauge, began));
        let (start, now) = (gauges.first(gauge)? as f64, gauges.last(gauge)? as f64);
        Some([start, gauges.at(gauge, self.first_pass()?)?, second.unwrap_or(now), now])
    }

    /// What is missing or doubtful in any of their logs; all saw the same clock.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.process.warnings();
        let supervisor = self.supervisor.filter(|_| !self.recorded_nothing());
        for other in supervisor.into_iter().chain(self.host) {
            let troubles = other.warnings();
            warnings.extend(troubles.into_iter().filter(|one| matches!(one, Warning::Trouble { .. })));
        }
        warnings
    }

    /// What is known of the run, with what a trainer that joined it could add.
    pub(crate) fn meta(&self, meta: &RunMeta, processes: &[Process]) -> RunMeta {
        let ranks = processes.iter().filter(|process| process.facts.role == Role::Trainer);
        let highest = ranks.map(|process| process.facts.rank.saturating_add(1)).max().unwrap_or(1);
        let known = |process: &Process| process.facts.known.as_deref().cloned();
        let known = known(self.process).or_else(|| self.host.and_then(known)).unwrap_or_default();
        let frameworks = if meta.frameworks.is_empty() { &known.frameworks } else { &meta.frameworks };
        RunMeta {
            ranks: meta.ranks.max(highest).max(known.ranks),
            frameworks: origin::frameworks(frameworks, processes),
            device: meta.device.clone().or(known.device).or_else(|| origin::device(processes)),
            threads: meta.threads.or(known.threads),
            engine: meta.engine.clone().or(known.engine),
            ..meta.clone()
        }
    }
}

fn supervisors(processes: &[Process]) -> impl Iterator<Item = &Process> {
    processes.iter().filter(|process| process.facts.role == Role::Supervisor)
}

/// The process that waits for another: its own where every rank has one, else the only one of its machine.
fn supervisor_of<'a>(process: &Process, processes: &'a [Process]) -> Option<&'a Process> {
    let beside = || supervisors(processes).filter(|one| is_beside(one, process));
    let own = beside().find(|one| one.facts.rank == process.facts.rank);
    own.or_else(|| beside().min_by_key(|one| one.facts.rank))
}

/// Whether two processes were on one machine, so that their clocks are the same.
fn is_beside(one: &Process, other: &Process) -> bool {
    one.facts.boot_id == other.facts.boot_id
}

/// The process that trains as this rank: its own, else one that joined beside it and takes steps. One that
/// takes none, such as a loader worker, is not what the run is about.
fn trainer_of(rank: u32, processes: &[Process]) -> Option<&Process> {
    let own = own_of(rank, processes);
    let beside = || busiest(rank, processes, |one| !is_own(one, processes) && one.trains());
    own.filter(|own| own.trains()).or_else(|| own.and_then(|_| beside())).or(own)
}

/// The rank's own process, where another is reported on.
fn host_of<'a>(process: &Process, processes: &'a [Process]) -> Option<&'a Process> {
    process.facts.parent?;
    own_of(process.facts.rank, processes)
}

/// Whether a process is a rank's own: also one whose launcher started it again, which joined the run that was there.
fn is_own(process: &Process, processes: &[Process]) -> bool {
    let Some(parent) = process.facts.parent else { return true };
    process.facts.restart > 0 && processes.iter().all(|one| one.facts.pid != parent)
}

fn own_of(rank: u32, processes: &[Process]) -> Option<&Process> {
    busiest(rank, processes, |one| is_own(one, processes))
}

/// Of several processes of a rank the one that took the most steps, since a script may start others that
/// record a little.
fn busiest(rank: u32, processes: &[Process], counts: impl Fn(&Process) -> bool) -> Option<&Process> {
    let of_rank = |one: &&Process| one.facts.role == Role::Trainer && one.facts.rank == rank && counts(one);
    let steps = |process: &Process| process.lanes.values().map(|lane| lane.steps).sum::<u64>();
    processes
        .iter()
        .filter(of_rank)
        .min_by_key(|process| (std::cmp::Reverse(steps(process)), process.facts.started))
}

/// Whether a supervisor saw the end or still waits for it; one that was killed saw neither.
fn is_witness(supervisor: &&Process) -> bool {
    supervisor.status() != Status::Killed || supervisor.closed.is_some()
}

/// Which of several ends is the run's.
fn weight(status: Status) -> u8 {
    match status {
        Status::Finished => 0,
        // A rank that fails makes its launcher end the others.
        Status::Killed => 1,
        Status::Failed => 2,
        Status::Running => 3,
    }
}
