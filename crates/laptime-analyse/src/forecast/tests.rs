//! Forecasts of runs with a planted truth.

use laptime_core::{FitFacts, Status};
use proptest::prelude::*;

use super::planted::{Pass, changed, made, made_of_steps, of_run, planned};
use super::*;
use crate::advise::Pipeline;
use crate::passes::{BatchLoading, CpuUse, StorageReads};
use crate::report::StartUp;

fn part(forecast: &Forecast, name: &str) -> f64 {
    forecast.parts.iter().find(|part| part.name == name).map_or(0.0, |part| part.seconds)
}

fn near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within * expected.abs().max(1e-9), "{found}, not {expected}");
}

/// Two epochs and a part of the third of ten, with 1.5 s of compiling in the first step.
fn probe() -> ComparedRun {
    let mut first = Pass::even(50, 0.1, 0.8);
    first.steps[0] = 1.6;
    made(planned(10, 50), 2.0, &[first, Pass::even(50, 0.1, 0.8), Pass::open(20, 0.1)], Status::Killed)
}

#[test]
fn the_total_is_the_sum_of_all_parts_of_the_training() {
    let forecast = of_run(&probe(), &[]).unwrap();
    near(part(&forecast, "start_up"), 2.0, 1e-6);
    near(part(&forecast, "warm_up"), 1.5, 1e-6);
    near(part(&forecast, "training"), 50.0, 1e-6);
    near(part(&forecast, "evaluation"), 8.0, 1e-6);
    near(forecast.total_s.mean, 61.5, 1e-6);
    near(forecast.parts.iter().map(|part| part.seconds).sum(), forecast.total_s.mean, 1e-9);
    let epoch = forecast.epoch_s;
    near(epoch.later.unwrap(), 5.8, 1e-6);
    near(epoch.first.unwrap(), 7.3, 1e-6);
    assert!(forecast.not_seen.is_empty() && forecast.left_s.is_none() && !forecast.calibrated);
    assert!(forecast.total_s.low < 61.5 && 61.5 < forecast.total_s.high);
    let basis = &forecast.basis;
    assert_eq!((basis.plan, basis.epochs, basis.steps), (PlanSource::Framework, Some(10), 500));
    assert_eq!((basis.steps_seen, basis.warm_up_steps), (120, 1));
    near(forecast.width_from.iter().map(|cause| cause.share).sum(), 1.0, 1e-9);
}

#[test]
fn what_was_not_reached_is_listed_and_no_part_of_the_total() {
    let run = made(planned(10, 50), 2.0, &[Pass::open(40, 0.1)], Status::Killed);
    let found = of_run(&run, &[]).unwrap();
    let names: Vec<&str> = found.not_seen.iter().map(|part| part.name).collect();
    assert_eq!(names, ["evaluation", "checkpoint"]);
    near(found.total_s.mean, 52.0, 1e-6);
    // An earlier run of the command knows.
    let known = Known { run: &run, earlier: &[probe()], scores: &[] };
    let known = forecast(&known, &Plan::default(), &WhatIf::default()).unwrap();
    assert!(known.not_seen.is_empty());
    near(part(&known, "evaluation"), 8.0, 1e-6);
    assert_eq!(known.basis.runs.len(), 2);
    // One with epochs of another length is another training.
    let other = made(planned(10, 60), 2.0, &[Pass::even(60, 0.1, 0.8)], Status::Killed);
    let unlike = Known { run: &run, earlier: &[other], scores: &[] };
    assert_eq!(forecast(&unlike, &Plan::default(), &WhatIf::default()).unwrap().not_seen.len(), 2);
}

#[test]
fn epochs_that_were_asked_for_come_before_those_of_the_script() {
    let asked = |plan: Plan| {
        let run = probe();
        forecast(&Known { run: &run, earlier: &[], scores: &[] }, &plan, &WhatIf::default())
    };
    let more = asked(Plan { epochs: Some(90), ..Plan::default() }).unwrap();
    near(more.total_s.mean, 3.5 + 90.0 * 5.8, 1e-6);
    assert_eq!((more.basis.plan, more.basis.steps), (PlanSource::Given, 4_500));
    let steps = asked(Plan { steps: Some(220), ..Plan::default() }).unwrap();
    // Four ends of epochs lie within them.
    near(steps.total_s.mean, 3.5 + 22.0 + 4.0 * 0.8, 1e-6);
}

