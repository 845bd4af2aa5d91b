//! What a report says of trainings on a device whose times are known late.

use std::collections::BTreeMap;

use laptime_core::{Counter, Event, FitFacts, Gauge, Record, Sample, StageId, Status, Ticks, Trouble};

use crate::script::{DEVICE_LANE, Script};
use crate::{EpochSummary, Report};

const MS: u64 = 1_000_000;
const FORWARD: StageId = StageId::FORWARD;
const BACKWARD: StageId = StageId::BACKWARD;
const OPTIMIZER: StageId = StageId::OPTIMIZER;
const DATA_WAIT: StageId = StageId::DATA_WAIT;

/// Every ledger of a report closes, the host's and the device's.
fn assert_closes(report: &Report) {
    let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.max(1e-3);
    let sum = |stages: &BTreeMap<String, f64>| stages.values().sum::<f64>();
    for lap in &report.epochs {
        assert!(near(sum(&lap.stages), lap.wall_s), "{lap:?}");
        let device = lap.device_stages.as_ref().unwrap();
        assert!(near(sum(device), lap.wall_s), "{lap:?}");
    }
    for fit in &report.fits {
        assert!(near(sum(&fit.stages), fit.wall_s), "{fit:?}");
        assert!(near(sum(fit.device_stages.as_ref().unwrap()), fit.wall_s), "{fit:?}");
    }
    let device: f64 = report.device_ledger.as_ref().unwrap().iter().map(|row| row.seconds).sum();
    assert!(near(device, report.wall_s), "{:?}", report.device_ledger);
    let host: f64 = report.ledger.iter().map(|row| row.seconds).sum();
    assert!(near(host, report.wall_s));
}

/// The rows of a device in milliseconds, to the microsecond.
fn rows(lap: &EpochSummary) -> Vec<(&str, f64)> {
    let rows = lap.device_stages.as_ref().unwrap().iter();
    rows.map(|(row, seconds)| (row.as_str(), (seconds * 1e6).round() / 1e3)).collect()
}

fn begun() -> Script {
    let mut script = Script::new();
    script.pass(MS).on_device();
    let facts =
        FitFacts { device: Some("cuda:0".into()), framework: Some("torch".into()), ..FitFacts::default() };
    script.boundary(StageId::BETWEEN_EPOCHS).fit(facts);
    script
}

/// A pass of steps; each stage with what it takes on the host and gives the device to do.
fn pass_of(
    script: &mut Script,
    steps: u64,
    stages: &[(StageId, u64, u64)],
    mut after: impl FnMut(&mut Script),
) {
    script.boundary(StageId::UNACCOUNTED).epoch();
    for _ in 0..steps {
        let start = Ticks(script.now);
        for (stage, host, work) in stages {
            script.launch(0, *stage, *host, *work);
        }
        after(script);
        script.end_step(start, 32, None).state();
    }
    script.boundary(StageId::BETWEEN_EPOCHS).end_epoch().state();
}

/// The queue of a device is full at 200 ms: the host is held back in the next launch.
fn hold_back(script: &mut Script) {
    hold_back_in(script, OPTIMIZER);
}

fn hold_back_in(script: &mut Script, stage: StageId) {
    let ahead = script.device_free(0) - script.now;
    script.launch(0, stage, ahead.saturating_sub(200 * MS), 0);
}

const GPU_BOUND: [(StageId, u64, u64); 4] =
    [(DATA_WAIT, MS / 10, 0), (FORWARD, 2 * MS, 14 * MS), (BACKWARD, 3 * MS, 30 * MS), (OPTIMIZER, MS, MS)];

fn gpu_bound(epochs: u32) -> Script {
    let mut script = begun();
    for epoch in 0..epochs {
        pass_of(&mut script, 20, &GPU_BOUND, |script| {
            script.late_loss(f64::from(epoch) + 0.5);
            hold_back(script);
        });
    }
    script.wait_for_device(StageId::BETWEEN_EPOCHS);
    script.boundary(StageId::TEAR_DOWN).end_fit();
    script.pass(MS);
    script
}

