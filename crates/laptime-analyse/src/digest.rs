//! Digest: folds the records of a run and reports on it at any moment.

use std::borrow::Cow;

use laptime_core::{ProfileRecord, Record, RunMeta, Status, Trouble};

use crate::between_ranks::{between, put_between};
use crate::compare::ComparedRun;
use crate::death::{counts, deaths};
use crate::device_ledger::{device_ledger, device_tracks};
use crate::device_shares::DeviceShares;
use crate::device_summary::devices;
use crate::epoch_stream::EpochStream;
use crate::law;
use crate::layers::layers;
use crate::loading::loading;
use crate::passes::Passes;
use crate::process::Process;
use crate::profile::{self, ProfileFold, ProfileStacks};
use crate::ranks::{known_ranks, missing, ranks, ranks_together, restarted, slowest, uneven};
use crate::report::{EpochSummary, MachineUse, REPORT_SCHEMA, Report, RunSummary, Warning, WorkerSummary};
use crate::start_up::start_up;
use crate::step_timeline::{StepTimeline, step_timeline};
use crate::step_times::StepTimes;
use crate::summary::{self, Asked};
use crate::supervised::Supervised;
use crate::timeline::Timeline;
use crate::track::tracks;
use crate::trainers::{trainers, trainers_together};
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
        if matches!(record, Record::Closed { .. }) {
            self.let_go(log);
        }
    }

    /// A rank that ended and that the report is not about is kept by its sums, so that a thousand take little memory.
    fn let_go(&mut self, log: usize) {
        let Some(rank) = self.processes.get(log).map(|process| process.facts.rank) else { return };
        let before = |process: &Process| process.facts.rank < rank && process.trains();
        if self.processes.iter().any(before) {
            self.processes[log].coarsen();
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
        let processes = self.settled();
        let process = Supervised::among(&processes)?.process;
        let log = processes.iter().position(|one| std::ptr::eq(one, process))?;
        let known = match processes {
            Cow::Borrowed(processes) => Cow::Borrowed(processes.get(log)?),
            Cow::Owned(mut processes) => Cow::Owned(processes.swap_remove(log)),
        };
        Some(EpochStream::new(log, known, laps))
    }

    /// One axis of time for all processes, as far as they were read, for further readings of the run.
    #[must_use]
    pub fn timeline(&self) -> Timeline<'_> {
        Timeline::new(&self.processes, self.meta.started_real_ns)
    }

    /// The processes with nothing that waits for times of a device: what is known now has to do.
    fn settled(&self) -> Cow<'_, [Process]> {
        if !self.processes.iter().any(Process::waits) {
            return Cow::Borrowed(&self.processes);
        }
        let mut processes = self.processes.clone();
        processes.iter_mut().for_each(Process::settle);
        Cow::Owned(processes)
    }

    /// The run as it is compared with others: its report, its machine and its steps in time order.
    #[must_use]
    pub fn compared_run(&self) -> ComparedRun {
        let settled = self.settled();
        let run = Supervised::among(settled.as_ref());
        let process = run.map(|run| run.process);
        let mut compared = ComparedRun::new(self.report(), self.meta.machine.clone(), process);
        compared.passes = run.map(|run| Passes::of(&run, settled.as_ref())).unwrap_or_default();
        compared
    }

    /// The times of the steps of every fit, with what a report leaves out.
    #[must_use]
    pub fn step_times(&self) -> Vec<StepTimes> {
        let settled = self.settled();
        let Some(Supervised { process, .. }) = Supervised::among(settled.as_ref()) else { return Vec::new() };
        let began = process.fits.iter().filter(|(_, fit)| fit.began.is_some());
        began.filter_map(|(number, fit)| StepTimes::of(*number, fit, &process.timebase())).collect()
    }

    /// The newest step of the usual length, on every track that is known of it; `None` where no step ended.
    #[must_use]
    pub fn step_timeline(&self) -> Option<StepTimeline> {
        step_timeline(Supervised::among(&self.processes)?.process, &self.processes)
    }

    /// The run as far as it is known now.
    #[must_use]
    pub fn report(&self) -> Report {
        let settled = self.settled();
        let processes = settled.as_ref();
        let unknown = Process::default();
        let run = Supervised::among(processes).unwrap_or(Supervised::alone(&unknown));
        let mut report = report(&run.meta(&self.meta, processes), &run, self.lap);
        report.workers = workers(processes);
        report.tracks.extend(report.workers.iter().flatten().map(WorkerSummary::track));
        report.loading = loading(&report);
        report.trainers = trainers(&run, processes);
        report.together = report.trainers.as_deref().and_then(trainers_together);
        // The throughput of a run is that of its trainers side by side.
        if let (Some(steps), Some(together)) = (&mut report.steps, report.together) {
            (steps.samples_per_s, steps.tokens_per_s) = (together.samples_per_s, together.tokens_per_s);
        }
        report.profile = profile::summary(&self.profiles, &self.profile_stacks());
        put_ranks(&mut report, processes);
        report.deaths = deaths(&run, processes);
        let own = report.deaths.iter().find(|death| death.pid == run.process.facts.pid);
        report.open_stages = own.map(|death| death.open_stages.clone()).unwrap_or_default();
        report
    }
}

