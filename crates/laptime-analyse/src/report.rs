//! The report: what every presenter shows, and what `--json` prints as `laptime.report/1`.

use std::collections::BTreeMap;

use laptime_core::{Estimate, Status, Trouble};
use serde::Serialize;

use crate::scaling::{Coefficient, Model};

mod profile;

pub use profile::{ProfileFunction, ProfilePart, ProfileReport, ProfileStage, SampledPart, SamplingCost};

/// The version of [`Report`]; fields may be added to it, none changes meaning.
pub const REPORT_SCHEMA: &str = "laptime.report/1";

/// One run, explained. What is unknown is `None`, never a guess.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Always [`REPORT_SCHEMA`].
    pub schema: &'static str,
    /// Which run this is.
    pub run: RunSummary,
    /// From the recorder's start to its finish; of a killed run to the last instant known.
    pub wall_s: f64,
    /// Exclusive time of every stage on the thread that takes the steps; adds up to `wall_s`.
    pub ledger: Vec<LedgerRow>,
    /// The device's own ledger; absent on a CPU.
    pub device_ledger: Option<Vec<LedgerRow>>,
    /// The trainings within the run.
    pub fits: Vec<FitSummary>,
    /// Every lap of every fit, in order: epochs, or windows of steps where a fit has no epochs. Past 10,000
    /// epochs neighbours are folded.
    pub epochs: Vec<EpochSummary>,
    /// Fits without epochs every 10 s, for charts that grow with them; no part of the document.
    #[serde(skip)]
    pub stretches: Vec<EpochSummary>,
    /// Statistics of the steps of all fits; absent when no step ended.
    pub steps: Option<StepStatistics>,
    /// What came before the first fit; absent where nothing was trained.
    pub start_up: Option<StartUp>,
    /// Every process that trains, where several of one rank do; absent when each is alone. The report is about
    /// the one with the most steps.
    pub trainers: Option<Vec<TrainerSummary>>,
    /// Every rank that recorded; absent when the training is alone.
    pub ranks: Option<Vec<RankSummary>>,
    /// The rank that works longest on a step, so that the others wait for it.
    pub slowest_rank: Option<u32>,
    /// Ledgers of loader workers; absent when there are none.
    pub workers: Option<Vec<WorkerSummary>>,
    /// Other threads of the process that recorded stages.
    pub threads: Vec<ThreadSummary>,
    /// Memory of the process.
    pub memory: Memory,
    /// Bytes that moved.
    pub transfer: Transfer,
    /// CPU time, switches, throttling and load while it ran.
    pub machine: MachineUse,
    /// Time to the end of the planned epochs or steps; only while the run is running.
    pub time_left: Option<Estimate>,
    /// What laptime itself cost.
    pub overhead: Overhead,
    /// Hot functions; absent where none were asked for.
    pub profile: Option<ProfileReport>,
    /// The law through the fits, when they differ in one value.
    pub law: Option<Law>,
    /// Stages that were open when the process died, from the outermost.
    pub open_stages: Vec<OpenStageSummary>,
    /// Processes that did not end by themselves, and what each was doing.
    pub deaths: Vec<Death>,
    /// What analysis concluded: the verdict first, or one for each fit where they differ.
    pub findings: Vec<Finding>,
    /// What is missing or doubtful in this report.
    pub warnings: Vec<Warning>,
}

/// Which run a report is about.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// The run's id: its directory's name.
    pub id: String,
    /// What the user calls it.
    pub name: String,
    /// The command line.
    pub command: Vec<String>,
    /// How it stands.
    pub status: Status,
    /// Why it did not finish, when it said so.
    pub message: Option<String>,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Processes that train.
    pub ranks: u32,
    /// Frameworks seen.
    pub frameworks: Vec<String>,
    /// What computes.
    pub device: Option<String>,
    /// Threads the engine used.
    pub threads: Option<u32>,
    /// The engine and its version.
    pub engine: Option<String>,
    /// The most floating-point operations a second that its threads could do together, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_flops_per_s: Option<f64>,
    /// CPUs of the machine.
    pub cpus: u32,
}

