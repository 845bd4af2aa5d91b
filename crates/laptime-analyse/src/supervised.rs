//! Supervised: the run of a command, from just before its start to its reaping, around what it recorded.

use laptime_core::{Role, RunMeta, StageId, Status, Ticks, Timebase};

use crate::ledger::Extent;
use crate::process::Process;
use crate::report::{MachineUse, Memory, Transfer, Warning};
use crate::totals::Totals;

/// A run's processes in their parts: the one that is reported on, and the one that waited for it.
#[derive(Clone, Copy)]
pub(crate) struct Supervised<'a> {
    /// Whose ledger is the run's; the supervisor itself where the command recorded nothing.
    pub(crate) process: &'a Process,
    supervisor: Option<&'a Process>,
}

impl<'a> Supervised<'a> {
    /// Finds the parts among the processes of a run; `None` when there are none.
    ///
    /// Of several trainers the one of lowest rank counts, of those the one that took the most steps: a
    /// script may start others that record a little.
    pub(crate) fn among(processes: &'a [Process]) -> Option<Self> {
        let supervisor = processes.iter().find(|process| process.facts.role == Role::Supervisor);
        let trainers = processes.iter().filter(|process| process.facts.role == Role::Trainer);
        let steps = |process: &Process| process.lanes.values().map(|lane| lane.steps).sum::<u64>();
        let first = |process: &&Process| {
            let facts = &process.facts;
            // One that joined beside its rank's own, such as a loader worker, is not what the run is about.
            (facts.parent.is_some(), facts.rank, std::cmp::Reverse(steps(process)), facts.started)
        };
        let process = trainers.min_by_key(first).or(supervisor)?;
        Some(Self { process, supervisor })
    }

    /// A process that nobody waits for.
    pub(crate) fn alone(process: &'a Process) -> Self {
        Self { process, supervisor: None }
    }

    /// Whether a command was watched that said nothing of itself.
    pub(crate) fn recorded_nothing(&self) -> bool {
        self.process.facts.role == Role::Supervisor
    }

    /// The supervisor, where it saw the end or still waits for it; one that was killed saw neither.
    fn witness(&self) -> Option<&'a Process> {
        self.supervisor
            .filter(|supervisor| supervisor.status() != Status::Killed || supervisor.closed.is_some())
    }

    pub(crate) fn status(&self) -> Status {
        self.witness().unwrap_or(self.process).status()
    }

    /// Why it did not finish: in its own words where it had any, else how it ended.
    pub(crate) fn message(&self) -> Option<String> {
        let words = |process: &Process| process.closed.as_ref()?.1.message.clone();
        words(self.process).or_else(|| self.supervisor.and_then(words))
    }

    /// From just before the command's start to its reaping, or to the last instant known.
    pub(crate) fn extent(&self) -> Extent {
        let own = self.process.extent();
        let Some(outer) = self.supervisor.map(Process::extent) else { return own };
        let end = if outer.finished { outer.end } else { outer.end.max(own.end) };
        Extent { started: outer.started.min(own.started), end, finished: outer.finished || own.finished }
    }

    /// Adds to the trainer's ledger what came before its recorder and after it.
    ///
    /// The end of a trainer that closed its log is its tear-down; of one that died nobody knows more than
    /// that it was gone when it was reaped.
    pub(crate) fn widen(&self, totals: &mut Totals, any_fit: bool) {
        let (own, outer) = (self.process.extent(), self.extent());
        let known = |stage| if any_fit { stage } else { StageId::UNACCOUNTED };
        let after = if own.finished { StageId::TEAR_DOWN } else { StageId::UNACCOUNTED };
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
        let own = self.process.gauges.memory();
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
        self.supervisor.unwrap_or(self.process).gauges.machine_use(timebase)
    }

    /// What is missing or doubtful in either log; both saw the same clock.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.process.warnings();
        if let Some(supervisor) = self.supervisor.filter(|_| !self.recorded_nothing()) {
            let troubles = supervisor.warnings();
            warnings.extend(troubles.into_iter().filter(|one| matches!(one, Warning::Trouble { .. })));
        }
        warnings
    }

    /// What is known of the run, with what a trainer that joined it could add.
    pub(crate) fn meta(&self, meta: &RunMeta, processes: &[Process]) -> RunMeta {
        let ranks = processes.iter().filter(|process| process.facts.role == Role::Trainer);
        let highest = ranks.map(|process| process.facts.rank.saturating_add(1)).max().unwrap_or(1);
        let told = self.process.facts.told.as_deref().cloned().unwrap_or_default();
        let empty = meta.frameworks.is_empty();
        RunMeta {
            ranks: meta.ranks.max(highest).max(told.ranks),
            frameworks: if empty { told.frameworks } else { meta.frameworks.clone() },
            device: meta.device.clone().or(told.device),
            threads: meta.threads.or(told.threads),
            engine: meta.engine.clone().or(told.engine),
            ..meta.clone()
        }
    }
}
