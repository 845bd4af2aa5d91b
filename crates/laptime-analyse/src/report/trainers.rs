//! Ranks and trainers of a report.

use laptime_core::Status;
use serde::Serialize;

use super::communication::{ClockDistance, RankCommunication};
use super::tracks::LedgerRow;

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
    /// What its machine calls itself.
    pub host: Option<String>,
    /// What it did in a step, with what it exchanged; absent where no collective was seen.
    pub communication: Option<RankCommunication>,
    /// How far its wall clock is from the first rank's; absent where they did not meet often enough.
    pub clock: Option<ClockDistance>,
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

/// What several trainings side by side come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Together {
    /// How many train at the same time.
    pub trainers: u64,
    /// Samples a second of all of them.
    pub samples_per_s: Option<f64>,
    /// Tokens a second of all of them; absent where the input has none.
    pub tokens_per_s: Option<f64>,
}
