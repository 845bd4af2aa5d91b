//! Made-up runs that the tests draw.

use std::collections::BTreeMap;

use laptime_analyse::scaling::Model;
use laptime_analyse::*;
use laptime_core::{Status, TrackKind, Trouble};

/// Seconds of the stages of one step, in the order of the ledger.
const STEP: [(&str, f64); 6] = [
    ("data_wait", 54e-6),
    ("host_to_device", 14e-6),
    ("forward", 310e-6),
    ("loss", 48e-6),
    ("backward", 560e-6),
    ("optimizer", 210e-6),
];

/// Nothing known but the name.
pub(crate) fn nothing() -> Report {
    Report {
        schema: REPORT_SCHEMA,
        run: run(Status::Failed),
        wall_s: 0.0123,
        ledger: vec![row("start_up", 0.0123, 1.0, 0), row("unaccounted", 0.0, 0.0, 0)],
        device_ledger: None,
        devices: None,
        fits: Vec::new(),
        epochs: Vec::new(),
        stretches: Vec::new(),
        steps: None,
        start_up: None,
        trainers: None,
        ranks: None,
        slowest_rank: None,
        others_work_s: None,
        together: None,
        loading: None,
        workers: None,
        tracks: Vec::new(),
        memory: Memory::default(),
        transfer: Transfer::default(),
        machine: MachineUse::default(),
        time_left: None,
        overhead: Overhead::default(),
        profile: None,
        layers: None,
        law: None,
        open_stages: Vec::new(),
        deaths: Vec::new(),
        findings: Vec::new(),
        warnings: Vec::new(),
    }
}

/// A small model that trained to the end.
pub(crate) fn finished() -> Report {
    trained(3, 3125)
}

/// As many epochs as asked for, all alike but the first.
pub(crate) fn trained(epochs: u32, steps: u64) -> Report {
    let mut report = nothing();
    report.run = known_run();
    report.fits = vec![fit(0, 100_000, u64::from(epochs))];
    report.epochs = (0..epochs).map(|index| epoch(0, index, steps)).collect();
    settle(&mut report);
    report.transfer.batch_bytes_per_epoch = None;
    report.steps = Some(StepStatistics {
        count: steps * u64::from(epochs),
        mean_s: 1.21e-3,
        p50_s: 1.19e-3,
        p95_s: 1.48e-3,
        samples_per_s: Some(26_446.0),
        tokens_per_s: None,
    });
    facts(&mut report);
    report
}

/// Killed in the middle of its second epoch.
pub(crate) fn killed() -> Report {
    let mut report = trained(2, 3125);
    report.run.status = Status::Killed;
    let last = &mut report.epochs[1];
    *last = epoch(0, 1, 1204);
    (last.complete, last.evaluate_s) = (false, 0.0);
    last.metrics.clear();
    settle(&mut report);
    report.transfer.batch_bytes_per_epoch = None;
    (report.fits[0].epochs, report.fits[0].planned_epochs) = (1, Some(3));
    report.deaths = vec![death()];
    report.open_stages = report.deaths[0].open_stages.clone();
    report.warnings = vec![
        Warning::SpansDropped { count: 1203 },
        Warning::Trouble { trouble: Trouble::DamagedLog { file: "0.log".to_owned(), bytes: 4096 } },
    ];
    report
}