/// One stage of a ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerRow {
    /// The stage's name.
    pub stage: String,
    /// Exclusive time, seconds.
    pub seconds: f64,
    /// Share of the scope's wall time, 0 to 1.
    pub share: f64,
    /// Spans that ended.
    pub count: u64,
    /// Mean inclusive time of a span; absent where there are no spans.
    pub mean_s: Option<f64>,
    /// Median inclusive time of a span.
    pub p50_s: Option<f64>,
    /// 95th percentile of the inclusive time of a span.
    pub p95_s: Option<f64>,
}

/// One training.
#[derive(Clone, Debug, Serialize)]
pub struct FitSummary {
    /// Its number, from 0.
    pub index: u32,
    /// Its name.
    pub label: String,
    /// What trained.
    pub framework: Option<String>,
    /// The framework's version.
    pub framework_version: Option<String>,
    /// What the model is on.
    pub device: Option<String>,
    /// Rows trained on in an epoch.
    pub rows: Option<u64>,
    /// Samples in a full batch.
    pub batch: Option<u64>,
    /// Numbers the model learns.
    pub parameters: Option<u64>,
    /// Epochs that ended; 0 where the laps are windows of steps.
    pub epochs: u64,
    /// Steps that ended in its laps.
    pub steps: u64,
    /// Epochs that were asked for.
    pub planned_epochs: Option<u64>,
    /// Steps that were asked for in all, of a training without epochs.
    pub planned_steps: Option<u64>,
    /// Where the number of epochs or steps asked for was read.
    pub plan_source: Option<String>,
    /// From its begin to its end.
    pub wall_s: f64,
    /// How long its epochs took; nothing where the laps are windows of steps.
    pub epoch_s: EpochTimes,
    /// Exclusive time of the stages from its begin to its end.
    pub stages: BTreeMap<String, f64>,
    /// Steps of the first epoch to leave out of every statistic; absent if it never settles.
    pub warm_up_steps: Option<u64>,
    /// The steps after warm-up, or all of them where its end is unknown; absent when no step ended.
    pub steady_steps: Option<SteadySteps>,
    /// The newest loss.
    pub loss: Option<f64>,
    /// The newest value of the metric that says most (validation before training, accuracy before loss).
    pub metric: Option<MetricValue>,
    /// The goal it was to end at, and whether and when it did; absent without one.
    pub target: Option<TargetSummary>,
    /// Compiled functions that train as a whole.
    pub compiled_functions: Vec<String>,
    /// Processes that load its data.
    pub workers: Option<u64>,
    /// The number type it computes with, where that is not the usual one.
    pub precision: Option<String>,
    /// Floating-point operations that a sample takes.
    pub flops_per_sample: Option<u64>,
    /// Floating-point operations a second of its steps.
    pub flops_per_s: Option<f64>,
    /// Epochs without a lower loss after which it was to end.
    pub patience: Option<u64>,
    /// Updates of the model, where gradients were thrown away.
    pub updates: Option<u64>,
    /// Backward passes whose gradients were cleared before an update used them.
    pub discarded_gradients: Option<u64>,
    /// The remaining settings.
    pub settings: BTreeMap<String, String>,
    /// All that was chosen for it by name, to be shown.
    #[serde(skip)]
    pub choices: BTreeMap<String, String>,
}

/// The steps of a fit after its warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SteadySteps {
    /// How many.
    pub count: u64,
    /// Mean, seconds.
    pub mean_s: f64,
    /// Samples a second over the steps' own time.
    pub samples_per_s: Option<f64>,
}

/// The way to a goal: a loss of at most, or an accuracy of at least, some value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetSummary {
    /// What is held against it: `loss`, `accuracy`, or the same of held-out rows, `validation_loss`, ….
    pub metric: String,
    /// The value to reach.
    pub value: f64,
    /// Whether an epoch reached it.
    pub reached: bool,
    /// Epochs to the one that reached it, which counts.
    pub epochs: Option<u64>,
    /// Steps of those epochs.
    pub steps: Option<u64>,
    /// From the fit's begin until it was known to be reached, seconds.
    pub seconds: Option<f64>,
    /// The best that any epoch came to.
    pub best: Option<f64>,
}