#[test]
fn an_epoch_ends_when_the_device_has_done_its_work() {
    let report = gpu_bound(3).close().report();
    assert_closes(&report);
    let walls: Vec<f64> = report.epochs.iter().map(|epoch| (epoch.wall_s * 1e6).round() / 1e3).collect();
    // The first one waits for its first batch; the others begin while the device still works.
    assert_eq!(walls, [900.1, 900.0, 900.0]);
    let work = vec![("backward", 600.0), ("forward", 280.0), ("optimizer", 20.0)];
    assert_eq!(rows(&report.epochs[1]), work);
    assert_eq!(rows(&report.epochs[0])[2], ("idle_data", 0.1));
    assert_eq!(report.steps.unwrap().count, 60);
    assert!((report.steps.unwrap().mean_s - 0.045).abs() < 1e-5);
    assert_eq!(report.epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>(), [0.5, 1.5, 2.5].map(Some));
    assert!(
        report
            .epochs
            .windows(2)
            .all(|two| two[0].ended_s.unwrap() <= two[1].ended_s.unwrap() - two[1].wall_s + 1e-9)
    );
}

#[test]
fn the_hosts_ledger_is_cut_where_the_devices_is() {
    let mut script = begun();
    pass_of(&mut script, 4, &[(FORWARD, MS, 50 * MS)], |_| ());
    // 196 ms of work are left: the host evaluates for 100 ms, saves for 10 ms and waits for the rest.
    script.stage(StageId::EVALUATE, 100 * MS).stage(StageId::CHECKPOINT, 10 * MS).pass(6 * MS);
    script.wait_for_device(StageId::BETWEEN_EPOCHS);
    script.pass(3 * MS).boundary(StageId::TEAR_DOWN).end_fit().pass(MS);
    let report = script.close().report();
    assert_closes(&report);
    let host: Vec<(&str, f64)> =
        report.epochs[0].stages.iter().map(|(stage, s)| (stage.as_str(), (s * 1e6).round() / 1e3)).collect();
    let expected = [
        ("between_epochs", 6.0),
        ("checkpoint", 10.0),
        ("device_wait", 80.0),
        ("evaluate", 100.0),
        ("forward", 4.0),
    ];
    assert_eq!(host, expected);
    assert_eq!(rows(&report.epochs[0]), [("forward", 200.0)]);
    assert!((report.epochs[0].wall_s - 0.2).abs() < 1e-9);
}

#[test]
fn what_is_open_when_the_device_is_done_has_its_time_until_then() {
    let mut script = begun();
    pass_of(&mut script, 4, &[(FORWARD, MS, 50 * MS)], |_| ());
    script.begin(StageId::EVALUATE);
    for _ in 0..30 {
        script.pass(MS).stage(FORWARD, 9 * MS).state();
    }
    script.end().boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    assert!((report.epochs[0].stages["evaluate"] - 0.196).abs() < 1e-9, "{:?}", report.epochs[0].stages);
    assert!((report.epochs[0].evaluate_s - 0.104).abs() < 1e-9);
}

#[test]
fn a_wait_in_each_step_leaves_the_device_idle_until_the_next_launch() {
    let mut script = begun();
    let stages = [
        (DATA_WAIT, 0, 0),
        (StageId::PREPARE, 2 * MS, 0),
        (FORWARD, 3 * MS, 14 * MS),
        (BACKWARD, 4 * MS, 30 * MS),
    ];
    pass_of(&mut script, 20, &stages, |script| {
        script.wait_for_device(StageId::AFTER_UPDATE);
        script.stage(StageId::AFTER_UPDATE, MS);
    });
    script.boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    // Before the first wait nobody had waited.
    let expected = [("backward", 600.0), ("forward", 280.0), ("idle_host", 2.0), ("idle_sync", 58.0)];
    assert_eq!(rows(&report.epochs[0]), expected);
}

fn launch_bound() -> Script {
    let mut script = begun();
    let stages =
        [(DATA_WAIT, MS, 0), (FORWARD, 5 * MS, MS), (BACKWARD, 9 * MS, 2 * MS), (OPTIMIZER, 5 * MS, MS)];
    for _ in 0..2 {
        pass_of(&mut script, 50, &stages, |_| ());
    }
    script.boundary(StageId::TEAR_DOWN).end_fit();
    script
}