/// Epochs of 10 s with these held-out losses; so many are planned, and it ends after so many without a lower one.
fn with_losses(losses: &[f64], planned_epochs: u64, patience: Option<u64>, status: Status) -> ComparedRun {
    let passes = vec![Pass::even(100, 0.1, 0.0); losses.len()];
    let facts = FitFacts { patience, ..planned(planned_epochs, 100) };
    let mut run = made(facts, 0.0, &passes, status);
    for (lap, loss) in run.report.epochs.iter_mut().zip(losses) {
        lap.metrics.insert("validation_loss".into(), Some(*loss));
    }
    run
}

fn falling(count: u32) -> Vec<f64> {
    (1..=count).map(|epoch| 0.1 + 2.0 * (-f64::from(epoch) / 20.0).exp()).collect()
}

fn until(loss: f64) -> Plan {
    Plan { until_loss: Some(loss), ..Plan::default() }
}

#[test]
fn until_a_loss_it_takes_the_epochs_that_the_losses_so_far_tell() {
    let run = with_losses(&falling(30), 40, None, Status::Killed);
    let asked =
        |loss| forecast(&Known { run: &run, earlier: &[], scores: &[] }, &until(loss), &WhatIf::default());
    // 0.1 + 2 · e^-3 after 60 epochs of 10 s, more than were planned.
    let found = asked(0.2).unwrap();
    let laps = found.convergence.as_ref().unwrap().laps.unwrap();
    assert!(laps.low < 60.0 && 60.0 < laps.high && (50.0..70.0).contains(&laps.mean), "{laps:?}");
    near(found.total_s.mean, laps.mean.ceil() * 10.0, 1e-6);
    assert!(found.total_s.low <= 10.0 * laps.low * 1.1 && found.total_s.high >= 10.0 * laps.high * 0.9);
    assert_eq!((found.basis.plan, found.width_from[0].cause), (PlanSource::Loss, Cause::Convergence));
    let reached = asked(1.0).unwrap().convergence.unwrap();
    assert_eq!((reached.reached, reached.laps.map(|laps| laps.mean)), (true, Some(16.0)));
    // Below where it levels off nothing can be told of it, but of the plan.
    let never = asked(0.01).unwrap();
    assert_eq!((never.basis.epochs, never.convergence.unwrap().laps), (Some(40), None));
    near(never.total_s.mean, 400.0, 1e-6);
}

#[test]
fn without_a_plan_a_loss_that_cannot_be_told_is_refused() {
    let run = made(
        FitFacts { steps_per_epoch: Some(50), ..FitFacts::default() },
        0.0,
        &[Pass::open(50, 0.1)],
        Status::Killed,
    );
    let refused = forecast(&Known { run: &run, earlier: &[], scores: &[] }, &until(0.2), &WhatIf::default());
    let refused = refused.unwrap_err();
    assert!(refused.to_string().starts_with("cannot tell when the loss comes down to 0.2: "), "{refused}");
    assert!(refused.hint().unwrap().contains("--epochs"));
}

#[test]
fn a_training_with_patience_ends_when_its_loss_no_longer_falls() {
    let mut losses = falling(60);
    // Noise of a hundredth around a level: soon three epochs in a row are no lower.
    losses.extend([0.17, 0.15, 0.16, 0.155].repeat(3));
    let found = of_run(&with_losses(&losses, 1_000, Some(5), Status::Killed), &[]).unwrap();
    let laps = found.convergence.as_ref().unwrap().laps.unwrap();
    assert!(laps.high < 1_000.0 && laps.mean >= 72.0, "{laps:?}");
    assert_eq!((found.basis.plan, found.basis.is_bound), (PlanSource::Loss, false));
    // One that falls as it should is not expected to end early.
    let on = of_run(&with_losses(&falling(30), 40, Some(5), Status::Killed), &[]).unwrap();
    assert_eq!(on.basis.epochs, Some(40));
    // Too few epochs tell nothing: what was planned is a bound.
    let few = of_run(&with_losses(&falling(2), 40, Some(5), Status::Killed), &[]).unwrap();
    assert_eq!((few.basis.is_bound, few.basis.epochs), (true, Some(40)));
    assert!(few.convergence.unwrap().because.is_some());
    // One that has ended made what it made.
    let ended = of_run(&with_losses(&falling(30), 40, Some(5), Status::Finished), &[]).unwrap();
    assert_eq!((ended.basis.plan, ended.basis.epochs), (PlanSource::Finished, Some(30)));
}

