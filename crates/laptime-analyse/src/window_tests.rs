//! Trainings without epochs with a planted truth: their laps are windows of steps.

use laptime_core::{Anchor, Counter, Event, FitFacts, Metric, Record, RunMeta, StageId, Status, Ticks};

use crate::script::Script;
use crate::sweep::Measured;
use crate::{Digest, EpochSummary, LapKind, Report};

const MS: u64 = 1_000_000;
const STEP: [(StageId, u64); 4] = [
    (StageId::PREPARE, 4 * MS),
    (StageId::FORWARD, 2 * MS),
    (StageId::BACKWARD, 3 * MS),
    (StageId::OPTIMIZER, MS),
];

/// Steps with a cut after each multiple of `every`.
fn steps(script: &mut Script, count: u64, every: u64) {
    for step in 1..=count {
        script.step(&STEP, 8);
        if step.is_multiple_of(every) {
            script.between_steps();
        }
    }
}

/// An evaluation between two cuts.
fn evaluate(script: &mut Script) {
    script.between_steps().stage(StageId::EVALUATE, 30 * MS).between_steps();
}

fn with_lap(script: &Script, lap: u64) -> Report {
    let mut digest = Digest::new(RunMeta::default()).with_lap(Some(lap));
    script.records.iter().for_each(|record| digest.take(record));
    digest.report()
}

fn trained(count: u64, every: u64) -> Script {
    let mut script = Script::new();
    script.pass(5 * MS).fit_of_steps(FitFacts::default());
    steps(&mut script, count, every);
    script.end_fit().pass(MS).close();
    script
}

fn lengths(report: &Report) -> Vec<u64> {
    report.epochs.iter().map(|lap| lap.steps).collect()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{found}, not {expected}");
}

#[test]
fn a_training_without_epochs_has_16_to_32_laps_of_a_power_of_two_of_steps() {
    let report = trained(200, 1).report();
    assert_eq!(lengths(&report), [8; 25]);
    let lap = &report.epochs[3];
    assert_eq!((lap.kind, lap.count, lap.index, lap.first_step), (LapKind::Window, 1, 3, 24));
    assert_eq!((lap.samples, lap.complete, lap.loss), (Some(64), true, Some(0.5)));
    near(lap.wall_s, 0.08);
    near(lap.stages["prepare"], 0.032);
    near(lap.samples_per_s.unwrap(), 800.0);
    near(lap.ended_s.unwrap(), 0.32);
    let [fit] = &report.fits[..] else { panic!("{:?}", report.fits) };
    assert_eq!((fit.epochs, fit.steps, fit.epoch_s.mean, fit.loss), (0, 200, None, Some(0.5)));
    near(fit.steady_steps.unwrap().mean_s, 0.01);
    assert_eq!(report.steps.unwrap().count, 200);
    assert_eq!(report.findings[0].id, "prepare_bound");
}

#[test]
fn few_steps_have_laps_of_single_steps_and_none_without_steps() {
    assert_eq!(lengths(&trained(7, 1).report()), [1; 7]);
    assert_eq!(lengths(&trained(40, 1).report()), [2; 20]);
    assert!(trained(0, 1).report().epochs.is_empty());
    // Where there is no cut there is one lap.
    assert_eq!(lengths(&trained(40, 100).report()), [40]);
}

#[test]
fn laps_of_a_number_of_steps_end_at_the_nearest_cuts() {
    assert_eq!(lengths(&with_lap(&trained(350, 1), 100)), [100, 100, 100, 50]);
    assert_eq!(lengths(&with_lap(&trained(350, 16), 100)), [96, 96, 112, 46]);
    assert_eq!(lengths(&with_lap(&trained(10, 1), 1_000_000)), [10]);
    assert_eq!(lengths(&with_lap(&trained(3, 1), u64::MAX)), [3]);
}

