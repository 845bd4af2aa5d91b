//! The metrics of a run.

use laptime_analyse::{EpochSummary, LapKind, Report};
use laptime_core::Status;

use super::page::{Family, Page};

const fn family(name: &'static str, help: &'static str) -> Family {
    Family { name, help }
}

/// Adds samples of one run.
struct Of<'a> {
    report: &'a Report,
    page: &'a mut Page,
}

impl Of<'_> {
    fn add(&mut self, family: Family, labels: &[(&str, &str)], value: impl Into<Option<f64>>) {
        let Some(value) = value.into() else { return };
        let run = [("run", self.report.run.id.as_str()), ("name", self.report.run.name.as_str())];
        self.page.add(family, &[run.as_slice(), labels].concat(), value);
    }
}

/// What it is and how it stands.
pub(super) fn run(report: &Report, page: &mut Page) {
    let mut of = Of { report, page };
    let run = &report.run;
    let facts = [
        ("device", run.device.as_deref().unwrap_or_default()),
        ("engine", run.engine.as_deref().unwrap_or_default()),
        ("frameworks", &run.frameworks.join(",")),
        ("started", &run.started),
    ];
    of.add(family("laptime_run_info", "What a run is; always 1."), &facts, 1.0);
    let statuses = [
        ("running", Status::Running),
        ("finished", Status::Finished),
        ("failed", Status::Failed),
        ("killed", Status::Killed),
    ];
    for (name, status) in statuses {
        let stands = f64::from(u8::from(run.status == status));
        of.add(
            family("laptime_run_status", "1 for how a run stands, 0 for the others."),
            &[("status", name)],
            stands,
        );
    }
    of.add(
        family("laptime_wall_seconds", "From the recorder's start to its end, or now."),
        &[],
        report.wall_s,
    );
    let left =
        family("laptime_time_left_seconds", "Time to the end of the planned epochs, and its interval.");
    if let Some(estimate) = report.time_left {
        let level = [("mean", estimate.mean), ("low", estimate.low), ("high", estimate.high)];
        level.into_iter().for_each(|(name, value)| of.add(left, &[("estimate", name)], value));
    }
    for finding in &report.findings {
        let id = [("finding", finding.id)];
        of.add(family("laptime_finding_info", "What analysis concluded; always 1."), &id, 1.0);
    }
}

/// Where the time went.
pub(super) fn stages(report: &Report, page: &mut Page) {
    let mut of = Of { report, page };
    let time = family(
        "laptime_stage_seconds_total",
        "Exclusive time of a stage; all add up to laptime_wall_seconds.",
    );
    let spans = family("laptime_stage_spans_total", "Spans of a stage that ended.");
    for row in &report.ledger {
        of.add(time, &[("stage", &row.stage)], row.seconds);
        of.add(spans, &[("stage", &row.stage)], row.count as f64);
    }
    let device = family("laptime_device_seconds_total", "Exclusive time of a device by what it did.");
    for row in report.device_ledger.iter().flatten() {
        of.add(device, &[("device", &row.device), ("work", &row.row)], row.seconds);
    }
    let busy = family("laptime_device_busy_ratio", "Share of the steps in which a device computed, 0 to 1.");
    for row in report.devices.iter().flatten() {
        of.add(busy, &[("device", &row.device)], row.busy_share);
    }
}

/// The trainings and their newest epochs.
pub(super) fn fits(report: &Report, page: &mut Page) {
    let mut of = Of { report, page };
    for fit in &report.fits {
        let index = fit.index.to_string();
        let labels = [("fit", index.as_str())];
        of.add(family("laptime_epochs_total", "Epochs that ended."), &labels, fit.epochs as f64);
        of.add(
            family("laptime_planned_epochs", "Epochs that were asked for."),
            &labels,
            fit.planned_epochs.map(|epochs| epochs as f64),
        );
        of.add(family("laptime_steps_total", "Steps that ended."), &labels, fit.steps as f64);
        of.add(
            family("laptime_steady_epoch_seconds", "Mean time of the epochs after warm-up."),
            &labels,
            fit.epoch_s.steady,
        );
        of.add(family("laptime_loss", "The newest training loss."), &labels, fit.loss);
        let newest = report.epochs.iter().rev().find(|epoch| is_whole(epoch) && epoch.fit == fit.index);
        newest.into_iter().for_each(|epoch| newest_epoch(epoch, &index, &mut of));
    }
}