#[test]
fn why_nothing_can_be_forecast_is_said_with_what_to_type() {
    let made = |facts: FitFacts, passes: &[Pass]| of_run(&made(facts, 1.0, passes, Status::Killed), &[]);
    let never = made(planned(3, 50), &[]).unwrap_err();
    assert_eq!(never, CannotForecast::NeverStepped);
    let one = made(planned(3, 50), &[Pass::open(1, 3_600.0)]).unwrap_err();
    assert_eq!(one.to_string(), "one step was seen, a forecast needs 3");
    let no_plan = made(FitFacts::default(), &[Pass::open(50, 0.1)]).unwrap_err();
    assert_eq!(no_plan, CannotForecast::NoPlan);
    assert!(no_plan.hint().unwrap().contains("--epochs"));
    let facts = FitFacts { epochs: Some(3), ..FitFacts::default() };
    let no_length = made(facts, &[Pass::open(50, 0.1)]).unwrap_err();
    assert_eq!(no_length, CannotForecast::NoEpochLength);
    assert!(no_length.hint().unwrap().contains("--steps"));
}

#[test]
fn a_run_that_goes_on_has_the_time_left_of_its_report() {
    let passes = [Pass::even(50, 0.1, 0.8), Pass::open(30, 0.1)];
    let run = made(planned(10, 50), 2.0, &passes, Status::Running);
    let found = of_run(&run, &[]).unwrap();
    let left = run.report.time_left.unwrap();
    let found_left = found.left_s.unwrap();
    near(found_left.mean, left.mean, 1e-9);
    assert!(found_left.low <= left.low && found_left.high >= left.high, "{found_left:?} {left:?}");
    near(found.total_s.mean, run.report.wall_s + left.mean, 1e-9);
    near(found.parts.iter().map(|part| part.seconds).sum(), found.total_s.mean, 1e-9);
    // Asked for more, it is left for longer.
    let known = Known { run: &run, earlier: &[], scores: &[] };
    let plan = Plan { epochs: Some(20), ..Plan::default() };
    let longer = forecast(&known, &plan, &WhatIf::default()).unwrap();
    near(longer.left_s.unwrap().mean - left.mean, 10.0 * 5.8, 1e-6);
    let past = Plan { epochs: Some(1), ..Plan::default() };
    let past = forecast(&known, &past, &WhatIf::default()).unwrap_err();
    assert_eq!(past, CannotForecast::AlreadyPast { steps: 80 });
}

/// The same training of a model of 1,000 parameters with so many epochs to go.
fn of_model(epochs: u64) -> FitFacts {
    FitFacts { parameters: Some(1_000), ..planned(epochs, 50) }
}

#[test]
fn a_resumed_training_goes_on_with_what_the_one_before_it_took() {
    let killed = made(of_model(10), 2.0, &vec![Pass::even(50, 0.1, 0.8); 4], Status::Killed);
    let resumed = made(of_model(6), 2.0, &[Pass::open(1, 0.1)], Status::Running);
    let asked = |earlier: &[ComparedRun]| {
        forecast(&Known { run: &resumed, earlier, scores: &[] }, &Plan::default(), &WhatIf::default())
    };
    assert!(asked(&[]).is_err());
    let found = asked(std::slice::from_ref(&killed)).unwrap();
    near(found.left_s.unwrap().mean, 6.0 * 5.8 - 0.1, 1e-6);
    near(found.total_s.mean, resumed.report.wall_s + found.left_s.unwrap().mean, 1e-9);
    assert_eq!(found.basis.runs.len(), 2);
    let other = made(
        FitFacts { parameters: Some(2_000), ..planned(6, 50) },
        2.0,
        &[Pass::even(50, 0.3, 0.8)],
        Status::Killed,
    );
    assert!(asked(&[other]).is_err());
    // Later it goes by its own steps, and still knows what will follow the epoch.
    let later = made(of_model(6), 2.0, &[Pass::open(40, 0.2)], Status::Running);
    let known = Known { run: &later, earlier: &[killed], scores: &[] };
    let found = forecast(&known, &Plan::default(), &WhatIf::default()).unwrap();
    near(found.left_s.unwrap().mean, 260.0 * 0.2 + 6.0 * 0.8, 1e-6);
}

