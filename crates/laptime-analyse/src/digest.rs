//! Digest: folds the records of a run and reports on it at any moment.

use laptime_core::{Record, RunMeta, Status, Timebase};

use crate::law;
use crate::ledger::{rows, run_totals};
use crate::outlook;
use crate::process::Process;
use crate::report::{OpenStageSummary, REPORT_SCHEMA, Report, RunSummary};
use crate::summary;
use crate::thread::thread;
use crate::utc::rfc3339;
use crate::verdict;

/// A run, folded record by record in memory that grows with its epochs but not with its spans or steps.
///
/// Records come in the order a reader yields them; [`Record::Process`] opens the log of a process, and the
/// report is about the one of lowest rank.
///
/// ```
/// use laptime_analyse::Digest;
/// use laptime_core::{ProcessFacts, Record, RunMeta, Status};
///
/// let mut digest = Digest::new(RunMeta::default());
/// digest.take(&Record::Process(ProcessFacts::default()));
/// assert_eq!(digest.report().run.status, Status::Running);
/// ```
#[derive(Clone, Debug)]
pub struct Digest {
    meta: RunMeta,
    /// Each process under the number of its log.
    processes: Vec<(u32, Process)>,
}

impl Digest {
    /// A digest of a run of which only the start is known.
    #[must_use]
    pub fn new(meta: RunMeta) -> Self {
        Self { meta, processes: Vec::new() }
    }

    /// Takes the next record of a run whose logs come one after the other.
    pub fn take(&mut self, record: &Record) {
        let begins = matches!(record, Record::Process(_));
        let log = self.processes.len().saturating_sub(usize::from(!begins));
        self.take_from(u32::try_from(log).unwrap_or(u32::MAX), record);
    }

    /// Takes the next record of one log; records that contradict others cost accuracy, never a panic.
    pub fn take_from(&mut self, log: u32, record: &Record) {
        let known = self.processes.iter().position(|(number, _)| *number == log);
        let at = known.unwrap_or_else(|| {
            self.processes.push((log, Process::default()));
            self.processes.len() - 1
        });
        self.processes[at].1.take(record);
    }

    /// The run as far as it is known now.
    #[must_use]
    pub fn report(&self) -> Report {
        let unknown = Process::default();
        // A process that joined beside its rank's own, such as a loader worker, is not what the run is about.
        let order = |process: &&Process| (process.facts.parent.is_some(), process.facts.rank);
        let first = self.processes.iter().map(|(_, process)| process).min_by_key(order);
        report(&self.meta, first.unwrap_or(&unknown))
    }
}

fn report(meta: &RunMeta, process: &Process) -> Report {
    let timebase = process.clock.timebase(process.facts.ns_per_tick);
    let extent = process.extent();
    let wall_s = timebase.seconds(extent.wall());
    let (fits, epochs) = summary::fits(process, &timebase);
    let unknown = crate::lane::Lane::new(0);
    let stepping = process.stepping_lane().unwrap_or(&unknown);
    let totals = run_totals(stepping, &extent, process.any_fit());
    let others = process.lanes.values().filter(|lane| lane.number != stepping.number);
    let mut report = Report {
        schema: REPORT_SCHEMA,
        run: run_summary(meta, process),
        wall_s,
        ledger: rows(&totals, &stepping.spans, &process.names, &timebase),
        device_ledger: None,
        fits,
        epochs,
        steps: summary::steps(process, &timebase),
        workers: None,
        threads: others.filter_map(|lane| thread(lane, &process.names, &timebase)).collect(),
        memory: process.gauges.memory(),
        transfer: process.gauges.transfer(meta),
        machine: process.gauges.machine_use(&timebase),
        time_left: outlook::time_left(process, &timebase),
        overhead: process.overhead(wall_s),
        law: law::law(process, &timebase),
        open_stages: open_stages(process, stepping.number, &timebase),
        findings: Vec::new(),
        warnings: process.warnings(),
    };
    report.findings = verdict::findings(&report, process, &timebase);
    report
}

fn run_summary(meta: &RunMeta, process: &Process) -> RunSummary {
    RunSummary {
        id: meta.id.clone(),
        name: meta.name.clone(),
        command: meta.command.clone(),
        status: process.status(),
        message: process.closed.as_ref().and_then(|(_, closing)| closing.message.clone()),
        started: rfc3339(meta.started_real_ns),
        ranks: meta.ranks,
        frameworks: meta.frameworks.clone(),
        device: meta.device.clone(),
        threads: meta.threads,
        engine: meta.engine.clone(),
        cpus: meta.machine.cpus,
    }
}

/// What was open when the process died; other threads only where a stage of theirs was.
fn open_stages(process: &Process, stepping: u32, timebase: &Timebase) -> Vec<OpenStageSummary> {
    if process.status() != Status::Killed {
        return Vec::new();
    }
    let end = process.extent().end;
    let deep = |lane: &&crate::lane::Lane| {
        lane.number == stepping || lane.state.as_ref().is_some_and(|state| state.open.len() > 1)
    };
    let lanes = process.lanes.values().filter(deep);
    let of_lane = |lane| {
        process.open_frames(lane).map(move |(stage, start)| OpenStageSummary {
            thread: lane.name.clone(),
            stage: process.names.name(stage),
            open_s: timebase.seconds(end.since(start)),
        })
    };
    lanes.flat_map(of_lane).collect()
}
