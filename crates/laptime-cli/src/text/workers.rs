//! What the loader's worker processes did.

use laptime_analyse::Report;

use super::units;
use super::words::stage_name;

/// `inside the 2 loader workers, per batch: fetch 109 ms (dataset 71.0 ms, transform 38.0 ms), collate 9.00 ms`.
pub(crate) fn loader_line(report: &Report) -> Option<String> {
    let loading = report.loading.as_ref()?;
    let [fetch, dataset, collate] =
        [loading.fetch_s, loading.dataset_s, loading.collate_s].map(units::duration);
    let parts = loading.transform_s.map_or_else(String::new, |transform| {
        format!(" (dataset {dataset}, transform {})", units::duration(transform))
    });
    let workers = match loading.workers {
        1 => "loader worker".to_owned(),
        number => units::counted(number, "loader worker"),
    };
    Some(format!("inside the {workers}, per batch: fetch {fetch}{parts}, collate {collate}"))
}

/// The loader's line, else every stage by its mean exclusive time.
pub(crate) fn workers_line(report: &Report) -> Option<String> {
    loader_line(report).or_else(|| stages_line(report))
}

fn stages_line(report: &Report) -> Option<String> {
    let workers = report.workers.as_ref()?;
    let mut stages: Vec<(&str, f64, u64)> = Vec::new();
    for row in workers.iter().flat_map(|worker| &worker.ledger).filter(|row| row.count > 0) {
        match stages.iter_mut().find(|(stage, ..)| *stage == row.stage) {
            Some((_, seconds, count)) => (*seconds, *count) = (*seconds + row.seconds, *count + row.count),
            None => stages.push((&row.stage, row.seconds, row.count)),
        }
    }
    let parts = stages.iter().map(|(stage, seconds, count)| {
        let mean = units::duration(seconds / *count as f64);
        match count {
            1 => format!("{} {mean} (once)", stage_name(stage)),
            count => format!("{} {mean} ({} times)", stage_name(stage), units::count(*count)),
        }
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty())
        .then(|| format!("in {}: {}", units::counted(workers.len() as u64, "worker"), parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn what_happened_once_is_not_said_to_have_happened_one_times() {
        let mut report = sample::with_workers();
        report.loading = None;
        let workers = report.workers.as_mut().unwrap();
        workers.truncate(1);
        workers[0].ledger.retain(|row| row.stage != "fetch");
        workers[0].ledger[0].count = 1;
        let line = workers_line(&report).unwrap();
        assert_eq!(line, "in 1 worker: transform 38.0 s (once), collate 9.00 ms (1,000 times)");
    }
}