fn is_whole(epoch: &EpochSummary) -> bool {
    epoch.complete && epoch.kind == LapKind::Epoch
}

fn newest_epoch(epoch: &EpochSummary, fit: &str, of: &mut Of<'_>) {
    let labels = [("fit", fit)];
    of.add(family("laptime_epoch_seconds", "Time of the newest epoch that ended."), &labels, epoch.wall_s);
    let stage_time =
        family("laptime_epoch_stage_seconds", "Exclusive time of a stage in the newest epoch that ended.");
    for (stage, seconds) in &epoch.stages {
        of.add(stage_time, &[("fit", fit), ("stage", stage)], *seconds);
    }
    let metric = family("laptime_metric", "What was measured at the end of the newest epoch.");
    for (name, value) in &epoch.metrics {
        of.add(metric, &[("fit", fit), ("metric", name)], *value);
    }
}

/// How fast it goes.
pub(super) fn steps(report: &Report, page: &mut Page) {
    let mut of = Of { report, page };
    let Some(steps) = report.steps else { return };
    let time = family("laptime_step_seconds", "Time of a step: mean, median and 95th percentile.");
    for (name, value) in [("mean", steps.mean_s), ("p50", steps.p50_s), ("p95", steps.p95_s)] {
        of.add(time, &[("statistic", name)], value);
    }
    of.add(
        family("laptime_samples_per_second", "Samples trained on, over the steps' own time."),
        &[],
        steps.samples_per_s,
    );
    of.add(
        family("laptime_tokens_per_second", "Tokens trained on, over the steps' own time."),
        &[],
        steps.tokens_per_s,
    );
}

/// The ranks, where there are several.
pub(super) fn ranks(report: &Report, page: &mut Page) {
    let mut of = Of { report, page };
    for rank in report.ranks.iter().flatten() {
        let number = rank.rank.to_string();
        let labels = [("rank", number.as_str())];
        let work =
            family("laptime_rank_step_work_seconds", "Mean time of a rank's step without communication.");
        of.add(work, &labels, rank.work_s);
        let rate = family("laptime_rank_samples_per_second", "Samples that a rank trained on.");
        of.add(rate, &labels, rank.samples_per_s);
        let time = family("laptime_rank_stage_seconds_total", "Exclusive time of a stage of a rank.");
        for row in &rank.ledger {
            of.add(time, &[("rank", &number), ("stage", &row.stage)], row.seconds);
        }
    }
}

/// Bytes, memory, CPUs, and laptime's own cost.
pub(super) fn resources(report: &Report, page: &mut Page) {
    let mut of = Of { report, page };
    let bytes = |amount: Option<u64>| amount.map(|bytes| bytes as f64);
    let moved = &report.transfer;
    let links = [
        ("data_files", Some(moved.file_read_bytes)),
        ("storage", moved.storage_read_bytes),
        ("batches", Some(moved.batch_bytes)),
        ("host_to_device", moved.host_to_device_bytes),
        ("device_to_host", moved.device_to_host_bytes),
        ("between_ranks", moved.between_ranks_bytes),
        ("network", moved.network_bytes),
    ];
    for (link, amount) in links {
        of.add(
            family("laptime_moved_bytes_total", "Bytes that moved, by link."),
            &[("link", link)],
            bytes(amount),
        );
    }
    let memory = family("laptime_peak_memory_bytes", "The most memory that was in use.");
    of.add(memory, &[("where", "host")], bytes(report.memory.peak_rss_bytes));
    of.add(memory, &[("where", "device")], bytes(report.memory.peak_device_bytes));
    of.add(
        family("laptime_major_page_faults_total", "Page faults that waited for storage."),
        &[],
        bytes(report.memory.major_faults),
    );
    of.add(family("laptime_cpu_seconds_total", "CPU time of the process."), &[], report.machine.cpu_s);
    of.add(
        family("laptime_throttled_seconds_total", "Time the cgroup was held back by its quota."),
        &[],
        report.machine.throttled_s,
    );
    of.add(
        family("laptime_overhead_seconds_total", "What laptime itself took."),
        &[],
        report.overhead.seconds,
    );
}
