//! Loading: what a loader's workers take for a batch.

use crate::report::{LedgerRow, LoadingSummary, Report};

/// What all workers take for a batch; `None` where none fetched one.
pub(crate) fn loading(report: &Report) -> Option<LoadingSummary> {
    let rows = |stage: &'static str| {
        let rows = report.workers.iter().flatten().flat_map(|worker| &worker.ledger);
        rows.filter(move |row: &&LedgerRow| row.stage == stage && row.count > 0)
    };
    let batches: u64 = rows("fetch").map(|row| row.count).sum();
    let each = |stage| rows(stage).map(|row| row.seconds).sum::<f64>() / batches as f64;
    let transform_s = rows("transform").next().map(|_| each("transform"));
    let dataset_s = each("fetch");
    (batches > 0).then(|| LoadingSummary {
        workers: at_once(report),
        batches,
        fetch_s: dataset_s + transform_s.unwrap_or(0.0),
        dataset_s,
        transform_s,
        collate_s: each("collate"),
    })
}

/// Workers that load at once: a loader starts them anew for each pass, unless they persist.
fn at_once(report: &Report) -> u64 {
    let set = report.fits.iter().filter_map(|fit| fit.workers);
    let all = report.workers.as_ref().map_or(0, |workers| workers.len() as u64);
    set.max().filter(|set| (1..=all).contains(set)).unwrap_or(all)
}