/// Samples every second in which the device was busy for a share of the time.
fn counted(script: &mut Script, busy_percent: u64) {
    for second in 0..=(script.now / 1_000_000_000 + 1) {
        let at = Ticks(second * 1_000_000_000);
        let readings = vec![(Gauge::DeviceBusyNs, at.0 * busy_percent / 100), (Gauge::DeviceUsedNs, at.0)];
        script.records.push(Record::Sample(Sample { at, readings }));
    }
}

#[test]
fn launches_that_the_device_keeps_up_with_are_split_by_its_counters() {
    let mut script = launch_bound();
    counted(&mut script, 19);
    let report = script.close().report();
    assert_closes(&report);
    let rows: BTreeMap<_, _> = rows(&report.epochs[1]).into_iter().collect();
    // 19 of 20 ms of a step are launches, and a fifth of them work.
    for (row, expected) in [("forward", 50.0), ("backward", 90.0), ("optimizer", 50.0), ("idle_host", 760.0)]
    {
        assert!((rows[row] - expected).abs() < 1.0, "{row}: {rows:?}");
    }
    assert_eq!(rows["idle_data"], 50.0);
}

#[test]
fn without_counters_what_the_device_keeps_up_with_is_unexplained() {
    let report = launch_bound().close().report();
    assert_closes(&report);
    assert_eq!(rows(&report.epochs[1]), [("idle_data", 50.0), ("unexplained", 950.0)]);
}

#[test]
fn data_that_is_late_leaves_the_device_idle() {
    let mut script = begun();
    pass_of(&mut script, 20, &[(DATA_WAIT, 30 * MS, 0), (FORWARD, MS, 5 * MS)], |_| ());
    script.pass(10 * MS).boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    // The work of a step is done while the next batch is waited for; that of the last one ends the pass.
    assert_eq!(rows(&report.epochs[0]), [("forward", 100.0), ("idle_data", 524.0)]);
}

#[test]
fn a_copy_counts_where_the_device_does_nothing_else() {
    let mut script = begun();
    let stages = [(StageId::HOST_TO_DEVICE, 8 * MS, 8 * MS), (FORWARD, MS, 20 * MS)];
    pass_of(&mut script, 10, &stages, |script| {
        script.wait_for_device(StageId::AFTER_UPDATE);
    });
    script.boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    assert_eq!(rows(&report.epochs[0]), [("copy", 80.0), ("forward", 200.0)]);

    // The same copies on a stream of their own, under way while the step before is computed, but for the first.
    let mut script = begun();
    script.boundary(StageId::UNACCOUNTED).epoch();
    let copy = |script: &mut Script| {
        // What is said at its end is what the host did before.
        script.launch(1, StageId::HOST_TO_DEVICE, 0, 8 * MS).boundary_of(1, BACKWARD);
    };
    copy(&mut script);
    for _ in 0..10 {
        let start = Ticks(script.now);
        // The step waits for its copy.
        script.boundary(DATA_WAIT);
        let rest = script.device_free(1) - script.now;
        script.stage(DATA_WAIT, rest);
        script.launch(0, FORWARD, MS, 20 * MS);
        copy(&mut script);
        script.wait_for_device(StageId::AFTER_UPDATE);
        script.end_step(start, 32, None).state();
    }
    script.boundary(StageId::BETWEEN_EPOCHS).end_epoch().boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    assert_eq!(rows(&report.epochs[0]), [("copy", 8.0), ("forward", 200.0)]);
    let device = &report.devices.unwrap()[0];
    assert!((device.copy_s - 0.088).abs() < 1e-9, "{device:?}");
    assert!((device.exposed_copy_s - 0.008).abs() < 1e-9, "{device:?}");
}

