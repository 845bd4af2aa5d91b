//! A run as lists show it.

use laptime_analyse::Report;
use laptime_core::Status;
use laptime_store::RunEntry;

use crate::text::RunRow;

/// The row of a run; without a report it could not be read.
pub(crate) fn listed_run(entry: &RunEntry, report: Option<&Report>) -> RunRow {
    let last = report.and_then(|report| report.fits.last());
    RunRow {
        id: entry.meta.id.clone(),
        name: entry.meta.name.clone(),
        // A run that cannot be read at all has ended without a word.
        status: report.map_or(Status::Killed, |report| report.run.status),
        started: report.map(|report| report.run.started.clone()).unwrap_or_default(),
        wall_s: report.map(|report| report.wall_s),
        epochs: report.map(|report| report.fits.iter().map(|fit| fit.epochs).sum()),
        steps: report.map(|report| report.fits.iter().map(|fit| fit.steps).sum()),
        loss: last.and_then(|fit| fit.loss),
        metric: last.and_then(|fit| fit.metric.clone()).map(|metric| (metric.name, metric.value)),
        disk_bytes: entry.bytes,
    }
}