/// How long epochs took, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EpochTimes {
    /// Mean of all epochs that ended.
    pub mean: Option<f64>,
    /// The first epoch, which pays for warm-up.
    pub first: Option<f64>,
    /// Mean of the epochs after warm-up.
    pub steady: Option<f64>,
}

/// A named metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricValue {
    /// Such as `validation_accuracy`.
    pub name: String,
    /// Its value; absent when it is not a number.
    pub value: Option<f64>,
}

/// What a lap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LapKind {
    /// One pass over the training data.
    Epoch,
    /// Neighbouring epochs added up, where there are very many.
    Folded,
    /// Some steps of a fit without epochs. What lies between two windows, such as an evaluation, is part of
    /// neither.
    Window,
}

/// One lap: an epoch, or a window of steps.
#[derive(Clone, Debug, Serialize)]
pub struct EpochSummary {
    /// The fit it belongs to.
    pub fit: u32,
    /// Its number within the fit, from 0; of folded epochs, the first one's.
    pub index: u32,
    /// Whether it is an epoch.
    pub kind: LapKind,
    /// Laps that this row stands for.
    pub count: u64,
    /// Whether the pass ended; a killed run's last epoch did not.
    pub complete: bool,
    /// How long the pass took; of folded epochs, all passes without what lies between them.
    pub wall_s: f64,
    /// From the begin of its fit to the end of the pass, seconds; absent while the pass lasts.
    pub ended_s: Option<f64>,
    /// What the wall clock showed at the end of the pass, seconds since 1970; absent while the pass lasts.
    pub ended_unix_s: Option<f64>,
    /// Whether nothing will be added to it: the next epoch has begun, or the training is over.
    pub settled: bool,
    /// Steps of the fit before it.
    pub first_step: u64,
    /// Steps that ended in it.
    pub steps: u64,
    /// Samples trained on; unknown where neither a loader nor the model's input says.
    pub samples: Option<u64>,
    /// Samples a second of the pass.
    pub samples_per_s: Option<f64>,
    /// Tokens trained on; absent where the input has none.
    pub tokens: Option<u64>,
    /// Tokens a second of the pass.
    pub tokens_per_s: Option<f64>,
    /// Exclusive time of every stage within the pass; adds up to `wall_s`.
    pub stages: BTreeMap<String, f64>,
    /// Evaluation that followed the pass, seconds.
    pub evaluate_s: f64,
    /// Mean training loss, as it was measured, else of the steps that have one; of folded epochs, the last one's.
    pub loss: Option<f64>,
    /// What was measured at its end, by name.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Time to the end of the planned epochs, as it was predicted at the end of the pass.
    pub time_left: Option<Estimate>,
}

impl EpochSummary {
    /// How long a pass took, on average where several are folded.
    #[must_use]
    pub fn mean_wall_s(&self) -> f64 {
        self.wall_s / self.count.max(1) as f64
    }

    /// Steps of the fit up to its end.
    #[must_use]
    pub fn last_step(&self) -> u64 {
        self.first_step.saturating_add(self.steps)
    }
}

/// How long steps took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepStatistics {
    /// Steps that ended.
    pub count: u64,
    /// Mean, seconds: what forecasts a sum.
    pub mean_s: f64,
    /// Median, seconds.
    pub p50_s: f64,
    /// 95th percentile, seconds.
    pub p95_s: f64,
    /// Samples a second over the steps' own time; where several trainers work side by side, of all of them.
    pub samples_per_s: Option<f64>,
    /// Tokens a second in the same way; absent where the input has none.
    pub tokens_per_s: Option<f64>,
}

/// One rank of a training that several processes share.
#[derive(Clone, Debug, Serialize)]
pub struct RankSummary {
    /// Its number.
    pub rank: u32,
    /// How it stands.
    pub status: Status,
    /// From its begin to its end, seconds.
    pub wall_s: f64,
    /// Exclusive time of its stages; adds up to `wall_s`.
    pub ledger: Vec<LedgerRow>,
    /// Steps of its laps.
    pub steps: u64,
    /// Samples of its laps, where known.
    pub samples: Option<u64>,
    /// Samples a second of its laps.
    pub samples_per_s: Option<f64>,
    /// Mean time of a step without communication, in which it waits for the others; seconds.
    pub work_s: Option<f64>,
    /// Standard error of that mean, by how it varies between epochs; absent with fewer than three.
    pub work_error_s: Option<f64>,
}