/// Puts the ranks side by side; where their collectives were seen those tell who is late, else their work does.
fn put_ranks(report: &mut Report, processes: &[Process]) {
    let known = known_ranks(processes);
    report.warnings.extend(missing(&known, report.run.ranks));
    report.findings.extend(restarted(&known));
    let training: Vec<_> = known.iter().map(|(rank, run)| (*rank, run.process)).collect();
    let between = between(&training);
    report.ranks = ranks(&known, between.as_ref());
    report.together = report.together.or(report.ranks.as_deref().map(ranks_together));
    match between {
        Some(between) if between.summary.compared_steps > 0 => put_between(report, between),
        between => {
            let trained = training.iter().any(|(_, process)| process.trains());
            let said = report.warnings.iter().any(says_not_seen);
            let unseen = between.is_none() && training.len() > 1 && trained && !said;
            report.warnings.extend(unseen.then_some(Warning::CollectivesNotSeen));
            report.communication = between.map(|between| between.summary);
            let slowest = report.ranks.as_deref().and_then(slowest);
            (report.slowest_rank, report.others_work_s) = slowest.unzip();
            report.findings.extend(report.ranks.as_deref().and_then(uneven));
        }
    }
}

fn says_not_seen(warning: &Warning) -> bool {
    matches!(warning, Warning::Trouble { trouble: Trouble::CollectivesNotSeen { .. } })
}

fn report(meta: &RunMeta, run: &Supervised<'_>, lap: Option<u64>) -> Report {
    let process = run.process;
    let timebase = process.timebase();
    let (wall_s, ledger) = run.ledger();
    // A process that left without a word came to a good end where the command did.
    let ended_well = run.status() == Status::Finished && !counts(process, Status::Finished);
    let mut trainings = summary::trainings(process, &timebase, Asked { lap, ended_well });
    let mut tracks = tracks(process);
    tracks.extend(device_tracks(process, run.extent().wall()));
    let passes = run.gauges_in_passes().map(|(_, own)| own);
    let devices = devices(process, &tracks, passes.as_ref(), &timebase);
    let peak = meta.peak_flops_per_s.filter(|peak| *peak > 0.0);
    for fit in &mut trainings.fits {
        fit.share_of_peak = fit.flops_per_s.zip(peak).map(|(rate, peak)| rate / peak);
    }
    let started = start_up(run, &ledger);
    let machine = run.machine_use(&timebase);
    let mut transfer = run.transfer(meta);
    transfer.batch_bytes_per_epoch = summary::per_epoch(transfer.batch_bytes, &trainings);
    let mut report = Report {
        schema: REPORT_SCHEMA,
        run: run_summary(meta, run),
        wall_s,
        ledger,
        device_ledger: device_ledger(&tracks),
        devices,
        fits: trainings.fits,
        epochs: trainings.laps,
        stretches: trainings.stretches,
        steps: summary::steps(process, &timebase),
        start_up: started,
        trainers: None,
        ranks: None,
        communication: None,
        slowest_rank: None,
        others_work_s: None,
        together: None,
        workers: None,
        loading: None,
        tracks,
        memory: run.memory(),
        transfer,
        machine: MachineUse { busy_cpus: busy_cpus(&machine, wall_s), ..machine },
        time_left: process.time_left(&timebase),
        overhead: process.overhead(wall_s),
        profile: None,
        layers: layers(process),
        law: law::law(process, &timebase),
        open_stages: Vec::new(),
        deaths: Vec::new(),
        findings: Vec::new(),
        warnings: run.warnings(),
    };
    let busy_share = DeviceShares::of_run(&report).and_then(|shares| shares.known_busy());
    report.devices.iter_mut().flatten().take(1).for_each(|device| device.busy_share = busy_share);
    let host_times = verdict::host_times(&report);
    report.warnings.extend(host_times);
    report.findings = if run.recorded_nothing() {
        vec![verdict::nothing_recorded(&report.warnings)]
    } else {
        verdict::findings(&report, run, &timebase)
    };
    report
}

fn busy_cpus(machine: &MachineUse, wall_s: f64) -> Option<f64> {
    machine.cpu_s.filter(|_| wall_s > 0.0).map(|cpu| cpu / wall_s)
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
