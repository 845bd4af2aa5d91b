//! The ledgers of a report: stages, devices, workers and other tracks.

use laptime_core::TrackKind;
use serde::Serialize;

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

/// One loader worker.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerSummary {
    /// Which worker.
    pub index: u32,
    /// From its first to its last record, seconds.
    pub wall_s: f64,
    /// Its ledger.
    pub ledger: Vec<LedgerRow>,
}

/// What the workers of a loader take for a batch, each worker's time without what it loads in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadingSummary {
    /// Workers that load at once.
    pub workers: u64,
    /// Batches that they fetched.
    pub batches: u64,
    /// The dataset's own time and its transforms', seconds.
    pub fetch_s: f64,
    /// The dataset's own time, seconds.
    pub dataset_s: f64,
    /// The transforms' time, seconds; absent where none was seen.
    pub transform_s: Option<f64>,
    /// The time to make a batch of the samples, seconds.
    pub collate_s: f64,
}

/// One row of a device's ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceRow {
    /// The device.
    pub device: String,
    /// A stage it worked on, or `idle`.
    pub row: String,
    /// Exclusive time, seconds.
    pub seconds: f64,
    /// Share of the wall time, 0 to 1.
    pub share: f64,
}

/// One track besides the thread that takes the steps.
#[derive(Clone, Debug, Serialize)]
pub struct TrackSummary {
    /// What it is of.
    pub kind: TrackKind,
    /// The name of the thread or device, the number of the worker.
    pub name: String,
    /// What its ledger adds up to, seconds: of a thread from its first to its last record.
    pub wall_s: f64,
    /// Exclusive time of its stages; what no stage claims is `idle`.
    pub ledger: Vec<LedgerRow>,
}