#[test]
fn finished_forecasts_set_the_width_of_what_is_left_too() {
    let passes = [
        Pass { steps: (0..50).map(|at| 0.1 + 0.01 * f64::from(at % 5)).collect(), evaluate: Some(0.8) },
        Pass::even(50, 0.12, 0.9),
        Pass::open(30, 0.11),
    ];
    let run = made(planned(10, 50), 2.0, &passes, Status::Running);
    let plain = of_run(&run, &[]).unwrap();
    let score = Score { log_ratio: 2.0 * plain.width, width: plain.width, progress: 0.2 };
    let wide = of_run(&run, &[score; 9]).unwrap();
    assert!(!plain.calibrated && wide.calibrated && wide.width == plain.width);
    near((wide.total_s.high / wide.total_s.low).ln(), 4.0 * plain.width, 1e-9);
    let off = of_run(&run, &[Score { log_ratio: 100.0, width: 0.01, progress: 0.2 }; 9]).unwrap();
    assert!(off.left_s.unwrap().high.is_finite() && off.left_s.unwrap().low > 0.0);
}

#[test]
fn what_was_imported_is_taken_down_at_the_end_unless_an_earlier_run_shows_how_long_that_takes() {
    let imports = |mut run: ComparedRun, imports_s: f64| {
        let start_up = StartUp { seconds: 2.0, imports_s, imports: Vec::new(), preparation_s: 0.0 };
        run.report.start_up = Some(start_up);
        run
    };
    let probe = imports(probe(), 1.5);
    near(part(&of_run(&probe, &[]).unwrap(), "tear_down"), 0.6, 1e-6);
    let passes = [Pass::even(50, 0.1, 0.8), Pass::open(30, 0.1)];
    let running = imports(made(planned(10, 50), 2.0, &passes, Status::Running), 1.5);
    let left = of_run(&running, &[]).unwrap().left_s.unwrap().mean;
    near(left, running.report.time_left.unwrap().mean + 0.6, 1e-9);
    let mut ended = made(planned(10, 50), 2.0, &vec![Pass::even(50, 0.1, 0.8); 10], Status::Finished);
    let row = &mut ended.report.ledger[0];
    (row.stage, row.seconds) = ("tear_down".into(), 3.0);
    let known = Known { run: &probe, earlier: &[ended], scores: &[] };
    let found = forecast(&known, &Plan::default(), &WhatIf::default()).unwrap();
    near(part(&found, "tear_down"), 3.0, 1e-6);
}

#[test]
fn a_finished_run_took_what_it_is_forecast_to_take() {
    let passes = vec![Pass::even(40, 0.05, 0.3); 5];
    let run =
        made(FitFacts { steps_per_epoch: Some(40), ..FitFacts::default() }, 1.0, &passes, Status::Finished);
    let forecast = of_run(&run, &[]).unwrap();
    assert_eq!(forecast.basis.plan, PlanSource::Finished);
    near(forecast.total_s.mean, run.report.wall_s, 1e-6);
}

#[test]
fn within_a_deadline_as_many_epochs_fit_as_have_time() {
    let forecast = of_run(&probe(), &[]).unwrap();
    let within = forecast.epochs_within(3.5 + 4.0 * 5.8 + 1.0).unwrap();
    assert_eq!((within.expected, within.planned), (4, 10));
    assert!(within.surely <= within.expected);
    assert_eq!(forecast.epochs_within(1e9).unwrap().surely, 10);
    assert_eq!(forecast.epochs_within(0.5).unwrap().expected, 0);
    let steps =
        made_of_steps(FitFacts { steps: Some(1_000), ..FitFacts::default() }, &[0.1; 50], Status::Killed);
    let steps = of_run(&steps, &[]).unwrap();
    near(steps.total_s.mean, 100.0, 1e-6);
    assert_eq!(steps.epochs_within(50.0), None);
}

#[test]
fn finished_forecasts_of_the_machine_set_the_width() {
    let run = probe();
    let plain = of_run(&run, &[]).unwrap();
    let scores = vec![Score { log_ratio: 2.0 * plain.width, width: plain.width, progress: 0.0 }; 9];
    let wide = of_run(&run, &scores).unwrap();
    assert!(wide.calibrated && !of_run(&run, &scores[..8]).unwrap().calibrated);
    near((wide.total_s.high / wide.total_s.mean).ln(), 2.0 * plain.width, 1e-6);
    assert_eq!(wide.width, plain.width);
}

