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
    /// A stage it worked on; `copy` where it did nothing but copy from the host, `communication`; `idle_data`,
    /// `idle_host` or `idle_sync` where it had nothing to do because data was late, because the host launched
    /// nothing, or because the host had waited for it; `unexplained` where it is not known which. Of a device whose
    /// spans were recorded, a stage or `idle`.
    pub row: String,
    /// Exclusive time, seconds.
    pub seconds: f64,
    /// Share of the wall time, 0 to 1.
    pub share: f64,
}

/// A device whose times were recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeviceSummary {
    /// As in `device_ledger`: `cuda:0`.
    pub device: String,
    /// What its maker calls it.
    pub name: Option<String>,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// The version of its driver.
    pub driver: Option<String>,
    /// Share of the steps in which it computed, 0 to 1; absent where it cannot be told from waiting for launches.
    pub busy_share: Option<f64>,
    /// Steps that the host has begun when the device begins one, the median; absent where no step was seen.
    pub steps_ahead: Option<u64>,
    /// Time it copied from the host, seconds.
    pub copy_s: f64,
    /// The part of it in which nothing was computed, seconds.
    pub exposed_copy_s: f64,
    /// Share of the passes in which any kernel ran by its counters, other programs' too.
    pub counted_busy_share: Option<f64>,
    /// Share of that in which its tensor cores were busy.
    pub tensor_share: Option<f64>,
    /// Clock of its multiprocessors, mean, MHz.
    pub clock_mhz: Option<f64>,
    /// The highest it may be, MHz.
    pub highest_clock_mhz: Option<f64>,
    /// What it drew, mean, watts.
    pub power_w: Option<f64>,
    /// What it may draw, watts.
    pub power_limit_w: Option<f64>,
    /// Its highest temperature, degrees Celsius.
    pub peak_celsius: Option<f64>,
    /// Share of the readings in which heat lowered its clock.
    pub lowered_by_heat: Option<f64>,
    /// Share of the readings in which its power limit did.
    pub lowered_by_power: Option<f64>,
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