/// One of several processes of a rank that train.
#[derive(Clone, Debug, Serialize)]
pub struct TrainerSummary {
    /// Process id.
    pub pid: u32,
    /// The rank it belongs to.
    pub rank: u32,
    /// How it stands.
    pub status: Status,
    /// From its begin to its end, seconds.
    pub wall_s: f64,
    /// Exclusive time of its stages; adds up to `wall_s`.
    pub ledger: Vec<LedgerRow>,
    /// Steps of its laps.
    pub steps: u64,
    /// Samples of its laps, where known.
    pub samples: Option<u64>,
    /// Samples a second of its laps.
    pub samples_per_s: Option<f64>,
    /// Tokens a second of its laps; absent where the input has none.
    pub tokens_per_s: Option<f64>,
    /// Mean time of a step without communication, seconds.
    pub work_s: Option<f64>,
    /// Whether it trained at the same time as the one the report is about, so that their throughput adds up.
    pub side_by_side: bool,
}

/// What a run does before its first fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartUp {
    /// From the run's start to the first fit, seconds.
    pub seconds: f64,
    /// Importing modules, seconds.
    pub imports_s: f64,
    /// The slowest of those, the slowest first.
    pub imports: Vec<ImportTime>,
    /// The rest: reading data, building the model, seconds.
    pub preparation_s: f64,
}

/// One module that was imported, outside any other import.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportTime {
    /// Its name.
    pub name: String,
    /// How long it took, what it imported itself included.
    pub seconds: f64,
}

/// One loader worker.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerSummary {
    /// Which worker.
    pub index: u32,
    /// Its ledger.
    pub ledger: Vec<LedgerRow>,
}

/// One thread besides the one that takes the steps.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadSummary {
    /// Its name.
    pub name: String,
    /// From its first to its last record, seconds.
    pub wall_s: f64,
    /// Exclusive time of its stages; what no stage claims is `idle`.
    pub ledger: Vec<LedgerRow>,
}

/// Memory of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// The most that was resident.
    pub peak_rss_bytes: Option<u64>,
    /// The most that was in use on a device.
    pub peak_device_bytes: Option<u64>,
    /// Page faults that waited for storage.
    pub major_faults: Option<u64>,
    /// The most that was swapped out.
    pub swapped_bytes: Option<u64>,
}

/// Bytes that moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Transfer {
    /// Bytes of data files read by the training, from storage or cache.
    pub file_read_bytes: u64,
    /// Bytes the kernel fetched from storage for the process.
    pub storage_read_bytes: Option<u64>,
    /// Bytes of batches handed to the model.
    pub batch_bytes: u64,
    /// Bytes copied to a device.
    pub host_to_device_bytes: Option<u64>,
    /// Bytes exchanged between ranks.
    pub between_ranks_bytes: Option<u64>,
    /// Bytes received and sent in the network namespace, other programs' too.
    pub network_bytes: Option<u64>,
}

/// What the process got of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MachineUse {
    /// CPU time of the process, seconds.
    pub cpu_s: Option<f64>,
    /// Times the CPU was taken from the process.
    pub involuntary_switches: Option<u64>,
    /// Time the cgroup was held back by its quota, seconds.
    pub throttled_s: Option<f64>,
    /// CPUs the cgroup may use; absent without a quota.
    pub quota_cpus: Option<f64>,
    /// Highest load average seen.
    pub peak_load: Option<f64>,
    /// Share of the time some task of the machine waited for a CPU, 0 to 1.
    pub cpu_pressure: Option<f64>,
    /// Time its threads were ready to run and waited for a CPU, all added up, seconds.
    pub cpu_wait_s: Option<f64>,
    /// CPUs of the machine, whether or not the process may use them.
    pub cpus: Option<u64>,
    /// CPUs that other programs kept busy, on average.
    pub other_cpus: Option<f64>,
    /// Share of the CPUs' time that the hypervisor gave to others, 0 to 1.
    pub stolen: Option<f64>,
    /// Clock of the fastest CPU, mean, MHz.
    pub clock_mhz: Option<f64>,
    /// Clock of the fastest CPU, the highest seen, MHz.
    pub peak_clock_mhz: Option<f64>,
    /// Times a CPU was slowed down by heat.
    pub heat_throttles: Option<u64>,
}