#[test]
fn one_stall_in_a_short_probe_is_not_multiplied_by_all_steps() {
    let mut passes = [Pass::open(200, 0.1)];
    passes[0].steps[120] = 8.0;
    let forecast = of_run(&made(planned(10, 1_000), 0.0, &passes, Status::Killed), &[]).unwrap();
    near(part(&forecast, "training"), 1_000.0, 1e-3);
    assert!(part(&forecast, "stalls") < 0.6 * 7.9 * 50.0);
    assert_eq!(forecast.width_from[0].cause, Cause::RareStalls);
    assert!(forecast.total_s.low < 1_010.0 && forecast.total_s.high > 1_395.0, "{:?}", forecast.total_s);
}

#[test]
fn ten_times_the_rows_take_ten_times_the_steps_and_as_many_evaluations() {
    let facts = FitFacts { rows: Some(1_600), batch: Some(32), ..planned(10, 50) };
    let passes = [Pass::even(50, 0.1, 0.8), Pass::even(50, 0.1, 0.8), Pass::open(10, 0.1)];
    let run = made(facts, 2.0, &passes, Status::Killed);
    for rows in [Rows::Times(10.0), Rows::Count(16_000)] {
        let forecast = changed(&run, WhatIf { rows: Some(rows), ..WhatIf::default() }).unwrap();
        assert_eq!((forecast.basis.steps_per_epoch, forecast.basis.steps), (Some(500), 5_000));
        near(part(&forecast, "training"), 500.0, 1e-6);
        near(part(&forecast, "evaluation"), 8.0, 1e-6);
        let change = forecast.change.unwrap();
        near(change.unchanged_s, 60.0, 1e-6);
        near(change.ratio.mean, 510.0 / 60.0, 1e-6);
    }
    let odd = WhatIf { rows: Some(Rows::Count(1_601)), ..WhatIf::default() };
    assert_eq!(changed(&run, odd).unwrap().basis.steps_per_epoch, Some(51));
}

/// A run of one batch size whose steps follow a line.
fn by_batch(batch: u64) -> ComparedRun {
    let facts = FitFacts { rows: Some(6_400), batch: Some(batch), ..planned(4, 6_400 / batch) };
    made(facts, 1.0, &[Pass::open(60, 0.02 + 0.001 * batch as f64)], Status::Killed)
}

#[test]
fn one_batch_size_says_little_of_another_and_two_say_it() {
    let run = by_batch(32);
    let asked = WhatIf { batch: Some(64), ..WhatIf::default() };
    let alone = changed(&run, asked).unwrap();
    assert_eq!(alone.basis.steps_per_epoch, Some(100));
    assert!(alone.width_from.iter().any(|cause| cause.cause == Cause::Extrapolation));
    let known = Known { run: &run, earlier: &[by_batch(16)], scores: &[] };
    let two = forecast(&known, &Plan::default(), &asked).unwrap();
    assert!(two.change.unwrap().ratio.high / two.change.unwrap().ratio.low < 1.4);
    // A fifth of a step waits for data, which grows with the batch; the rest is on the line.
    let step = 0.2 * 2.0 * 0.052 + 0.8 * 0.084;
    near(part(&two, "training"), 400.0 * step, 0.01);
    assert!(two.width < alone.width, "{} {}", two.width, alone.width);
}

/// A run without workers whose batches take 60 ms to load and 40 ms to compute, on two CPUs.
fn loading() -> ComparedRun {
    let facts = FitFacts { workers: Some(0), framework: Some("torch".into()), ..planned(10, 2_000) };
    let mut run = made(facts, 1.0, &[Pass::open(200, 0.1)], Status::Killed);
    let loading = BatchLoading { seconds: 0.06, cpu_s: 0.06, queue_s: 0.0, collate_s: 0.0 };
    let seconds = run.report.wall_s;
    run.passes.own = CpuUse { seconds, cpu_s: Some(20.0), queue_s: Some(0.0) };
    run.passes.tree = run.passes.own;
    run.passes.own_loading = Some(loading);
    // Of each step 60 ms wait for the batch.
    for stages in [&mut run.report.fits[0].stages, &mut run.report.epochs[0].stages] {
        stages.insert("data_wait".into(), 12.0);
        stages.insert("forward".into(), 8.0);
    }
    run
}