#[test]
fn evaluations_that_come_regularly_part_the_laps_and_are_in_none() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    for _ in 0..4 {
        steps(&mut script, 50, 4);
        evaluate(&mut script);
        script.measure(Metric::ValidationLoss, 0.25);
    }
    steps(&mut script, 10, 4);
    let report = script.end_fit().close().report();
    assert_eq!(lengths(&report), [50, 50, 50, 50, 10]);
    for lap in &report.epochs[..4] {
        near(lap.wall_s, 0.5);
        near(lap.evaluate_s, 0.03);
        assert!(!lap.stages.contains_key("evaluate") && lap.complete);
        assert_eq!(lap.metrics["validation_loss"], Some(0.25));
    }
    assert_eq!((report.epochs[4].evaluate_s, report.epochs[4].metrics.len()), (0.0, 0));
    assert_eq!(report.fits[0].metric.as_ref().unwrap().value, Some(0.25));
    near(report.steps.unwrap().mean_s, 0.01);
}

#[test]
fn checkpoints_part_the_laps_where_evaluations_do_not() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    for number in 0..3 {
        steps(&mut script, 40, 8);
        script.between_steps();
        if number == 1 {
            script.stage(StageId::EVALUATE, 5 * MS);
        }
        script.stage(StageId::CHECKPOINT, 20 * MS).between_steps();
    }
    let report = script.end_fit().close().report();
    assert_eq!(lengths(&report), [40, 40, 40]);
    near(report.epochs.iter().map(|lap| lap.wall_s).sum(), 1.2);
}

#[test]
fn evaluations_at_odd_times_part_nothing_and_are_still_in_no_lap() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    for count in [3, 90, 7, 28] {
        steps(&mut script, count, 1);
        evaluate(&mut script);
    }
    let report = script.end_fit().close().report();
    assert_eq!(lengths(&report), [8; 16]);
    near(report.epochs.iter().map(|lap| lap.wall_s).sum(), 1.28);
    near(report.epochs.iter().map(|lap| lap.evaluate_s).sum(), 0.12);
}

#[test]
fn a_step_that_spans_an_evaluation_is_shown_without_it() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    steps(&mut script, 20, 4);
    let updated = Ticks(script.now);
    evaluate(&mut script);
    STEP.iter().for_each(|(stage, ticks)| {
        script.stage(*stage, *ticks);
    });
    script.end_step(updated, 8, None);
    let steps = script.end_fit().close().report().steps.unwrap();
    near(steps.mean_s, 0.01);
    assert_eq!(steps.count, 21);
}

#[test]
fn the_last_lap_of_a_run_that_goes_on_is_open() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts { steps: Some(400), ..FitFacts::default() });
    steps(&mut script, 100, 4);
    script.step(&STEP, 8).begin(StageId::FORWARD).pass(5 * MS);
    let report = script.cut(Status::Running).report();
    let last = report.epochs.last().unwrap();
    assert_eq!((last.complete, last.ended_s, last.steps), (false, None, 1));
    near(last.wall_s, 0.015);
    assert!(report.epochs[..report.epochs.len() - 1].iter().all(|lap| lap.complete));
    // 299 steps of 10 ms, 5 of them gone.
    near(report.time_left.unwrap().mean, 2.985);
}

#[test]
fn time_left_counts_the_evaluations_that_are_still_to_come() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts { steps: Some(400), ..FitFacts::default() });
    for _ in 0..2 {
        steps(&mut script, 100, 4);
        evaluate(&mut script);
    }
    near(script.cut(Status::Running).report().time_left.unwrap().mean, 2.0 + 2.0 * 0.03);
}

#[test]
fn a_killed_training_says_in_which_step_it_died() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    steps(&mut script, 63, 1);
    let mut saving = Script::new();
    saving.fit_of_steps(FitFacts::default());
    steps(&mut saving, 63, 1);
    script.begin(StageId::BACKWARD).pass(MS).cut(Status::Killed);
    saving.begin(StageId::CHECKPOINT).pass(MS).cut(Status::Killed);
    let death = |script: &Script| script.report().deaths[0].clone();
    let (died, died_saving) = (death(&script), death(&saving));
    assert_eq!((died.epoch, died.step, died.steps_done), (None, Some(63), Some(63)));
    assert_eq!((died_saving.epoch, died_saving.step, died_saving.steps_done), (None, None, Some(63)));
    assert!(!script.report().epochs.last().unwrap().complete);
}

