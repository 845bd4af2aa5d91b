//! Digest: folds the records of a run and reports on it at any moment.

use laptime_core::{ProfileRecord, Record, RunMeta, Status};

use crate::death::{counts, deaths};
use crate::epoch_stream::EpochStream;
use crate::law;
use crate::process::Process;
use crate::profile::{self, ProfileFold, ProfileStacks};
use crate::ranks::{ranks, slowest, uneven};
use crate::report::{EpochSummary, REPORT_SCHEMA, Report, RunSummary};
use crate::start_up::start_up;
use crate::summary::{self, Asked};
use crate::supervised::Supervised;
use crate::thread::thread;
use crate::trainers::{add_up, trainers};
use crate::utc::rfc3339;
use crate::verdict;
use crate::workers::workers;

/// A run, folded record by record in memory that does not grow with its spans, steps or epochs.
///
/// Records come in the order a reader yields them; [`Record::Process`] opens the log of a process. The
/// report is about the process of lowest rank, or one it started that trains in its place; where a supervisor
/// watched the command, the run's wall time and status are what it saw.
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
    processes: Vec<Process>,
    profiles: Vec<ProfileFold>,
    lap: Option<u64>,
}

impl Digest {
    /// A digest of a run of which only the start is known.
    #[must_use]
    pub fn new(meta: RunMeta) -> Self {
        Self { meta, processes: Vec::new(), profiles: Vec::new(), lap: None }
    }

    /// Makes the laps of trainings without epochs windows of so many steps; `None` leaves the choice here.
    #[must_use]
    pub fn with_lap(mut self, steps: Option<u64>) -> Self {
        self.lap = steps;
        self
    }

    /// Takes the next record; records that contradict others cost accuracy, never a panic.
    pub fn take(&mut self, record: &Record) {
        if let Record::Process(facts) = record {
            self.processes.push(Process::new(facts.clone()));
        } else if self.processes.is_empty() {
            self.processes.push(Process::default());
        }
        if let Some(process) = self.processes.last_mut() {
            process.take(record);
        }
    }

    /// Takes the next record of one of several logs, numbered from 0, which may come in turns.
    pub fn take_from(&mut self, log: usize, record: &Record) {
        while self.processes.len() <= log {
            self.processes.push(Process::default());
        }
        if let Some(process) = self.processes.get_mut(log) {
            process.take(record);
        }
    }

    /// Takes the next record of one of several profiles, numbered from 0.
    pub fn take_profile(&mut self, profile: usize, record: &ProfileRecord) {
        while self.profiles.len() <= profile {
            self.profiles.push(ProfileFold::default());
        }
        if let Some(profile) = self.profiles.get_mut(profile) {
            profile.take(record);
        }
    }

    /// The stacks that were sampled, with their stages; none where nothing was.
    #[must_use]
    pub fn profile_stacks(&self) -> ProfileStacks {
        profile::stacks(&self.profiles, &self.processes)
    }

    /// Every epoch of the report, for a second reading of the run; `laps` are those that the report has. `None`
    /// where nothing was recorded.
    #[must_use]
    pub fn every_epoch(&self, laps: Vec<EpochSummary>) -> Option<EpochStream<'_>> {
        let process = Supervised::among(&self.processes)?.process;
        let log = self.processes.iter().position(|one| std::ptr::eq(one, process))?;
        Some(EpochStream::new(log, process, laps))
    }

    /// The run as far as it is known now.
    #[must_use]
    pub fn report(&self) -> Report {
        let unknown = Process::default();
        let run = Supervised::among(&self.processes).unwrap_or(Supervised::alone(&unknown));
        let mut report = report(&run.meta(&self.meta, &self.processes), &run, self.lap);
        report.workers = workers(&self.processes);
        report.trainers = trainers(&run, &self.processes);
        if let (Some(steps), Some(trainers)) = (&mut report.steps, &report.trainers) {
            add_up(steps, trainers);
        }
        report.profile = profile::summary(&self.profiles, &self.profile_stacks());
        report.ranks = ranks(&self.processes);
        report.slowest_rank = report.ranks.as_deref().and_then(slowest);
        report.findings.extend(report.ranks.as_deref().and_then(uneven));
        report.deaths = deaths(&run, &self.processes);
        let own = report.deaths.iter().find(|death| death.pid == run.process.facts.pid);
        report.open_stages = own.map(|death| death.open_stages.clone()).unwrap_or_default();
        report
    }
}

fn report(meta: &RunMeta, run: &Supervised<'_>, lap: Option<u64>) -> Report {
    let process = run.process;
    let timebase = process.timebase();
    let (wall_s, ledger) = run.ledger();
    // A process that left without a word came to a good end where the command did.
    let ended_well = run.status() == Status::Finished && !counts(process, Status::Finished);
    let trainings = summary::trainings(process, &timebase, Asked { lap, ended_well });
    let stepping = process.stepping_lane().map(|lane| lane.number);
    let others = process.lanes.values().filter(|lane| Some(lane.number) != stepping);
    let started = start_up(run, &ledger);
    let mut report = Report {
        schema: REPORT_SCHEMA,
        run: run_summary(meta, run),
        wall_s,
        ledger,
        device_ledger: None,
        fits: trainings.fits,
        epochs: trainings.laps,
        stretches: trainings.stretches,
        steps: summary::steps(process, &timebase),
        start_up: started,
        trainers: None,
        ranks: None,
        slowest_rank: None,
        workers: None,
        threads: others.filter_map(|lane| thread(lane, &process.names, &timebase)).collect(),
        memory: run.memory(),
        transfer: run.transfer(meta),
        machine: run.machine_use(&timebase),
        time_left: process.time_left(&timebase),
        overhead: process.overhead(wall_s),
        profile: None,
        law: law::law(process, &timebase),
        open_stages: Vec::new(),
        deaths: Vec::new(),
        findings: Vec::new(),
        warnings: run.warnings(),
    };
    report.findings = if run.recorded_nothing() {
        vec![verdict::nothing_recorded(&report.warnings)]
    } else {
        verdict::findings(&report, run, &timebase)
    };
    report
}

fn run_summary(meta: &RunMeta, run: &Supervised<'_>) -> RunSummary {
    RunSummary {
        id: meta.id.clone(),
        name: meta.name.clone(),
        command: meta.command.clone(),
        status: run.status(),
        message: run.message(),
        started: rfc3339(meta.started_real_ns),
        ranks: meta.ranks,
        frameworks: meta.frameworks.clone(),
        device: meta.device.clone(),
        threads: meta.threads,
        engine: meta.engine.clone(),
        peak_flops_per_s: meta.peak_flops_per_s,
        cpus: meta.machine.cpus,
    }
}