#[test]
fn steps_that_were_not_looked_at_are_like_those_that_were() {
    let mut script = begun();
    script.boundary(StageId::UNACCOUNTED).epoch();
    for step in 0..100_u64 {
        let start = Ticks(script.now);
        if step % 10 == 0 {
            for (stage, host, work) in GPU_BOUND {
                script.launch(0, stage, host, work);
            }
        } else {
            script.launch(0, StageId::UNACCOUNTED, 6 * MS, 45 * MS);
        }
        hold_back(&mut script);
        script.end_step(start, 32, None).state();
    }
    script.boundary(StageId::BETWEEN_EPOCHS).end_epoch();
    script.wait_for_device(StageId::BETWEEN_EPOCHS).boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    let rows: BTreeMap<_, _> = rows(&report.epochs[0]).into_iter().collect();
    assert!((rows["backward"] - 3000.0).abs() < 5.0 && (rows["forward"] - 1400.0).abs() < 5.0, "{rows:?}");
    assert!((report.epochs[0].wall_s - 4.5).abs() < 1e-3);
    assert!(!rows.contains_key("unexplained"), "{rows:?}");
}

#[test]
fn an_evaluation_between_epochs_is_the_fits_and_no_epochs() {
    let mut script = begun();
    for _ in 0..2 {
        pass_of(&mut script, 20, &GPU_BOUND, hold_back);
        script.wait_for_device(StageId::BETWEEN_EPOCHS);
        script.launch(0, StageId::EVALUATE, 10 * MS, 100 * MS);
        script.wait_for_device(StageId::BETWEEN_EPOCHS);
    }
    script.boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    for epoch in &report.epochs {
        assert!((epoch.wall_s - 0.9).abs() < 2e-4, "{epoch:?}");
        assert!(!epoch.device_stages.as_ref().unwrap().contains_key("evaluate"));
        assert!((epoch.evaluate_s - 0.01).abs() < 1e-9);
    }
    let fit = &report.fits[0];
    assert!((fit.device_stages.as_ref().unwrap()["evaluate"] - 0.2).abs() < 1e-9, "{fit:?}");
    assert!((fit.stages["device_wait"] - 0.18 - 2.0 * 0.2).abs() < 2e-2, "{:?}", fit.stages);
    assert_eq!(verdict(&report).0, "gpu_bound");
}

#[test]
fn windows_of_steps_end_when_the_device_has_done_them() {
    let mut script = Script::new();
    script.pass(MS).on_device().boundary(StageId::PREPARE).fit_of_steps(FitFacts::default());
    for step in 0..60_u64 {
        let start = Ticks(script.now);
        for (stage, host, work) in GPU_BOUND {
            script.launch(0, stage, host, work);
        }
        hold_back(&mut script);
        script.end_step(start, 32, None).state();
        if step % 10 == 9 {
            script.boundary(StageId::PREPARE).between_steps();
        }
    }
    script.wait_for_device(StageId::AFTER_UPDATE).boundary(StageId::TEAR_DOWN).end_fit().pass(MS);
    let report = script.close().report();
    assert_closes(&report);
    assert!(report.epochs.len() > 1, "{:?}", report.epochs);
    let (steps, wall_s) =
        report.epochs.iter().fold((0, 0.0), |sum, lap| (sum.0 + lap.steps, sum.1 + lap.wall_s));
    assert_eq!(steps, 60);
    assert!((wall_s - 60.0 * 0.045).abs() < 1e-3, "{wall_s}");
}

#[test]
fn between_epochs_a_device_idles_even_where_its_steps_are_not_looked_at() {
    let mut script = begun();
    for _ in 0..2 {
        script.boundary(StageId::UNACCOUNTED).epoch();
        for _ in 0..20 {
            let start = Ticks(script.now);
            script.launch(0, StageId::UNACCOUNTED, MS, MS).end_step(start, 32, None).state();
        }
        script.boundary(StageId::UNACCOUNTED).end_epoch();
        script.pass(100 * MS).state();
    }
    script.boundary(StageId::UNACCOUNTED).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    let rows = report.fits[0].device_stages.as_ref().unwrap();
    assert!((rows["unexplained"] - 0.04).abs() < 1e-9 && (rows["idle_host"] - 0.2).abs() < 1e-9, "{rows:?}");
}