/// A language model that trains for 5,000 steps without epochs, evaluated every 1,000; it has done 4,200.
pub(crate) fn by_steps() -> Report {
    let mut report = trained(5, 1000);
    report.run.name = "gpt".to_owned();
    let fit = &mut report.fits[0];
    (fit.rows, fit.batch, fit.steps_per_epoch, fit.label) = (None, None, None, "GPT".to_owned());
    (fit.epochs, fit.planned_epochs, fit.epoch_s) = (0, None, EpochTimes::default());
    (fit.steps, fit.planned_steps) = (4200, Some(5000));
    report.epochs[4] = epoch(0, 4, 200);
    (report.epochs[4].first_step, report.epochs[4].evaluate_s) = (4000, 0.0);
    report.epochs[4].complete = false;
    report.transfer.batch_bytes_per_epoch = None;
    for lap in &mut report.epochs {
        lap.kind = LapKind::Window;
        (lap.samples, lap.samples_per_s) = (None, None);
        (lap.tokens, lap.tokens_per_s) =
            (Some(lap.steps * 4096), Some(lap.steps as f64 * 4096.0 / lap.wall_s));
    }
    settle(&mut report);
    report.transfer.batch_bytes_per_epoch = None;
    import(&mut report);
    if let Some(steps) = &mut report.steps {
        (steps.count, steps.samples_per_s, steps.tokens_per_s) = (4200, None, Some(3_385_123.0));
    }
    report.run.status = Status::Killed;
    report.deaths = vec![Death { epoch: None, step: Some(4200), steps_done: Some(4200), ..death() }];
    report
}

/// The only rank, in the middle of its second epoch.
pub(crate) fn death() -> Death {
    Death {
        part: Part::Rank,
        rank: 0,
        worker: None,
        pid: 4711,
        fit: Some(0),
        epoch: Some(1),
        step: Some(1204),
        steps_done: None,
        open_stages: vec![OpenStageSummary {
            thread: "main".to_owned(),
            stage: "backward".to_owned(),
            open_s: 3.2e-3,
        }],
    }
}

/// Stopped by an error before the first epoch.
pub(crate) fn failed() -> Report {
    let mut report = nothing();
    report.run = known_run();
    report.run.status = Status::Failed;
    report.run.message = Some("line 17, column 3: `abc` is not a number".to_owned());
    report.fits = vec![FitSummary { epochs: 0, ..fit(0, 100_000, 3) }];
    report.fits[0].epoch_s = EpochTimes::default();
    let because = "No space left on device".to_owned();
    report.warnings = vec![Warning::Trouble {
        trouble: Trouble::LogNotWritten { because, lost_blocks: 2, lost_events: 90 },
    }];
    report
}

/// Three sizes of data in one run, and the law through them.
pub(crate) fn several() -> Report {
    let mut report = finished();
    report.run.name = "how does it scale? ".repeat(2) + "\x1b[31m";
    report.fits.clear();
    report.epochs.clear();
    for (index, rows) in [(0, 1_000), (1, 10_000), (2, 100_000)] {
        report.fits.push(fit(index, rows, 3));
        report.epochs.extend((0..3).map(|at| epoch(index, at, rows / 32)));
    }
    settle(&mut report);
    report.transfer.batch_bytes_per_epoch = None;
    let estimate = |mean: f64, by: f64| Estimate { mean, low: mean - by, high: mean + by, level: 0.95 };
    report.law = Some(Law {
        x: "rows".to_owned(),
        y: "epoch_s".to_owned(),
        intercept: estimate(0.9e-3, 0.2e-3),
        slope: estimate(37.4e-6, 0.3e-6),
        r2: 0.9998,
        points: vec![(1e3, 0.037), (1e4, 0.374), (1e5, 3.74)],
        model: Model::Linear,
        coefficients: Vec::new(),
        text: "epoch time = 900 us + 37.4 us × rows   (95 %: 37.1–37.7 us)".to_owned(),
    });
    report
}

/// Two workers load for it, started anew for each of its three epochs.
pub(crate) fn with_workers() -> Report {
    let mut report = finished();
    report.fits[0].workers = Some(2);
    report.fits[0].choices.insert("num_workers".to_owned(), "2".to_owned());
    let ledger = vec![
        row("fetch", 71.0, 0.6, 1000),
        row("transform", 38.0, 0.3, 32_000),
        row("collate", 9.0, 0.1, 1000),
        row("idle", 1.0, 0.0, 0),
    ];
    with_tracks(&mut report, TrackKind::Worker, 6, &ledger);
    report.loading = Some(LoadingSummary {
        workers: 2,
        batches: 6_000,
        fetch_s: 0.109,
        dataset_s: 0.071,
        transform_s: Some(0.038),
        collate_s: 9e-3,
    });
    report
}

