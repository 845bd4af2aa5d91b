//! What ranks exchange, and whom they wait for.

use laptime_core::Estimate;
use serde::Serialize;

/// What all ranks exchanged while they trained. What cannot be told is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommunicationSummary {
    /// Bytes that a rank gives in a step, on average over the ranks.
    pub bytes_per_step: Option<f64>,
    /// Bytes a rank gives in a second while they are under way, waiting for late ranks left out.
    pub bytes_per_s: Option<f64>,
    /// Share of the time under way in which the training went on, 0 to 1.
    pub hidden_share: Option<f64>,
    /// The groups of ranks, those that gave most first.
    pub groups: Vec<GroupSummary>,
    /// Steps in which all ranks were laid side by side; a sample where there are many.
    pub compared_steps: u64,
    /// Whom the others wait for; absent where nobody stands out.
    pub straggler: Option<Straggler>,
    /// The same for each fit in which somebody does; absent for a run of one fit.
    pub fits: Option<Vec<FitStraggler>>,
    /// A rank that held all others up once.
    pub one_off: Option<Straggler>,
}

/// A group of ranks that exchange with each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSummary {
    /// Its name.
    pub name: String,
    /// What exchanges, such as `gloo` or `nccl`.
    pub backend: String,
    /// What it is for, where the script says so.
    pub purpose: Option<String>,
    /// Its ranks.
    pub ranks: Vec<u32>,
    /// Collectives of a rank, on average.
    pub collectives: f64,
    /// Bytes that all its ranks gave.
    pub bytes: u64,
    /// Bytes a rank gives in a second while they are under way, waiting for late ranks left out.
    pub bytes_per_s: Option<f64>,
}

/// How ranks are late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// The same ranks, more often than chance explains.
    Chronic,
    /// One after the other.
    Rotating,
    /// Once.
    OneOff,
}

/// Ranks that the others wait for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Straggler {
    /// How they are late.
    pub pattern: Pattern,
    /// Which they are; empty where they take turns.
    pub ranks: Vec<u32>,
    /// Their machine, where they have one in common and it has a name.
    pub host: Option<String>,
    /// The stage in which they take longer than the others.
    pub stage: Option<String>,
    /// How much longer, seconds in a step; of a one-off, seconds in all.
    pub excess_s: Option<f64>,
    /// Share of the steps in which they came last, 0 to 1.
    pub last_share: Option<f64>,
    /// How much faster steps would be without their lateness.
    pub speedup: Option<Estimate>,
    /// The step it happened in, from 0; of a one-off.
    pub step: Option<u64>,
    /// Why they are late, where the probes saw it.
    pub cause: Option<String>,
}

/// Whom the others wait for in one of several fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitStraggler {
    /// The fit, from 0.
    pub fit: u32,
    /// Who it is.
    pub straggler: Straggler,
}

/// How far a rank's wall clock is from that of the first rank; for timelines alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClockDistance {
    /// What is added to its clock to have the first rank's, in the middle of the run; seconds.
    pub seconds: f64,
    /// How far from that the truth may be, seconds.
    pub bound_s: f64,
    /// How much the distance grows, seconds a second.
    pub drift: f64,
}

/// What one rank did in a step, on average: seconds, but for the share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RankCommunication {
    /// The step.
    pub step_s: f64,
    /// Waiting for data and making it ready.
    pub data_s: f64,
    /// Forward and backward pass, loss and optimizer, without standing still for others.
    pub compute_s: f64,
    /// Collectives under way while the training went on.
    pub hidden_s: f64,
    /// Collectives that the training stood still for.
    pub exposed_s: f64,
    /// Of those, the exchange itself; absent where no other rank is known.
    pub transfer_s: Option<f64>,
    /// Of those, waiting for the last rank.
    pub waiting_s: Option<f64>,
    /// Share of the steps in which this rank came last, 0 to 1.
    pub late: Option<f64>,
    /// Bytes it gave.
    pub bytes: f64,
}