#[test]
fn a_loss_that_is_read_before_the_backward_pass_leaves_the_device_idle() {
    let mut script = begun();
    script.boundary(StageId::UNACCOUNTED).epoch();
    for _ in 0..20 {
        let start = Ticks(script.now);
        script.launch(0, FORWARD, MS, 10 * MS).launch(0, StageId::LOSS, MS / 10, MS / 10);
        script.wait_for_device(StageId::LOSS).stage(StageId::LOSS, MS);
        script.launch(0, BACKWARD, MS, 20 * MS).end_step(start, 32, None).state();
    }
    script.boundary(StageId::BETWEEN_EPOCHS).end_epoch();
    script.wait_for_device(StageId::BETWEEN_EPOCHS).boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    let expected = [("backward", 400.0), ("forward", 200.0), ("idle_sync", 20.0), ("loss", 2.0)];
    assert_eq!(rows(&report.epochs[0]), expected);
}

#[test]
fn a_killed_run_has_what_was_known_of_its_device() {
    let mut script = gpu_bound(1);
    script.boundary(StageId::BETWEEN_EPOCHS).fit(FitFacts::default());
    pass_of(&mut script, 10, &GPU_BOUND, |_| ());
    script.boundary(StageId::UNACCOUNTED).epoch();
    for (stage, host, work) in GPU_BOUND {
        script.launch(0, stage, host, work);
    }
    let report = script.cut(Status::Killed).report();
    assert_closes(&report);
    assert_eq!(report.epochs.len(), 3);
    assert!(!report.epochs[2].complete);
}

#[test]
fn a_device_that_says_no_more_leaves_the_hosts_times() {
    for is_known in [true, false] {
        let mut script = begun();
        pass_of(&mut script, 20, &GPU_BOUND, hold_back);
        script.break_device();
        if is_known {
            let trouble = Trouble::DeviceTimesOff { because: "CUDA error 700".into() };
            script.records.push(Record::Trouble(trouble));
        }
        pass_of(&mut script, 20, &GPU_BOUND, |_| ());
        script.end_fit().pass(MS);
        let report = script.close().report();
        assert_closes(&report);
        assert_eq!(report.steps.unwrap().count, 40);
        assert_eq!(report.epochs.len(), 2);
    }
}

#[test]
fn a_growing_log_never_shows_more_than_happened() {
    let mut script = gpu_bound(3);
    script.close();
    let whole = script.report();
    let records = std::mem::take(&mut script.records);
    let mut digest = crate::Digest::new(laptime_core::RunMeta::default());
    let mut epochs = 0;
    for (at, record) in records.iter().enumerate() {
        digest.take(record);
        if at % 7 != 0 || at < 40 {
            continue;
        }
        let report = digest.report();
        assert!(report.epochs.len() >= epochs && report.wall_s <= whole.wall_s + 1e-9);
        epochs = report.epochs.len();
        if report.device_ledger.is_some() && !report.epochs.is_empty() {
            assert_closes(&report);
        }
        for (now, then) in report.epochs.iter().zip(&whole.epochs) {
            assert!(now.wall_s <= then.wall_s + 0.25, "{now:?} {then:?}");
        }
    }
}

/// The same records, but every epoch's begin is on record only after some more events, as the hooks do that know only
/// then that it was one.
fn recorded_late(records: &[Record], by: usize) -> Vec<Record> {
    let (mut shown, mut late): (Vec<Record>, Vec<(usize, Vec<Record>)>) = (Vec::new(), Vec::new());
    for record in records {
        let is_host = matches!(record, Record::Event { lane: 0, .. });
        if matches!(record, Record::Event { lane: 0, event: Event::EpochBegin { .. } }) {
            let is_total =
                |record: &&Record| matches!(record, Record::Event { lane: 0, event: Event::Total(_) });
            let totals = shown.iter().rev().take_while(is_total).count();
            let mut mark = shown.split_off(shown.len() - totals);
            mark.push(record.clone());
            late.push((by, mark));
            continue;
        }
        shown.push(record.clone());
        if let Some((left, mark)) = late.last_mut().filter(|_| is_host) {
            *left -= 1;
            if *left == 0 {
                shown.append(mark);
                late.pop();
            }
        }
    }
    shown
}