/// Two ranks of which the second works longer.
pub(crate) fn two_ranks() -> Report {
    let mut report = finished();
    report.run.ranks = 2;
    let rank = |rank: u32, slower: f64| {
        let mut ledger = report.ledger.clone();
        let work: f64 = ledger.iter().map(|row| row.seconds).sum();
        ledger.iter_mut().for_each(|row| row.seconds *= slower);
        ledger.push(row("communication", work * (2.0 - slower), 0.0, 9375));
        RankSummary {
            rank,
            status: Status::Finished,
            wall_s: work * 2.0,
            ledger,
            steps: 9375,
            samples: Some(300_000),
            samples_per_s: Some(13_223.0),
            work_s: Some(1.21e-3 * slower),
            work_error_s: None,
        }
    };
    report.ranks = Some(vec![rank(0, 1.0), rank(1, 1.4)]);
    report.slowest_rank = Some(1);
    report.others_work_s = Some(1.21e-3);
    report.together = Some(Together { trainers: 2, samples_per_s: Some(26_446.0), tokens_per_s: None });
    report
}

/// Two processes of one rank that train at the same time.
pub(crate) fn two_trainers() -> Report {
    let mut report = by_steps();
    let trainer = |pid: u32, samples_per_s: f64| TrainerSummary {
        pid,
        rank: 0,
        status: Status::Finished,
        wall_s: report.wall_s,
        ledger: report.ledger.clone(),
        steps: 4200,
        samples: Some(134_400),
        samples_per_s: Some(samples_per_s),
        tokens_per_s: None,
        work_s: Some(1.21e-3),
        side_by_side: true,
    };
    report.trainers = Some(vec![trainer(4711, 26_446.0), trainer(4712, 25_005.0)]);
    report.together = Some(Together { trainers: 2, samples_per_s: Some(51_451.0), tokens_per_s: None });
    if let Some(steps) = &mut report.steps {
        steps.samples_per_s = Some(51_451.0);
    }
    report
}

/// In the middle of its second epoch.
pub(crate) fn running() -> Report {
    let mut report = killed();
    report.run.status = Status::Running;
    report.open_stages.clear();
    report.deaths.clear();
    report.warnings.clear();
    report.time_left = Some(Estimate { mean: 12.2, low: 11.1, high: 14.3, level: 0.9 });
    report
}

/// Everything that can go odd in one run: not a number, endless names, a device, workers.
pub(crate) fn odd() -> Report {
    let mut report = several();
    report.run.name = "name ".repeat(40);
    report.run.message = Some("boom\n  at line 3".to_owned());
    report.run.status = Status::Failed;
    for (epoch, odd) in report.epochs.iter_mut().zip([f64::NAN, f64::INFINITY, 1e300]) {
        (epoch.loss, epoch.samples_per_s) = (Some(odd), Some(odd));
        epoch.stages.insert("a_stage_of_the_user_with_a_long_name".to_owned(), 0.3);
    }
    report.epochs[1].wall_s = f64::NAN;
    report.ledger.push(row("a_stage_of_the_user_with_a_long_name", 0.9, f64::NAN, 3));
    let ledger = report.ledger.clone();
    with_tracks(&mut report, TrackKind::Thread, 1, &ledger);
    with_tracks(&mut report, TrackKind::Device, 2, &ledger);
    with_tracks(&mut report, TrackKind::Worker, 9, &ledger);
    report.machine.throttled_s = Some(1.2);
    report.machine.cpu_pressure = Some(0.23);
    report.machine.peak_load = Some(17.0);
    report.memory.swapped_bytes = Some(1 << 30);
    report.memory.major_faults = Some(1);
    report
}

