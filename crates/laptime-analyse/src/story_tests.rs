//! Whole runs with a planted truth, written by a script and found again in the report.

use std::collections::BTreeMap;

use laptime_core::{
    Anchor, Event, FitFacts, LaneState, Metric, OpenStage, Record, RunMeta, StageId, StageTotal, Status,
    Ticks, Track,
};

use crate::script::Script;
use crate::{EpochSummary, Report};

const MS: u64 = 1_000_000;
const COMPUTING: [(StageId, u64); 4] = [
    (StageId::DATA_WAIT, 2 * MS),
    (StageId::FORWARD, 28 * MS),
    (StageId::BACKWARD, 52 * MS),
    (StageId::OPTIMIZER, 18 * MS),
];
const WAITING: [(StageId, u64); 3] =
    [(StageId::DATA_WAIT, 60 * MS), (StageId::FORWARD, 15 * MS), (StageId::BACKWARD, 25 * MS)];

fn train(script: &mut Script, facts: FitFacts, epochs: u64, steps: u64, step: &[(StageId, u64)]) {
    script.pass(5 * MS).fit(facts);
    for _ in 0..epochs {
        script.epoch();
        (0..steps).for_each(|_| {
            script.step(step, 32);
        });
        script.end_epoch().stage(StageId::EVALUATE, 10 * MS);
    }
    script.end_fit().pass(3 * MS);
}

fn trained(step: &[(StageId, u64)]) -> Report {
    let mut script = Script::new();
    train(&mut script, FitFacts::default(), 3, 20, step);
    script.close().report()
}

fn row(report: &Report, stage: &str) -> f64 {
    report.ledger.iter().find(|row| row.stage == stage).map_or(0.0, |row| row.seconds)
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{found}, not {expected}");
}

#[test]
fn a_run_that_waits_for_data_is_reported_with_what_it_could_gain() {
    let report = trained(&WAITING);
    assert_eq!(report.findings[0].id, "data_bound");
    let text = &report.findings[0].text;
    assert!(text.contains("60 % of each step waits for data"), "{text}");
    assert!(text.contains("2.5× faster"), "{text}");
}

#[test]
fn what_ready_batches_would_gain_has_an_interval_that_holds_the_truth() {
    let mut script = Script::new();
    script.fit(FitFacts::default()).epoch();
    for step in 0..200_u64 {
        // Waits of 40 to 80 ms, 60 ms in the mean, in an order without a pattern of 20.
        let wait = 40 + (step * 7919 % 41);
        script.step(&[(StageId::DATA_WAIT, wait * MS), (StageId::FORWARD, 40 * MS)], 8);
    }
    let report = script.end_epoch().end_fit().close().report();
    let text = &report.findings[0].text;
    let (_, interval) = text.split_once("(95 %: ").unwrap();
    let ends: Vec<f64> = interval.trim_end_matches("×)").split('–').map(|end| end.parse().unwrap()).collect();
    assert!(ends[0] < 2.5 && 2.5 < ends[1] && ends[1] - ends[0] < 0.3, "{text}");
}