#[test]
fn a_mark_that_is_recorded_late_is_one_of_the_moment_that_it_is_of() {
    let mut data = begun();
    for _ in 0..2 {
        pass_of(&mut data, 10, &[(DATA_WAIT, 30 * MS, 0), (FORWARD, MS, 5 * MS)], |_| ());
        data.wait_for_device(StageId::BETWEEN_EPOCHS);
    }
    data.boundary(StageId::TEAR_DOWN).end_fit().pass(MS);
    for mut script in [gpu_bound(3), launch_bound(), data] {
        script.close();
        let on_time = script.report();
        script.records = recorded_late(&script.records, 5);
        let late = script.report();
        assert_closes(&late);
        let near = |a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>| {
            a.len() == b.len() && a.iter().all(|(row, seconds)| (b[row] - seconds).abs() < 1e-9)
        };
        assert_eq!(on_time.epochs.len(), late.epochs.len());
        for (a, b) in on_time.epochs.iter().zip(&late.epochs) {
            assert!((a.wall_s - b.wall_s).abs() < 1e-9, "{a:?} {b:?}");
            assert!(
                near(a.device_stages.as_ref().unwrap(), b.device_stages.as_ref().unwrap()),
                "{a:?} {b:?}"
            );
            assert!(near(&a.stages, &b.stages), "{:?} {:?}", a.stages, b.stages);
        }
    }
}

#[test]
fn while_it_runs_a_step_counts_when_the_device_has_done_it() {
    let mut script = begun();
    script.boundary(StageId::UNACCOUNTED).epoch();
    for _ in 0..4 {
        let start = Ticks(script.now);
        script
            .launch(0, DATA_WAIT, MS / 10, 0)
            .launch(0, FORWARD, MS, 50 * MS)
            .end_step(start, 32, None)
            .state();
    }
    assert!(script.report().steps.is_none(), "all four are under way");
    script.boundary(DATA_WAIT).pass(110 * MS).state();
    let report = script.report();
    assert_eq!(report.steps.unwrap().count, 2);
    assert!((report.steps.unwrap().mean_s - 0.050_05).abs() < 1e-9);
    assert_closes(&report);
    // A device that says no more for long does not hold up the rest.
    script.pass(6_000 * MS).break_device().state();
    assert_eq!(script.report().steps.unwrap().count, 4);
}

#[test]
fn every_epoch_is_streamed_as_the_report_has_it() {
    let mut script = gpu_bound(3);
    script.close();
    let mut digest = crate::Digest::new(laptime_core::RunMeta::default());
    script.records.iter().for_each(|record| digest.take(record));
    let report = digest.report();
    let mut stream = digest.every_epoch(Vec::new()).unwrap();
    let mut walls = Vec::new();
    for record in &script.records {
        stream.take(record, &mut |epoch| walls.push(epoch.wall_s));
    }
    stream.finish(&mut |epoch| walls.push(epoch.wall_s));
    assert_eq!(walls, report.epochs.iter().map(|epoch| epoch.wall_s).collect::<Vec<_>>());
}

#[test]
fn a_process_without_a_device_does_not_wait() {
    let mut script = Script::new();
    script.fit(FitFacts::default()).epoch().step(&[(FORWARD, MS)], 1);
    let report = script.report();
    assert_eq!(report.steps.unwrap().count, 1);
    assert!(report.epochs[0].device_stages.is_none() && report.devices.is_none());
}

#[test]
fn boundaries_alone_are_no_reason_to_panic() {
    let mut script = begun();
    let event = Event::Boundary { stream: 3, stage: FORWARD, host: Ticks(u64::MAX), done: Ticks(1) };
    script.records.push(Record::Event { lane: DEVICE_LANE, event });
    pass_of(&mut script, 2, &GPU_BOUND, |_| ());
    script.report();
}

fn verdict(report: &Report) -> (&str, &str) {
    assert!(report.findings[0].verdict);
    (report.findings[0].id, &report.findings[0].text)
}

fn also<'a>(report: &'a Report, id: &str) -> &'a str {
    let found = report.findings.iter().find(|finding| finding.id == id);
    found.map(|finding| finding.text.as_str()).unwrap_or_else(|| panic!("no {id}: {:?}", report.findings))
}