/// A model of so many layers, the first one planted slow.
pub(crate) fn with_layers(number: usize) -> Report {
    let mut report = finished();
    let layer = |at: usize| LayerSummary {
        fit: 0,
        name: if at == 1 { String::new() } else { format!("encoder.layers.{at}.self_attention.out_proj") },
        kind: if at == 1 { "Transformer".to_owned() } else { "NonDynamicallyQuantizableLinear".to_owned() },
        parameters: 1_050_624,
        steps: 12,
        calls: 1.0,
        forward_s: 0.032 / (at + 1) as f64,
        backward_s: (at != 1).then_some(0.064 / (at + 1) as f64),
        device_forward_s: None,
        device_backward_s: None,
        share: 0.5_f64.powi(at as i32 + 1),
        flops: (at != 1).then_some(2e9),
        flops_per_s: (at != 1).then(|| 6.25e10 * (at + 1) as f64),
    };
    report.layers = Some((0..number).map(layer).collect());
    report
}

/// Some tracks of one kind, alike.
fn with_tracks(report: &mut Report, kind: TrackKind, number: u32, ledger: &[LedgerRow]) {
    let (wall_s, ledger) = (1.0, ledger.to_vec());
    let name = |index| match kind {
        TrackKind::Thread => "loader".to_owned(),
        TrackKind::Device => format!("cuda:{index}"),
        TrackKind::Communication => "between ranks".to_owned(),
        TrackKind::Worker => format!("worker {index}"),
    };
    let track = |index| TrackSummary { kind, name: name(index), wall_s, ledger: ledger.clone() };
    report.tracks.extend((0..number).map(track));
    if kind == TrackKind::Worker {
        let worker = |index| WorkerSummary { index, wall_s, ledger: ledger.clone() };
        report.workers = Some((0..number).map(worker).collect());
    }
}

/// Every kind of sample, by what it shows.
pub(crate) fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("nothing", nothing()),
        ("finished", finished()),
        ("killed", killed()),
        ("failed", failed()),
        ("several fits", several()),
        ("many epochs", trained(200, 3125)),
        ("running", running()),
        ("by steps", by_steps()),
        ("two ranks", two_ranks()),
        ("two trainers", two_trainers()),
        ("workers", with_workers()),
        ("layers", with_layers(30)),
        ("odd", odd()),
    ]
}

fn run(status: Status) -> RunSummary {
    RunSummary {
        id: "20260301T101500Z-3f9a2c71".to_owned(),
        name: "mlp".to_owned(),
        command: Vec::new(),
        status,
        message: None,
        started: "2026-03-01T10:15:00.123Z".to_owned(),
        ranks: 1,
        frameworks: Vec::new(),
        device: None,
        threads: None,
        engine: None,
        peak_flops_per_s: None,
        cpus: 2,
    }
}

fn known_run() -> RunSummary {
    RunSummary {
        device: Some("cpu".to_owned()),
        threads: Some(1),
        engine: Some("laptime cpu AVX-512".to_owned()),
        frameworks: vec!["laptime".to_owned()],
        ..run(Status::Finished)
    }
}

fn row(stage: &str, seconds: f64, share: f64, count: u64) -> LedgerRow {
    let mean = (count > 0).then(|| seconds / count as f64);
    LedgerRow {
        stage: stage.to_owned(),
        seconds,
        share,
        count,
        mean_s: mean,
        p50_s: mean,
        p95_s: mean.map(|mean| mean * 1.2),
    }
}