#[test]
fn gradients_that_are_thrown_away_are_found_with_what_to_change() {
    let with = |settings: &[(&str, &str)]| {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut script = Script::new();
        train(
            &mut script,
            FitFacts { settings: settings.collect(), ..FitFacts::default() },
            3,
            20,
            &COMPUTING,
        );
        script.close().report().findings
    };
    let found = with(&[("discarded_gradients", "87"), ("updates", "30")]);
    assert_eq!((found[0].id, found[1].id), ("compute_bound", "discarded_gradients"));
    let text = &found[1].text;
    for part in ["87 backward passes", "30 updates", "because zero_grad()", "only after optimizer.step()"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(with(&[("lr", "0.1")]).iter().all(|finding| finding.id != "discarded_gradients"));
}

#[test]
fn a_compiled_function_is_computing_and_the_report_says_why_it_is_one_stage() {
    let compiled_functions = vec!["train_function".to_owned()];
    let mut script = Script::new();
    let function = StageId(laptime_core::FIRST_USER_STAGE);
    script.records.push(Record::Stage { stage: function, name: "train_function".into() });
    let stages = [(StageId::DATA_WAIT, 2 * MS), (function, 98 * MS)];
    train(&mut script, FitFacts { compiled_functions, ..FitFacts::default() }, 3, 20, &stages);
    let found = script.close().report().findings;
    let expected = "computing is the limit: train_function takes 98 % of each step; waiting for data 2.0 %";
    assert_eq!(found[0].text, expected);
    assert_eq!(found[1].id, "compiled");
    assert!(found[1].text.starts_with("train_function is a compiled function"), "{}", found[1].text);
}

#[test]
fn a_run_that_computes_has_its_two_largest_stages_named() {
    let report = trained(&COMPUTING);
    let expected =
        "computing is the limit: backward takes 52 % of each step, forward 28 %; waiting for data 2.0 %";
    assert_eq!(report.findings[0].text, expected);
}

#[test]
fn too_few_steps_give_no_verdict() {
    let mut script = Script::new();
    train(&mut script, FitFacts::default(), 1, 2, &COMPUTING);
    assert_eq!(script.close().report().findings[0].id, "cannot_tell");
    assert_eq!(Script::new().close().report().findings[0].id, "cannot_tell");
}

#[test]
fn epochs_fits_and_steps_hold_what_was_planted() {
    let report = trained(&COMPUTING);
    near(report.wall_s, 0.005 + 3.0 * 2.01 + 0.003);
    near(row(&report, "evaluate"), 0.03);
    near(row(&report, "start_up"), 0.005);
    near(row(&report, "tear_down"), 0.003);
    assert_eq!(report.epochs.len(), 3);
    near(report.epochs[1].wall_s, 2.0);
    near(report.epochs[1].evaluate_s, 0.01);
    assert_eq!((report.epochs[1].steps, report.epochs[1].samples), (20, Some(640)));
    near(report.epochs[1].loss.unwrap(), 0.5);
    near(report.fits[0].epoch_s.steady.unwrap(), 2.0);
    assert_eq!(report.fits[0].warm_up_steps, Some(0));
    let steps = report.steps.unwrap();
    assert_eq!(steps.count, 60);
    near(steps.mean_s, 0.1);
    near(steps.samples_per_s.unwrap(), 320.0);
    assert!((steps.p95_s / 0.1 - 1.0).abs() < 0.01);
    assert!(report.time_left.is_none());
}

#[test]
fn a_loss_that_is_not_a_number_is_a_finding_and_never_a_field() {
    let mut script = Script::new();
    script.fit(FitFacts::default()).epoch().step(&COMPUTING, 1).end_epoch();
    script.measure(Metric::Loss, f64::NAN).measure(Metric::ValidationAccuracy, 0.75).end_fit().close();
    let report = script.report();
    assert_eq!(report.epochs[0].loss, None);
    assert_eq!(report.epochs[0].metrics["loss"], None);
    assert!(report.findings.iter().any(|finding| finding.id == "loss_not_a_number"));
    assert_eq!(report.fits[0].metric.as_ref().unwrap().value, Some(0.75));
}

#[test]
fn an_epoch_cut_by_a_kill_is_reported_up_to_the_last_instant_with_its_open_stages() {
    let mut script = Script::new();
    script.fit(FitFacts::default()).epoch().step(&COMPUTING, 1).begin(StageId::BACKWARD).pass(30 * MS);
    let report = script.cut(Status::Killed).report();
    let epoch = &report.epochs[0];
    assert!(!epoch.complete);
    near(epoch.wall_s, 0.13);
    near(epoch.stages["backward"], 0.082);
    let [open] = &report.open_stages[..] else { panic!("{:?}", report.open_stages) };
    let [death] = &report.deaths[..] else { panic!("{:?}", report.deaths) };
    assert_eq!((death.fit, death.epoch), (Some(0), Some(report.epochs.len() as u32 - 1)));
    assert_eq!(death.step, Some(report.epochs.last().unwrap().steps));
    assert_eq!((open.thread.as_str(), open.stage.as_str()), ("main", "backward"));
    near(open.open_s, 0.03);
}

#[test]
fn a_span_counted_twice_by_a_kill_in_mid_update_is_taken_off_again() {
    let mut script = Script::new();
    script.fit(FitFacts::default()).epoch().begin(StageId::FORWARD).pass(40 * MS).cut(Status::Killed);
    for record in &mut script.records {
        if let Record::State(state) = record {
            state.totals.push(StageTotal { stage: StageId::FORWARD, own: Ticks(40 * MS), count: 1 });
        }
    }
    let report = script.report();
    near(row(&report, "forward"), 0.04);
    near(report.ledger.iter().map(|row| row.seconds).sum(), report.wall_s);
    near(report.epochs[0].stages["forward"], 0.04);
}

#[test]
fn another_thread_has_a_ledger_of_its_own_that_closes_with_idle() {
    let mut script = Script::new();
    script.pass(100 * MS);
    let background = OpenStage { stage: StageId::UNACCOUNTED, start: Ticks(MS), children: Ticks(30 * MS) };
    let totals = vec![StageTotal { stage: StageId(40), own: Ticks(30 * MS), count: 3 }];
    script.records.push(Record::Track { lane: 1, track: Track::thread("loader"), started: Ticks(MS) });
    let state = LaneState { lane: 1, at: Ticks(81 * MS), open: vec![background], totals, dropped: 7 };
    script.records.push(Record::State(state));
    script.fit(FitFacts::default()).epoch().step(&COMPUTING, 1).close();
    let report = script.report();
    let thread = &report.tracks[0];
    near(thread.wall_s, 0.08);
    assert_eq!((thread.name.as_str(), thread.ledger[1].stage.as_str()), ("loader", "idle"));
    near(thread.ledger[1].seconds, 0.05);
    assert!(report.warnings.contains(&crate::Warning::SpansDropped { count: 7 }));
}

#[test]
fn time_left_counts_the_steps_and_evaluations_of_the_plan() {
    let mut script = Script::new();
    let facts = FitFacts { epochs: Some(5), steps_per_epoch: Some(20), ..FitFacts::default() };
    script.fit(facts);
    for epoch in 0..2 {
        script.epoch();
        for step in 0..20 {
            script.step(&[(StageId::FORWARD, (100 + (step * 7 + epoch) % 5) * MS)], 1);
        }
        script.end_epoch().stage(StageId::EVALUATE, 500 * MS);
    }
    script.epoch();
    let left = script.cut(Status::Running).report().time_left.unwrap();
    // 60 steps of 102 ms and three evaluations.
    assert!((left.mean - 7.62).abs() < 0.05, "{left:?}");
    assert!(left.low < 7.62 && 7.62 < left.high && left.level == 0.9, "{left:?}");
}

#[test]
fn time_left_after_the_last_step_is_the_last_evaluation() {
    let mut script = Script::new();
    script.fit(FitFacts { epochs: Some(3), steps_per_epoch: Some(20), ..FitFacts::default() });
    for epoch in 0..3 {
        script.epoch();
        (0..20).for_each(|_| {
            script.step(&COMPUTING, 1);
        });
        script.end_epoch().begin(StageId::EVALUATE).pass(if epoch < 2 { 500 * MS } else { 200 * MS });
        if epoch < 2 {
            script.end();
        }
    }
    let left = script.cut(Status::Running).report().time_left.unwrap();
    near(left.mean, 0.3);
}

#[test]
fn an_epoch_keeps_what_was_predicted_at_its_end_and_settles_when_the_next_begins() {
    let mut script = Script::new();
    script.records.push(Record::Anchor(Anchor {
        ticks: Ticks(script.now),
        monotonic_ns: script.now,
        real_ns: 1_000 * 1_000 * MS,
        boot_ns: 0,
    }));
    script.fit(FitFacts { epochs: Some(3), steps_per_epoch: Some(20), ..FitFacts::default() });
    for _ in 0..2 {
        script.epoch();
        (0..20).for_each(|_| {
            script.step(&[(StageId::FORWARD, 100 * MS)], 1);
        });
        script.end_epoch().stage(StageId::EVALUATE, 500 * MS);
    }
    let running = script.cut(Status::Running).report();
    assert_eq!(running.epochs.iter().map(|epoch| epoch.settled).collect::<Vec<_>>(), [true, false]);
    let report = script.close().report();
    assert!(report.epochs.iter().all(|epoch| epoch.settled) && report.time_left.is_none());
    let predicted: Vec<f64> = report.epochs.iter().map(|epoch| epoch.time_left.unwrap().mean).collect();
    // Before its first evaluation nothing is known of those; after it, two of them are still to come.
    near(predicted[0], 4.0);
    near(predicted[1], 2.0 + 2.0 * 0.5);
    let ends: Vec<f64> = report.epochs.iter().map(|epoch| epoch.ended_unix_s.unwrap()).collect();
    assert!((ends[0] - 1_002.0).abs() < 1e-5 && (ends[1] - 1_004.5).abs() < 1e-5, "{ends:?}");
}

#[test]
fn an_epoch_of_a_fit_whose_facts_are_still_to_be_read_is_not_settled() {
    let mut script = Script::new();
    train(&mut script, FitFacts::default(), 2, 3, &COMPUTING);
    script.records.retain(|record| !matches!(record, Record::Fit { .. }));
    let settled = |report: &Report| report.epochs.iter().map(|epoch| epoch.settled).collect::<Vec<_>>();
    assert_eq!(settled(&script.report()), [false, false]);
    script.records.push(Record::Fit { fit: 0, facts: Box::default() });
    assert_eq!(settled(&script.report()), [true, true]);
}

#[test]
fn of_very_many_epochs_a_share_has_a_prediction() {
    let mut script = Script::new();
    script.fit(FitFacts { epochs: Some(2_000), steps_per_epoch: Some(1), ..FitFacts::default() });
    for _ in 0..2_000 {
        script.epoch().step(&COMPUTING, 1).end_epoch();
    }
    let epochs = script.close().report().epochs;
    let predicted = |epochs: &[EpochSummary]| epochs.iter().filter(|epoch| epoch.time_left.is_some()).count();
    // Three blocks of steps are needed first.
    assert_eq!(predicted(&epochs[..256]), 254);
    assert!((500..900).contains(&predicted(&epochs)), "{}", predicted(&epochs));
}

#[test]
fn fits_that_differ_in_rows_give_the_planted_line() {
    let mut script = Script::new();
    for rows in [1_000, 2_000, 4_000] {
        script.fit(FitFacts { rows: Some(rows), batch: Some(100), ..FitFacts::default() });
        for epoch in 0..4 {
            script.epoch().pass(50 * MS + epoch * MS / 10);
            (0..rows / 100).for_each(|_| {
                script.step(&[(StageId::FORWARD, 2 * MS)], 100);
            });
            script.end_epoch();
        }
        script.end_fit();
    }
    let law = script.close().report().law.unwrap();
    assert_eq!((law.x.as_str(), law.y.as_str()), ("rows", "epoch_s"));
    assert!(law.slope.low < 2e-5 && 2e-5 < law.slope.high, "{law:?}");
    assert!(law.intercept.low < 0.0502 && 0.0502 < law.intercept.high, "{law:?}");
    assert!(law.r2 > 0.999 && law.slope.high > law.slope.low);
}

#[test]
fn fits_that_differ_in_two_values_or_vary_in_none_give_no_law() {
    let fit = |batch: u64, lr: &str| FitFacts {
        batch: Some(batch),
        settings: BTreeMap::from([("lr".to_owned(), lr.to_owned())]),
        ..FitFacts::default()
    };
    let law = |fits: [FitFacts; 2], epochs| {
        let mut script = Script::new();
        fits.into_iter().for_each(|facts| train(&mut script, facts, epochs, 5, &COMPUTING));
        script.close().report().law
    };
    assert!(law([fit(8, "0.1"), fit(16, "0.2")], 3).is_none());
    assert!(law([fit(8, "0.1"), fit(8, "0.1")], 3).is_none());
    assert!(law([fit(8, "0.1"), fit(16, "0.1")], 1).is_none(), "two points of one epoch have no interval");
    let line = law([fit(8, "0.1"), fit(16, "0.1")], 3).unwrap();
    assert_eq!((line.x.as_str(), line.y.as_str()), ("batch", "step_s"));
    assert!(line.slope.high > line.slope.low);
}

#[test]
fn a_width_changes_parameters_and_operations_and_still_gives_a_law() {
    let fit = |width: u64| FitFacts {
        parameters: Some(12 * width + 1),
        settings: [("width", width), ("flops_per_sample", 66 * width)]
            .map(|(name, value)| (name.to_owned(), value.to_string()))
            .into(),
        ..FitFacts::default()
    };
    let mut script = Script::new();
    [8, 16].into_iter().for_each(|width| train(&mut script, fit(width), 3, 5, &COMPUTING));
    assert_eq!(script.close().report().law.unwrap().x, "parameters");
}

#[test]
fn a_ledger_of_a_later_lane_begins_with_start_up() {
    let mut script = Script::new();
    script.records.retain(|record| !matches!(record, Record::Track { .. }));
    let started = Ticks(1_000 + 10 * MS);
    script.records.push(Record::Track { lane: 3, track: Track::thread("trainer"), started });
    let step = Event::Step { start: started, end: Ticks(started.0 + MS), samples: 1, loss: None };
    let begin = Event::FitBegin { fit: 0, at: started };
    script.records.extend([begin, step].map(|event| Record::Event { lane: 3, event }));
    let open = vec![OpenStage { stage: StageId::BETWEEN_EPOCHS, start: started, children: Ticks(0) }];
    let at = Ticks(started.0 + 5 * MS);
    script.records.push(Record::State(LaneState { lane: 3, at, open, ..LaneState::default() }));
    let report = script.report();
    near(row(&report, "start_up"), 0.01);
    near(row(&report, "between_epochs"), 0.005);
    near(row(&report, "unaccounted"), 0.0);
}

#[test]
fn start_up_tells_imports_from_preparation_and_names_the_slowest() {
    let mut script = Script::new();
    script.pass(100 * MS).stage(StageId::IMPORTS, 900 * MS).pass(200 * MS);
    for (name, ms) in [("numpy", 100), ("torch", 700), ("pandas", 60), ("torch", 40)] {
        script.records.push(Record::Import { name: name.into(), length: Ticks(ms * MS) });
    }
    train(&mut script, FitFacts::default(), 1, 20, &COMPUTING);
    let report = script.close().report();
    let start_up = report.start_up.as_ref().unwrap();
    near(start_up.seconds, 1.205);
    near(start_up.imports_s, 0.9);
    near(start_up.preparation_s, 0.305);
    let named: Vec<&str> = start_up.imports.iter().map(|import| import.name.as_str()).collect();
    assert_eq!(named, ["torch", "numpy", "pandas"]);
    near(start_up.imports[0].seconds, 0.74);
    near(row(&report, "imports"), 0.9);
    near(row(&report, "start_up"), 0.305);
    assert_eq!(Script::new().close().report().start_up, None);
}

#[test]
fn frameworks_and_device_are_those_of_the_fits() {
    let fit = |framework: &str, version: Option<&str>, device: &str| FitFacts {
        framework: Some(framework.into()),
        framework_version: version.map(str::to_owned),
        device: Some(device.into()),
        ..FitFacts::default()
    };
    let mut script = Script::new();
    for facts in
        [fit("torch", Some("2.15.0"), "cpu"), fit("torch", Some("2.15.0"), "cpu"), fit("keras", None, "cpu")]
    {
        train(&mut script, facts, 1, 2, &COMPUTING);
    }
    let known = RunMeta { frameworks: vec!["torch".into(), "jax".into()], ..RunMeta::default() };
    let run = script.close().report_of(known).run;
    assert_eq!(run.frameworks, ["torch 2.15.0", "keras", "jax"]);
    assert_eq!(run.device.as_deref(), Some("cpu"));
    assert_eq!(
        script.report_of(RunMeta { device: Some("cuda".into()), ..RunMeta::default() }).run.device.as_deref(),
        Some("cuda")
    );
}

#[test]
fn steps_outside_the_epochs_of_a_fit_are_in_no_number() {
    let mut script = Script::new();
    script.fit(FitFacts::default()).step(&COMPUTING, 8).epoch().step(&COMPUTING, 8).end_epoch();
    let report = script.pass(MS).step(&COMPUTING, 8).end_fit().close().report();
    assert_eq!((report.steps.unwrap().count, report.fits[0].steps), (1, 1));
    assert_eq!(report.epochs.iter().map(|epoch| epoch.steps).sum::<u64>(), 1);
}

#[test]
fn fits_without_epochs_that_differ_in_batch_give_a_law_of_the_step() {
    let mut script = Script::new();
    for batch in [10, 20, 40_u64] {
        script.fit_of_steps(FitFacts { batch: Some(batch), ..FitFacts::default() });
        for step in 0..40 {
            script.step(&[(StageId::FORWARD, MS + batch * MS / 10 + step % 3 * MS / 100)], batch as u32);
            script.between_steps();
        }
        script.end_fit();
    }
    let law = script.close().report().law.unwrap();
    assert_eq!((law.x.as_str(), law.y.as_str()), ("batch", "step_s"));
    assert!(law.slope.low < 1e-4 && 1e-4 < law.slope.high, "{law:?}");
}