#[test]
fn a_device_that_computes_all_the_time_is_the_limit() {
    let mut script = gpu_bound(3);
    for second in 0..4_u64 {
        let at = Ticks(second * 1_000_000_000);
        let readings = vec![
            (Gauge::DeviceBusyNs, at.0),
            (Gauge::DeviceUsedNs, at.0),
            (Gauge::DeviceTensorNs, 0),
            (Gauge::DeviceMemoryBytes, 31 << 30),
            (Gauge::DeviceClockMhz, 1_400),
            (Gauge::DeviceHighestClockMhz, 1_980),
            (Gauge::DeviceClockReasons, if second < 2 { 0x20 } else { 0x1 }),
        ];
        script.records.push(Record::Sample(Sample { at, readings }));
    }
    let report = script.close().report();
    let text = "the GPU is the limit: it computes 100 % of each step (backward 67 %, forward 31 %); the host is \
                4 steps ahead";
    assert_eq!(verdict(&report), ("gpu_bound", text));
    let tensor = "tensor cores are idle: matrices are fp32 (allow TF32 or autocast)";
    assert_eq!(also(&report, "tensor_cores_idle"), tensor);
    assert_eq!(also(&report, "device_memory"), "peak 31.0 GiB of 139 GiB of device memory");
    let clock = "heat lowered the GPU's clock in 50 % of the readings (mean 1,400 of 1,980 MHz)";
    assert_eq!(also(&report, "device_clock"), clock);
    let device = &report.devices.unwrap()[0];
    assert_eq!((device.steps_ahead, device.name.as_deref()), (Some(4), Some("NVIDIA H200")));
    assert!(device.busy_share.unwrap() > 0.999);
}

#[test]
fn what_is_compiled_in_the_first_epoch_limits_no_later_step() {
    let mut script = begun();
    pass_of(&mut script, 1, &[(FORWARD, 10_000 * MS, MS)], |_| ());
    for _ in 0..2 {
        pass_of(&mut script, 20, &GPU_BOUND, hold_back);
    }
    script.wait_for_device(StageId::BETWEEN_EPOCHS);
    script.boundary(StageId::TEAR_DOWN).end_fit();
    assert_eq!(verdict(&script.close().report()).0, "gpu_bound");
}

#[test]
fn a_stream_that_only_replays_a_captured_step_computes() {
    let mut script = Script::new();
    script.pass(MS).on_device().launch(0, StageId::HOST_TO_DEVICE, MS, MS).fit(FitFacts::default());
    // Warmed up and captured on a stream of its own.
    script.launch(1, FORWARD, 2 * MS, 14 * MS);
    script.launch(1, OPTIMIZER, MS, MS);
    let replayed = StageId(laptime_core::FIRST_USER_STAGE);
    for _ in 0..2 {
        pass_of(&mut script, 20, &[(DATA_WAIT, MS / 10, 0), (replayed, MS, 40 * MS)], |script| {
            hold_back_in(script, replayed);
        });
    }
    script.wait_for_device(StageId::BETWEEN_EPOCHS);
    script.boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    assert_closes(&report);
    assert_eq!(verdict(&report).0, "gpu_bound");
    assert!((report.epochs[1].wall_s - 0.8).abs() < 1e-3, "{}", report.epochs[1].wall_s);
}

#[test]
fn launches_that_are_late_make_the_host_the_limit() {
    let mut script = launch_bound();
    counted(&mut script, 19);
    let report = script.close().report();
    let text = "the host is the limit: the GPU idles 76 % of each step waiting for launches and computes 19 %; \
                torch.compile, CUDA graphs or larger batches";
    assert_eq!(verdict(&report), ("host_bound", text));
    let report = launch_bound().close().report();
    let text = "the host is the limit: for 95 % of each step the GPU keeps up with the host's launches, and no \
                counter says how much of that it idles; torch.compile, CUDA graphs or larger batches";
    assert_eq!(verdict(&report), ("host_bound", text));
    assert_eq!(report.devices.unwrap()[0].busy_share, None);
}