#[test]
fn outside_any_stage_is_counted_from_the_end_of_the_last_one() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    steps(&mut script, 63, 1);
    let death = script.pass(7 * MS).cut(Status::Killed).report().deaths[0].clone();
    let [open] = &death.open_stages[..] else { panic!("{death:?}") };
    assert_eq!(open.stage, "unaccounted");
    near(open.open_s, 0.007);
}

#[test]
fn tokens_are_those_of_the_steps() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    for _ in 0..16 {
        let at = Ticks(script.now);
        script.event(Event::Count { counter: Counter::Tokens, at, amount: 1_000 });
        script.step(&STEP, 0).between_steps();
    }
    let report = script.end_fit().close().report();
    let lap = &report.epochs[0];
    assert_eq!((lap.tokens, lap.samples, lap.samples_per_s), (Some(1_000), None, None));
    near(lap.tokens_per_s.unwrap(), 100_000.0);
    near(report.steps.unwrap().tokens_per_s.unwrap(), 100_000.0);
}

#[test]
fn a_long_training_keeps_its_laps_in_bounded_memory() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    for step in 1..=200_000_u64 {
        let start = Ticks(script.now);
        script.stage(StageId::FORWARD, 1_000).end_step(start, 1, None);
        if step % 3 == 0 {
            script.between_steps();
        }
        if step % 100 == 0 {
            script.between_steps().stage(StageId::EVALUATE, 500).between_steps();
        }
    }
    script.end_fit().close();
    let report = script.report();
    // 2,000 evaluations would be too many laps: eight of them are one.
    assert_eq!(lengths(&report), [800; 250]);
    near(report.epochs.iter().map(|lap| lap.wall_s).sum(), 0.2);
    near(report.epochs.iter().map(|lap| lap.evaluate_s).sum(), 0.001);
}

#[test]
fn a_sweep_takes_step_samples_and_loss_from_such_a_run() {
    let measured = Measured::of(&trained(200, 1).report(), None);
    near(measured.step_s.unwrap(), 0.01);
    near(measured.samples_per_s.unwrap(), 800.0);
    assert_eq!((measured.epochs, measured.epoch_s, measured.steps), (None, None, Some(200)));
    assert_eq!((measured.loss, measured.course.len()), (Some(0.5), 25));
    assert_eq!((measured.course[1].epochs, measured.course[1].steps), (0, 16));
}

#[test]
fn charts_get_a_point_every_ten_seconds_that_never_changes_again() {
    let mut script = Script::new();
    let anchor =
        Anchor { ticks: Ticks(script.now), monotonic_ns: script.now, real_ns: 1_000_000 * MS, boot_ns: 0 };
    script.records.push(Record::Anchor(anchor));
    script.fit_of_steps(FitFacts { steps: Some(6_000), ..FitFacts::default() });
    let settled = |script: &Script| {
        let known = script.report().stretches.into_iter().filter(|stretch| stretch.settled);
        known.map(|stretch| format!("{stretch:?}")).collect::<Vec<_>>()
    };
    let mut seen = Vec::new();
    for _ in 0..5 {
        steps(&mut script, 600, 7);
        evaluate(&mut script);
        seen.push(settled(script.state()));
    }
    let report = script.end_fit().close().report();
    let ends = |stretch: &EpochSummary| stretch.last_step();
    let ended: Vec<u64> = report.stretches.iter().map(ends).collect();
    assert_eq!((ended.len(), ended.last()), (4, Some(&3_000)), "{ended:?}");
    for stretch in &report.stretches[..3] {
        assert!((9.9..10.2).contains(&(stretch.wall_s + stretch.evaluate_s)), "{stretch:?}");
        near(stretch.time_left.unwrap().mean, (6_000 - ends(stretch)) as f64 * 0.01 + evaluations(stretch));
    }
    let all = settled(&script);
    assert!(seen.iter().all(|some| all.starts_with(some)) && seen[4].len() == 3, "{seen:?}");
}

/// What the evaluations to come take, from how many there were.
fn evaluations(stretch: &EpochSummary) -> f64 {
    let (done, before) = (stretch.last_step() as f64, (stretch.last_step() / 600) as f64);
    ((6_000.0 - done) * before / done).round() * 0.03
}