#[test]
fn workers_that_load_beside_the_model_are_simulated() {
    let run = loading();
    let with = |workers| changed(&run, WhatIf { workers: Some(workers), ..WhatIf::default() }).unwrap();
    let same = with(0).change.unwrap().ratio;
    near(same.mean, 1.0, 1e-6);
    // One worker loads a batch in 60 ms while 40 ms are computed, two share the two CPUs.
    near(with(1).change.unwrap().ratio.mean, 0.6, 0.03);
    near(with(2).change.unwrap().ratio.mean, 0.5, 0.04);
    let two = with(2).change.unwrap().ratio;
    assert!(two.low < 0.5 && 0.5 < two.high && two.high < 1.0, "{two:?}");
    assert!(Pipeline::start_s(2) > 0.0);
}

#[test]
fn without_its_workers_a_step_takes_what_it_computes_and_loads_however_much_they_cost() {
    let mut run = loading();
    run.report.fits[0].workers = Some(1);
    run.passes.own.cpu_s = Some(8.0);
    run.passes.own_loading = None;
    let quick = BatchLoading { seconds: 0.01, cpu_s: 0.01, queue_s: 0.0, collate_s: 0.0 };
    run.passes.worker_loading = Some(quick);
    let none = changed(&run, WhatIf { workers: Some(0), ..WhatIf::default() }).unwrap();
    // Of 100 ms 60 wait for a batch that takes 10 ms to load.
    near(none.change.unwrap().ratio.mean, 0.5, 0.03);
}

#[test]
fn what_cannot_be_changed_is_said() {
    let asked = |what_if| changed(&probe(), what_if).unwrap_err().to_string();
    let batch = asked(WhatIf { batch: Some(64), ..WhatIf::default() });
    assert_eq!(batch, "what --batch changes is not known: the run does not say how large its batches are");
    let workers = asked(WhatIf { workers: Some(4), ..WhatIf::default() });
    assert!(workers.contains("was not recorded"), "{workers}");
}

#[test]
fn a_batch_that_needs_more_memory_than_there_is_does_not_fit() {
    let mut run = by_batch(32);
    run.report.memory.peak_rss_bytes = Some(1 << 30);
    let fits = |batch| changed(&run, WhatIf { batch: Some(batch), ..WhatIf::default() }).unwrap().memory.fits;
    assert_eq!((fits(16), fits(64), fits(32 * 9)), (Fits::Yes, Fits::Yes, Fits::CannotTell));
    let mut small = by_batch(16);
    small.report.memory.peak_rss_bytes = Some(600 << 20);
    let known = Known { run: &run, earlier: &[small], scores: &[] };
    let asked = |batch| {
        let what_if = WhatIf { batch: Some(batch), ..WhatIf::default() };
        forecast(&known, &Plan::default(), &what_if).unwrap().memory
    };
    assert_eq!((asked(32 * 9).fits, asked(200).fits), (Fits::No, Fits::Yes));
    near(asked(64).host_peak_bytes.unwrap() as f64, f64::from(1024 + 2 * 424) * 1_048_576.0, 1e-6);
}

#[test]
fn bytes_to_the_device_are_those_of_all_samples_and_of_the_model_once() {
    let facts = FitFacts { rows: Some(1_010), batch: Some(100), parameters: Some(1_000), ..planned(7, 11) };
    let mut run = made(facts, 1.0, &[Pass::open(5, 0.1)], Status::Killed);
    run.report.transfer.host_to_device_bytes = Some(4_000 + 500 * 784);
    run.report.transfer.between_ranks_bytes = Some(5 * 8_000);
    let forecast = of_run(&run, &[]).unwrap();
    assert_eq!(forecast.transfer.host_to_device_bytes, Some(4_000 + 7 * 1_010 * 784));
    assert_eq!(forecast.transfer.between_ranks_bytes, Some(77 * 8_000));
    assert_eq!(forecast.transfer.storage_bytes, None);
}

#[test]
fn bytes_from_storage_are_those_of_the_first_epoch_and_what_later_ones_read() {
    let read = |passes: &[Pass], start_up: f64, first_epoch: f64, later: f64| {
        let mut run = made(planned(10, 50), 1.0, passes, Status::Killed);
        run.passes.storage = Some(StorageReads { start_up, first_epoch, later });
        of_run(&run, &[]).unwrap().transfer.storage_bytes.unwrap()
    };
    let half = [Pass::open(25, 0.1)];
    // What fits into memory is read once; of 8 GiB no more than half.
    assert_eq!(read(&half, 7.0, 500.0, 0.0), 7 + 1_000);
    assert_eq!(read(&half, 7.0, 3e9, 0.0), 7 + 60_000_000_000);
    let three = [Pass::even(50, 0.1, 0.0), Pass::even(50, 0.1, 0.0), Pass::open(50, 0.1)];
    assert_eq!(read(&three, 7.0, 1_000.0, 0.0), 7 + 1_000);
    assert_eq!(read(&three, 7.0, 1_000.0, 2_000.0), 7 + 10_000);
}

