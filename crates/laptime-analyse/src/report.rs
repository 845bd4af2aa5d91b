//! The report: what every presenter shows, and what `--json` prints as `laptime.report/1`.

use laptime_core::{Estimate, Status};
use serde::Serialize;

mod communication;
mod findings;
mod fits;
mod laps;
mod layers;
mod machine;
mod profile;
mod tracks;
mod trainers;

pub use communication::{
    ClockDistance, CommunicationSummary, FitStraggler, GroupSummary, Pattern, RankCommunication, Straggler,
};
pub use findings::{Death, Finding, Law, OpenStageSummary, Part, Warning};
pub use fits::{EpochTimes, FitSummary, MetricValue, SteadySteps, TargetSummary};
pub use laps::{EpochSummary, LapKind, StepStatistics};
pub use layers::LayerSummary;
pub use machine::{ImportTime, MachineUse, Memory, Overhead, StartUp, Transfer};
pub use profile::{ProfileFunction, ProfilePart, ProfileReport, ProfileStage, SampledPart, SamplingCost};
pub use tracks::{DeviceRow, DeviceSummary, LedgerRow, LoadingSummary, TrackSummary, WorkerSummary};
pub use trainers::{RankSummary, Together, TrainerSummary};

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
    /// The ledgers of the devices, each of which adds up to `wall_s`; absent where none was recorded.
    pub device_ledger: Option<Vec<DeviceRow>>,
    /// The devices whose times were recorded; absent where only the host's times are known.
    pub devices: Option<Vec<DeviceSummary>>,
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
    /// Mean work of the other ranks on a step, seconds; absent where none is slowest.
    pub others_work_s: Option<f64>,
    /// What the ranks exchange and whom they wait for; absent where no collective was seen.
    pub communication: Option<CommunicationSummary>,
    /// What ranks or trainers side by side come to; absent when the training is alone.
    pub together: Option<Together>,
    /// Ledgers of loader workers; absent when there are none.
    pub workers: Option<Vec<WorkerSummary>>,
    /// What the workers take for a batch; absent where none fetched one.
    pub loading: Option<LoadingSummary>,
    /// Tracks besides the thread that takes the steps: other threads, devices, communication and workers. They
    /// overlap it and each other.
    pub tracks: Vec<TrackSummary>,
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
    /// The modules of each fit's model, longest first; absent where none were asked for.
    pub layers: Option<Vec<LayerSummary>>,
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