fn fit(index: u32, rows: u64, epochs: u64) -> FitSummary {
    let epoch_s = rows as f64 * 37.6e-6;
    FitSummary {
        index,
        label: "mlp".to_owned(),
        framework: Some("laptime".to_owned()),
        rows: Some(rows),
        batch: Some(32),
        parameters: Some(769),
        epochs,
        steps: rows / 32 * epochs,
        steps_per_epoch: Some(rows.div_ceil(32)),
        planned_epochs: Some(epochs),
        planned_steps: None,
        plan_source: None,
        framework_version: None,
        device: None,
        compiled_functions: Vec::new(),
        wall_s: epoch_s * epochs as f64,
        epoch_s: EpochTimes {
            mean: Some(epoch_s),
            first: Some(epoch_s * 1.08),
            steady: Some(epoch_s * 0.98),
        },
        stages: BTreeMap::new(),
        device_stages: None,
        warm_up_steps: Some(12),
        steady_steps: None,
        loss: Some(0.0123),
        metric: Some(MetricValue { name: "validation_loss".to_owned(), value: Some(0.0141) }),
        target: None,
        workers: None,
        precision: None,
        flops_per_sample: None,
        flops_per_s: None,
        share_of_peak: None,
        patience: None,
        updates: None,
        discarded_gradients: None,
        settings: BTreeMap::new(),
        choices: [("optimizer", "adam"), ("lr", "0.001")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
    }
}

fn epoch(fit: u32, index: u32, steps: u64) -> EpochSummary {
    let slower = if index == 0 { 1.08 } else { 0.98 };
    let mut stages: BTreeMap<String, f64> =
        STEP.iter().map(|(stage, each)| ((*stage).to_owned(), each * slower * steps as f64)).collect();
    stages.insert("unaccounted".to_owned(), 12e-6 * steps as f64);
    let wall_s = stages.values().sum();
    let loss = 0.41 / f64::from(index + 1).powi(3);
    EpochSummary {
        fit,
        index,
        kind: LapKind::Epoch,
        count: 1,
        complete: true,
        wall_s,
        first_step: u64::from(index) * steps,
        steps,
        samples: Some(steps * 32),
        samples_per_s: Some(steps as f64 * 32.0 / wall_s),
        tokens: None,
        tokens_per_s: None,
        stages,
        device_stages: None,
        ended_s: None,
        ended_unix_s: None,
        settled: true,
        time_left: None,
        evaluate_s: wall_s * 0.08,
        checkpoint_s: 0.0,
        loss: Some(loss),
        metrics: [("validation_loss".to_owned(), Some(loss * 1.15))].into(),
    }
}

/// Two epochs on a GPU that had this to do in each, seconds, and what was concluded.
pub(crate) fn on_gpu(epoch_rows: &[(&str, f64)], busy: Option<f64>, verdict: &str) -> Report {
    let mut report = trained(2, 20);
    let wall_s: f64 = epoch_rows.iter().map(|row| row.1).sum();
    let rows: BTreeMap<String, f64> =
        epoch_rows.iter().map(|(row, seconds)| ((*row).to_owned(), *seconds)).collect();
    for epoch in &mut report.epochs {
        let slower = wall_s / epoch.wall_s;
        epoch.stages.values_mut().for_each(|seconds| *seconds *= slower);
        (epoch.wall_s, epoch.evaluate_s) = (wall_s, 0.0);
        epoch.device_stages = Some(rows.clone());
        epoch.samples_per_s = Some(20.0 * 205.0 / wall_s);
        epoch.metrics.clear();
    }
    settle(&mut report);
    (report.run.name, report.run.engine) = ("train.py".to_owned(), None);
    report.run.device = Some("cuda:0".to_owned());
    report.fits[0].metric = None;
    let idle = report.wall_s - 2.0 * wall_s;
    let mut ledger: Vec<LedgerRow> =
        epoch_rows.iter().map(|(row, s)| self::row(row, 2.0 * s, 2.0 * s / report.wall_s, 0)).collect();
    match ledger.iter_mut().find(|row| row.stage == "idle_host") {
        Some(row) => (row.seconds, row.share) = (row.seconds + idle, (row.seconds + idle) / report.wall_s),
        None => ledger.push(row("idle_host", idle, idle / report.wall_s, 0)),
    }
    let device = ledger.iter().map(|row| DeviceRow {
        device: "cuda:0".to_owned(),
        row: row.stage.clone(),
        seconds: row.seconds,
        share: row.share,
    });
    report.device_ledger = Some(device.collect());
    let (kind, name) = (TrackKind::Device, "cuda:0".to_owned());
    report.tracks = vec![TrackSummary { kind, name, wall_s: report.wall_s, ledger }];
    report.devices = Some(vec![DeviceSummary {
        device: "cuda:0".to_owned(),
        name: Some("NVIDIA H200".to_owned()),
        memory_bytes: Some(139 << 30),
        busy_share: busy,
        steps_ahead: Some(4),
        copy_s: 0.010,
        exposed_copy_s: 0.002,
        clock_mhz: Some(1_755.0),
        highest_clock_mhz: Some(1_980.0),
        power_w: Some(612.4),
        power_limit_w: Some(700.0),
        peak_celsius: Some(66.0),
        ..DeviceSummary::default()
    }]);
    report.memory.peak_device_bytes = Some(31 << 30);
    report.transfer.host_to_device_bytes = Some(3 << 30);
    report.transfer.pageable_bytes = Some(1 << 30);
    report.findings = vec![Finding { verdict: true, ..Finding::new("gpu_bound", verdict) }];
    report
}

/// Adds imports before everything else.
fn import(report: &mut Report) {
    let import = |name: &str, seconds: f64| ImportTime { name: name.to_owned(), seconds };
    let imports = vec![import("torch", 0.161), import("numpy", 0.029), import("json", 0.001)];
    report.wall_s += 0.2;
    report.ledger.insert(0, row("imports", 0.2, 0.0, 12));
    for row in &mut report.ledger {
        row.share = row.seconds / report.wall_s;
    }
    report.start_up = Some(StartUp { seconds: 0.2412, imports_s: 0.2, imports, preparation_s: 0.0412 });
}

/// Makes ledger and wall time follow from the epochs.
fn settle(report: &mut Report) {
    let sum = |stage: &str| -> f64 { report.epochs.iter().filter_map(|epoch| epoch.stages.get(stage)).sum() };
    let steps: u64 = report.epochs.iter().map(|epoch| epoch.steps).sum();
    let mut ledger = vec![row("start_up", 0.0412, 0.0, 0)];
    ledger.extend(STEP.iter().map(|(stage, _)| row(stage, sum(stage), 0.0, steps)));
    ledger.push(row(
        "evaluate",
        report.epochs.iter().map(|e| e.evaluate_s).sum(),
        0.0,
        report.epochs.len() as u64,
    ));
    ledger.push(row("tear_down", 0.0008, 0.0, 0));
    ledger.insert(0, row("unaccounted", sum("unaccounted"), 0.0, 0));
    report.wall_s = ledger.iter().map(|row| row.seconds).sum();
    for row in &mut ledger {
        row.share = row.seconds / report.wall_s;
    }
    report.ledger = ledger;
}

fn facts(report: &mut Report) {
    report.memory.peak_rss_bytes = Some(117_440_512);
    report.transfer.batch_bytes = 4_400_000 * report.epochs.len() as u64;
    report.transfer.batch_bytes_per_epoch = Some(4_400_000);
    report.transfer.storage_read_bytes = Some(0);
    (report.machine.cpu_s, report.machine.busy_cpus) = (Some(report.wall_s * 1.02), Some(1.02));
    report.overhead = Overhead {
        seconds: 1.4e-3,
        share: 1.4e-3 / report.wall_s,
        spans: 56_262,
        span_cost_ns: Some(19.2),
        spans_s: Some(1.08e-3),
        flusher_cpu_s: Some(3.2e-4),
    };
    report.findings = vec![
        Finding {
            verdict: true,
            ..Finding::new("compute_bound", "the model is the limit: backward takes 43 % of the time")
        },
        Finding::new("settled", "the first epoch was 10 % slower than the steady ones"),
    ];
}