/// What laptime itself cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Overhead {
    /// Spans times the cost of one, plus the flusher's CPU time; seconds.
    pub seconds: f64,
    /// Share of `wall_s`.
    pub share: f64,
    /// Spans put on record or counted.
    pub spans: u64,
    /// The cost of one span, measured in a hot loop at start, nanoseconds; in a real step it is more.
    pub span_cost_ns: Option<f64>,
    /// CPU time of the flusher thread, seconds.
    pub flusher_cpu_s: Option<f64>,
}

/// How time changes through fits that differ in one value: the straight line, and the law that explains them
/// best, which may be another.
#[derive(Clone, Debug, Serialize)]
pub struct Law {
    /// What differs: `rows`, `batch`, `parameters` or a setting.
    pub x: String,
    /// What it is a law of: `epoch_s` or `step_s`.
    pub y: String,
    /// Value of `y` at zero, seconds.
    pub intercept: Estimate,
    /// Seconds for one more of `x`.
    pub slope: Estimate,
    /// Share of the variance that the line explains.
    pub r2: f64,
    /// The points it goes through: `x`, mean `y`.
    pub points: Vec<(f64, f64)>,
    /// The shape that explains the points best.
    pub model: Model,
    /// The numbers of that shape.
    pub coefficients: Vec<Coefficient>,
    /// That law in words.
    pub text: String,
}

/// A stage that was open when the process died.
#[derive(Clone, Debug, Serialize)]
pub struct OpenStageSummary {
    /// The thread.
    pub thread: String,
    /// The stage.
    pub stage: String,
    /// How long it had been open at the last instant known, seconds.
    pub open_s: f64,
}

/// A process of the run that did not end by itself.
#[derive(Clone, Debug, Serialize)]
pub struct Death {
    /// What it did in the run.
    pub part: Part,
    /// Its rank, or the rank it worked for.
    pub rank: u32,
    /// Which worker of its loader, from 0; absent where that is unknown.
    pub worker: Option<u32>,
    /// Process id.
    pub pid: u32,
    /// The fit that was open, from 0.
    pub fit: Option<u32>,
    /// The newest epoch of that fit, from 0.
    pub epoch: Option<u32>,
    /// The step it was in, from 0, of that epoch, else of the fit; absent where the pass had ended, or the
    /// training paused.
    pub step: Option<u64>,
    /// Steps of a fit without epochs that had ended; absent where there were none.
    pub steps_done: Option<u64>,
    /// Stages that were open, from the outermost of each thread.
    pub open_stages: Vec<OpenStageSummary>,
}

/// What a process does in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It is a rank's own: it trains.
    Rank,
    /// It trains beside its rank's own, or in its place.
    Trainer,
    /// It loads data for one that trains.
    LoaderWorker,
    /// It recorded beside its rank's own.
    Process,
}

/// What analysis concluded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// A stable name, such as `data_bound`.
    pub id: &'static str,
    /// One sentence with numbers.
    pub text: String,
    /// The fit it is about; absent where it is about the run or about all fits.
    pub fit: Option<u32>,
    /// Whether it says what limits the steps.
    pub verdict: bool,
}

impl Finding {
    /// A finding about the run as a whole.
    #[must_use]
    pub fn new(id: &'static str, text: impl Into<String>) -> Self {
        Self { id, text: text.into(), fit: None, verdict: false }
    }
}

/// What is missing or doubtful.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Warning {
    /// The recorder met trouble.
    Trouble {
        /// What.
        trouble: Trouble,
    },
    /// Single spans were dropped because the ring was full; totals and ledgers still hold all time.
    SpansDropped {
        /// How many.
        count: u64,
    },
    /// The wall clock was stepped; durations are not affected.
    ClockStepped {
        /// By how much, seconds.
        seconds: f64,
    },
    /// The machine slept; the time is not in the ledger.
    Suspended {
        /// For how long, seconds.
        seconds: f64,
    },
}