#[test]
fn batches_made_in_the_loop_make_the_host_the_limit() {
    let mut script = begun();
    pass_of(&mut script, 20, &[(StageId::PREPARE, 30 * MS, 0), (FORWARD, MS, 10 * MS)], |_| ());
    script.pass(20 * MS).boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    let text = "the host is the limit: the GPU idles 68 % of each step, 95 % of which the host prepares batches in; \
                prepare them ahead in DataLoader workers";
    assert_eq!(verdict(&report), ("host_bound", text));
}

#[test]
fn data_that_is_late_is_the_limit_and_so_is_a_wait_in_each_step() {
    let mut script = begun();
    pass_of(&mut script, 20, &[(DATA_WAIT, 30 * MS, 0), (FORWARD, MS, 5 * MS)], |_| ());
    script.pass(10 * MS).boundary(StageId::TEAR_DOWN).end_fit();
    let report = script.close().report();
    let text = "data loading is the limit: the GPU idles 84 % of each step waiting for data and computes 16 %; steps \
                could be 6.2× faster if batches were ready; prepare them ahead in DataLoader workers";
    assert_eq!(verdict(&report), ("data_bound", text));

    let synced = |after: u64| {
        let mut script = begun();
        pass_of(&mut script, 20, &[(FORWARD, MS, 20 * MS)], |script| {
            script.wait_for_device(StageId::AFTER_UPDATE);
            script.stage(StageId::AFTER_UPDATE, after);
        });
        script.boundary(StageId::TEAR_DOWN).end_fit();
        script.close().report()
    };
    let report = synced(20 * MS);
    let text = "waiting for the GPU is the limit: the host waits for the GPU once in each step, which then idles 50 % \
                of it; read the loss every 100 steps, not in each: up to 50 % back";
    assert_eq!(verdict(&report), ("sync_bound", text));
    let report = synced(MS);
    assert_eq!(verdict(&report).0, "gpu_bound");
    let text = "the host waits for the GPU once in each step, which then idles 4.8 % of it; read the loss every 100 \
                steps, not in each: up to 4.8 % back";
    assert_eq!(also(&report, "device_sync"), text);
}

#[test]
fn copies_from_pageable_memory_are_named_with_what_pinning_would_save() {
    let copied = |pageable: u64| {
        let mut script = begun();
        let stages = [(StageId::HOST_TO_DEVICE, 8 * MS, 8 * MS), (FORWARD, MS, 8 * MS)];
        pass_of(&mut script, 20, &stages, |script| {
            let at = Ticks(script.now);
            script.event(Event::Count { counter: Counter::HostToDeviceBytes, at, amount: 64 << 20 });
            script.event(Event::Count { counter: Counter::PageableBytes, at, amount: pageable });
        });
        script.wait_for_device(StageId::BETWEEN_EPOCHS).boundary(StageId::TEAR_DOWN).end_fit();
        script.close().report()
    };
    let report = copied(64 << 20);
    let text = "copying to the GPU is the limit: the GPU only copies for 50 % of each step at 7.8 GiB/s, 100 % of the \
                bytes from pageable memory; pin_memory=True and non_blocking=True would save up to 160 ms";
    assert_eq!(verdict(&report), ("copy_bound", text));
    assert_eq!(report.transfer.pageable_bytes, Some((20 * 64) << 20));
    let text = "copying to the GPU is the limit: the GPU only copies for 50 % of each step at 7.8 GiB/s; copying the \
                next batch on a stream of its own while this one is computed would save up to 160 ms";
    assert_eq!(verdict(&copied(0)), ("copy_bound", text));
}

#[test]
fn the_hosts_times_alone_say_nothing_of_what_a_device_computes() {
    let mut script = Script::new();
    script.fit(FitFacts { device: Some("cuda:0".into()), ..FitFacts::default() }).epoch();
    for _ in 0..20 {
        script.step(&[(FORWARD, 10 * MS), (BACKWARD, 20 * MS)], 1);
    }
    script.end_epoch().end_fit();
    let report = script.close().report();
    let text = "cannot tell what limits the training: times are the host's, and cuda:0 works on after them";
    assert_eq!(verdict(&report), ("cannot_tell", text));
    assert_eq!(report.warnings, [crate::Warning::HostTimes { device: "cuda:0".into() }]);
    assert!(report.devices.is_none() && report.epochs[0].device_stages.is_none());
}