/// Ten epochs with an evaluation each, whose first steps compile and read cold files.
fn slow_start() -> (Vec<Pass>, f64) {
    let mut passes = vec![Pass::even(100, 0.1, 2.0); 10];
    passes[0].steps[0] = 8.0;
    (1..30).for_each(|at| passes[0].steps[at] = 0.3);
    let total = |pass: &Pass| pass.steps.iter().sum::<f64>() + pass.evaluate.unwrap_or(0.0);
    let all = passes.iter().map(total).sum();
    (passes, all)
}

#[test]
fn after_one_epoch_with_a_slow_start_the_time_left_is_within_a_tenth() {
    let (passes, total) = slow_start();
    let seen = [passes[0].clone(), Pass::open(1, 0.1)];
    let run = made(planned(10, 100), 0.0, &seen, Status::Running);
    let left = of_run(&run, &[]).unwrap().left_s.unwrap();
    let truth = total - run.report.wall_s;
    near(left.mean, truth, 0.1);
    // What a progress bar says: the mean so far times the steps to come.
    let mean_so_far = run.report.wall_s / 101.0 * 899.0;
    assert!((mean_so_far / truth - 1.0).abs() > 0.25, "{mean_so_far} of {truth}");
    // The same as a probe.
    let probed = of_run(&made(planned(10, 100), 0.0, &seen, Status::Killed), &[]).unwrap();
    near(probed.total_s.mean, total, 0.1);
}

#[test]
fn while_the_first_evaluation_lasts_it_is_expected_after_every_epoch() {
    let mut script = crate::script::Script::new();
    script.fit(planned(5, 20)).epoch();
    (0..20).for_each(|_| {
        script.step(&[(laptime_core::StageId::FORWARD, 100_000_000)], 1);
    });
    script.end_epoch().begin(laptime_core::StageId::EVALUATE).pass(500_000_000);
    let left = script.cut(Status::Running).report().time_left.unwrap();
    near(left.mean, 80.0 * 0.1 + 4.0 * 0.5, 1e-6);
}

#[test]
fn a_first_epoch_from_cold_files_is_not_expected_again() {
    let passes = [Pass::even(60, 0.3, 3.0), Pass::even(60, 0.1, 1.0), Pass::open(20, 0.1)];
    let run = made(planned(10, 60), 0.0, &passes, Status::Running);
    let left = of_run(&run, &[]).unwrap().left_s.unwrap();
    near(left.mean, 40.0 * 0.1 + 7.0 * 6.0 + 8.0 * 1.0, 0.02);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_the_steps_took_the_parts_add_up_and_the_interval_holds_the_mean(
        steps in prop::collection::vec(1e-5..2.0_f64, 3..80),
        (epochs, length, evaluate) in (1_u64..50, 1_u64..200, 0.0..5.0_f64),
    ) {
        let passes: Vec<Pass> = steps
            .chunks(usize::try_from(length).unwrap())
            .map(|steps| Pass { steps: steps.to_vec(), evaluate: Some(evaluate) })
            .collect();
        let found = of_run(&made(planned(epochs, length), 0.3, &passes, Status::Killed), &[]).unwrap();
        let total = found.total_s;
        prop_assert!(total.low <= total.mean && total.mean <= total.high && total.high.is_finite());
        prop_assert!(found.parts.iter().all(|part| part.seconds >= 0.0));
        let sum: f64 = found.parts.iter().map(|part| part.seconds).sum();
        prop_assert!((sum - total.mean).abs() <= 1e-9 * total.mean);
        let shares: f64 = found.width_from.iter().map(|cause| cause.share).sum();
        prop_assert!((shares - 1.0).abs() < 1e-9);
        let within = found.epochs_within(total.mean * 1.000_001).unwrap();
        prop_assert!(within.expected + 1 >= epochs && within.surely <= within.expected, "{:?}", within);
    }
}
