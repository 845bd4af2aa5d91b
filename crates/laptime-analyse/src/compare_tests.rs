//! Comparisons of runs whose truth is planted: how often equal ones are called different, and changes are found.

use laptime_core::{FitFacts, Machine, RunMeta, StageId, Ticks};

use crate::chance::Chance;
use crate::compare::{
    Answer, Asked, Cause, ComparedRun, Comparison, Measure, More, Outcome, Timed, Turns, compare,
    compare_in_turns, compare_machines,
};
use crate::script::Script;
use crate::{Digest, Warning, rfc3339};

/// What a made-up training is like.
#[derive(Clone, Copy)]
struct Made {
    steps: u32,
    steps_an_epoch: u32,
    /// Mean step, nanoseconds, and the part of it that waits for data.
    step_ns: f64,
    wait: f64,
    /// Noise of a step as a share of it, and how much of it the next step shares.
    noise: f64,
    correlation: f64,
    /// What every step of this run is off by, as a share.
    offset: f64,
    samples: u32,
    parameters: u64,
    /// Loss at the end, and noise of a step's loss as a share of it.
    final_loss: f64,
    loss_noise: f64,
    cpu: &'static str,
}

const PLAIN: Made = Made {
    steps: 500,
    steps_an_epoch: 100,
    step_ns: 50e6,
    wait: 0.2,
    noise: 0.05,
    correlation: 0.0,
    offset: 0.0,
    samples: 32,
    parameters: 1_000,
    final_loss: 0.4,
    loss_noise: 0.2,
    cpu: "some CPU",
};

fn made(of: &Made, trial: u64) -> ComparedRun {
    let mut chance = Chance::new(trial);
    let mut script = Script::new();
    let rows = u64::from(of.samples * of.steps_an_epoch);
    let facts = FitFacts {
        batch: Some(of.samples.into()),
        rows: Some(rows),
        parameters: Some(of.parameters),
        ..FitFacts::default()
    };
    script.pass(5_000_000).fit(facts);
    let mut noise = chance.normal();
    for step in 0..of.steps {
        if step % of.steps_an_epoch == 0 {
            script.epoch();
        }
        let kept = of.correlation;
        noise = kept * noise + (1.0 - kept * kept).sqrt() * chance.normal();
        let factor = (1.0 + of.noise * noise + of.offset).max(0.1);
        let wait = of.step_ns * of.wait * factor;
        let work = of.step_ns * (1.0 - of.wait) * factor;
        let start = Ticks(script.now);
        script.stage(StageId::DATA_WAIT, wait as u64).stage(StageId::FORWARD, work as u64);
        let falls = 2.0 * (-8.0 * f64::from(step) / f64::from(of.steps)).exp();
        let loss = (of.final_loss + falls) * (1.0 + of.loss_noise * chance.normal()).max(0.01);
        script.end_step(start, of.samples, Some(loss));
        if (step + 1) % of.steps_an_epoch == 0 || step + 1 == of.steps {
            script.end_epoch();
        }
    }
    script.end_fit().close();
    let machine = Machine { cpus: 2, cpu_model: Some(of.cpu.into()), ..Machine::default() };
    let id = format!("{}-{trial}", rfc3339(trial));
    read(&script, RunMeta { id, machine, ranks: 1, ..RunMeta::default() })
}

fn read(script: &Script, meta: RunMeta) -> ComparedRun {
    let mut digest = Digest::new(meta);
    script.records.iter().for_each(|record| digest.take(record));
    digest.compared_run()
}

fn compared(a: &[ComparedRun], b: &[ComparedRun]) -> Comparison {
    compare(("a", a), ("b", b), &Asked::default())
}

/// One run a side, for each of 100 pairs.
fn pairs(a: &Made, b: &Made) -> impl Iterator<Item = Comparison> {
    (0..100).map(|pair| compared(&[made(a, 2 * pair + 1)], &[made(b, 2 * pair + 2)]))
}

fn count(pairs: impl Iterator<Item = Comparison>, of: impl Fn(&Comparison) -> bool) -> usize {
    pairs.filter(|comparison| of(comparison)).count()
}

fn is_different(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Answer::Faster | Answer::Slower)
}

#[test]
fn equal_runs_are_called_different_in_at_most_5_of_100() {
    let different = count(pairs(&PLAIN, &PLAIN), is_different);
    assert!(different <= 5, "{different}");
    let noisy = Made { noise: 0.3, ..PLAIN };
    let different = count(pairs(&noisy, &noisy), is_different);
    assert!(different <= 5, "{different}");
}

#[test]
fn equal_runs_with_autocorrelated_noise_are_called_different_in_at_most_7_of_100() {
    for (correlation, noise) in [(0.5, 0.05), (0.8, 0.1), (0.9, 0.1), (0.95, 0.05), (0.95, 0.2)] {
        let made = Made { correlation, noise, ..PLAIN };
        let different = count(pairs(&made, &made), is_different);
        assert!(different <= 7, "correlation {correlation}: {different}");
    }
}

#[test]
fn a_change_of_3_percent_at_5_percent_noise_is_found_in_at_least_90_of_100() {
    for (factor, answer) in [(1.03, Answer::Slower), (1.0 / 1.03, Answer::Faster)] {
        let changed = Made { step_ns: PLAIN.step_ns * factor, ..PLAIN };
        let found = count(pairs(&PLAIN, &changed), |comparison| comparison.verdict == answer);
        assert!(found >= 90, "{found}");
    }
}

#[test]
fn the_interval_holds_the_true_ratio() {
    let changed = Made { step_ns: PLAIN.step_ns * 1.4, noise: 0.2, correlation: 0.5, ..PLAIN };
    let holds = count(pairs(&PLAIN, &changed), |comparison| {
        comparison.ratio.is_some_and(|ratio| ratio.low <= 1.4 && 1.4 <= ratio.high)
    });
    assert!(holds >= 95, "{holds}");
}

/// Several runs a side, each off by a few per cent of its own.
fn sides(factor: f64, runs: u64, trial: u64) -> Comparison {
    let side = |factor: f64, which: u64| -> Vec<ComparedRun> {
        let run = |at: u64| {
            let trial = 1_000 * trial + 100 * which + at + 1;
            let offset = 0.03 * Chance::new(trial + 77).normal();
            let steps = 120;
            made(&Made { offset, steps, step_ns: PLAIN.step_ns * factor, ..PLAIN }, trial)
        };
        (0..runs).map(run).collect()
    };
    compared(&side(1.0, 1), &side(factor, 2))
}

#[test]
fn several_runs_a_side_are_judged_by_how_they_differ() {
    let different = count((0..100).map(|trial| sides(1.0, 3, trial)), is_different);
    assert!(different <= 7, "{different}");
    let found = count((0..50).map(|trial| sides(1.15, 4, trial)), |one| one.verdict == Answer::Slower);
    assert!(found >= 45, "{found}");
    assert!(sides(1.0, 3, 1).between_runs_seen);
}

fn is_other_training(comparison: &Comparison) -> bool {
    comparison.verdict == Answer::NotSameTraining
}

#[test]
fn a_changed_training_is_called_so_in_at_least_95_of_100() {
    let changes = [
        ("fewer samples", Made { steps_an_epoch: 95, ..PLAIN }),
        ("a smaller batch", Made { samples: 31, ..PLAIN }),
        ("loss 15 % higher", Made { final_loss: 0.46, ..PLAIN }),
        ("loss 15 % lower", Made { final_loss: 0.34, ..PLAIN }),
        ("another width", Made { parameters: 1_100, ..PLAIN }),
    ];
    for (what, changed) in changes {
        let found = count(pairs(&PLAIN, &changed), is_other_training);
        assert!(found >= 95, "{what}: {found}");
    }
}

#[test]
fn an_unchanged_training_is_called_changed_in_at_most_3_of_100() {
    let faster = Made { step_ns: 10e6, ..PLAIN };
    let seed = Made { final_loss: 0.41, ..PLAIN };
    let longer = Made { steps: 500, steps_an_epoch: 100, loss_noise: 0.5, ..PLAIN };
    for (what, other) in
        [("equal", PLAIN), ("faster", faster), ("another seed", seed), ("noisy loss", longer)]
    {
        let wrong = count(pairs(&PLAIN, &other), is_other_training);
        assert!(wrong <= 3, "{what}: {wrong}");
    }
}

fn outcome(comparison: &Comparison, what: &str) -> Outcome {
    comparison.training.iter().find(|check| check.what == what).unwrap().outcome
}

#[test]
fn what_differs_in_the_training_is_named() {
    let of = |changed: Made| compared(&[made(&PLAIN, 1)], &[made(&changed, 2)]);
    let fewer = of(Made { steps_an_epoch: 50, ..PLAIN });
    assert_eq!(outcome(&fewer, "samples an epoch"), Outcome::Differ);
    assert_eq!(outcome(&fewer, "parameters"), Outcome::Agree);
    assert_eq!(outcome(&of(Made { parameters: 7, ..PLAIN }), "parameters"), Outcome::Differ);
    let moved = of(Made { final_loss: 0.8, ..PLAIN });
    assert_eq!((outcome(&moved, "loss curve"), outcome(&moved, "batch")), (Outcome::Differ, Outcome::Agree));
    assert_eq!(outcome(&of(PLAIN), "tokens a step"), Outcome::Unknown);
    assert_eq!(of(PLAIN).same_training, Some(true));
}

#[test]
fn the_stage_that_changed_is_named_and_the_others_are_not() {
    let changed = Made { step_ns: PLAIN.step_ns * 0.85, wait: 0.05 / 0.85, ..PLAIN };
    let comparison = compared(&[made(&PLAIN, 1)], &[made(&changed, 2)]);
    assert_eq!(comparison.verdict, Answer::Faster);
    let changed: Vec<&str> =
        comparison.stages.iter().filter(|row| row.changed).map(|row| row.stage.as_str()).collect();
    assert_eq!(changed, ["data_wait"]);
    let wait = &comparison.stages[0];
    assert!((wait.a_share - 0.2).abs() < 0.01 && (wait.b_share - 0.06).abs() < 0.01, "{wait:?}");
    assert!(wait.ratio.is_some_and(|ratio| ratio.low < 0.25 && 0.25 < ratio.high), "{wait:?}");
    let shares: f64 = comparison.stages.iter().map(|row| row.a_share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
}

#[test]
fn runs_of_different_machines_are_never_called_faster() {
    let elsewhere = Made { step_ns: 4e6, cpu: "another CPU", ..PLAIN };
    let comparison = compared(&[made(&PLAIN, 1)], &[made(&elsewhere, 2)]);
    assert_eq!(comparison.verdict, Answer::CannotTell);
    assert_eq!((comparison.because, comparison.more), (Some(Cause::DifferentMachines), None));
}

#[test]
fn three_steps_are_too_few() {
    let short = Made { steps: 3, steps_an_epoch: 3, ..PLAIN };
    let comparison = compared(&[made(&short, 1)], &[made(&short, 2)]);
    assert_eq!((comparison.verdict, comparison.because), (Answer::CannotTell, Some(Cause::TooFewSteps)));
    assert_eq!(comparison.more, Some(More::Steps(21)));
    assert_eq!(comparison.ratio, None);
}

#[test]
fn what_cannot_be_told_says_how_much_more_it_takes() {
    let noisy = Made { noise: 0.5, steps: 40, steps_an_epoch: 40, ..PLAIN };
    let comparison = compared(&[made(&noisy, 1)], &[made(&noisy, 2)]);
    assert_eq!((comparison.verdict, comparison.because), (Answer::CannotTell, Some(Cause::Noise)));
    let by_runs = sides(1.02, 2, 3);
    assert!(matches!(by_runs.more, Some(More::Runs(runs)) if runs > 0), "{:?}", by_runs.more);
    let made_of = |step_ns, trial| made(&Made { noise: 0.8, step_ns, steps: 60, ..PLAIN }, trial);
    let unclear = (0..20).map(|trial| compared(&[made_of(20e6, 2 * trial)], &[made_of(24e6, 2 * trial + 1)]));
    let unclear: Vec<Comparison> = unclear.filter(|one| one.verdict == Answer::CannotTell).collect();
    assert!(unclear.len() > 3, "{}", unclear.len());
    assert!(unclear.iter().any(|one| matches!(one.more, Some(More::Steps(steps)) if steps >= 10)));
}

#[test]
fn warm_up_is_compared_apart() {
    let run = |first: u64, trial: u64| {
        let mut chance = Chance::new(trial);
        let mut script = Script::new();
        script.fit(FitFacts::default()).epoch();
        for step in 0..200 {
            let time = if step < 10 { first } else { 200_000_000 } as f64 * (1.0 + 0.01 * chance.normal());
            script.step(&[(StageId::FORWARD, time as u64)], 8);
        }
        script.end_epoch().end_fit().close();
        read(&script, RunMeta::default())
    };
    let comparison = compared(&[run(200_000_000, 1)], &[run(10_000_000_000, 2)]);
    assert_eq!(comparison.verdict, Answer::Same, "{:?}", comparison.ratio);
    let warm_up = comparison.apart.iter().find(|part| part.what == "warm-up").unwrap();
    assert!(warm_up.a_s < 1.0 && (warm_up.b_s - 100.0).abs() < 5.0, "{warm_up:?}");
}

#[test]
fn a_gate_fails_by_more_than_its_limit_and_not_by_noise() {
    let met = |b: &Made, limit: f64| {
        let asked = Asked { fail_if_slower: Some(limit), ..Asked::default() };
        let (a, b) = (made(&PLAIN, 1), made(b, 2));
        compare(("a", &[a]), ("b", &[b]), &asked).gate.unwrap().met
    };
    let slower = Made { step_ns: PLAIN.step_ns * 1.1, ..PLAIN };
    assert!(met(&PLAIN, 0.05) && !met(&slower, 0.05) && met(&slower, 0.2));
    assert!(met(&Made { noise: 0.9, ..PLAIN }, 0.05));
    assert!(!met(&Made { parameters: 2, ..PLAIN }, 0.05));
}

#[test]
fn times_of_another_machine_only_warn() {
    let elsewhere = Made { step_ns: PLAIN.step_ns * 2.0, cpu: "another CPU", ..PLAIN };
    let asked = Asked { fail_if_slower: Some(0.05), ..Asked::default() };
    let gate = compare(("a", &[made(&PLAIN, 1)]), ("b", &[made(&elsewhere, 2)]), &asked).gate.unwrap();
    assert!(gate.met && gate.warns);
}

/// A run of a reference model.
fn reference(label: &str, step_ns: f64, cpu: &'static str, trial: u64) -> ComparedRun {
    let mut run = made(&Made { step_ns, cpu, ..PLAIN }, trial);
    run.report.fits[0].framework = Some("laptime".into());
    run.report.fits[0].label = label.into();
    run
}

#[test]
fn runs_of_different_machines_are_judged_beside_their_reference_models() {
    let (here, there) = ("some CPU", "another CPU");
    let a = [made(&PLAIN, 1)];
    let b = [made(&Made { step_ns: PLAIN.step_ns * 0.56, cpu: there, ..PLAIN }, 2)];
    let kept = [
        reference("mlp", 10e6, here, 3),
        reference("mlp", 5.5e6, there, 4),
        reference("cnn", 40e6, here, 5),
        reference("cnn", 22e6, there, 6),
        reference("rnn", 40e6, here, 7),
    ];
    let mut comparison = compared(&a, &b);
    compare_machines(&mut comparison, &a, &b, &kept);
    assert_eq!((comparison.verdict, comparison.because), (Answer::Faster, None));
    let found = comparison.reference.unwrap();
    assert_eq!(found.models, ["mlp", "cnn"]);
    assert!(found.ratio.low < 0.55 && 0.55 < found.ratio.high, "{found:?}");
    assert!(found.beyond.low < 1.02 && 1.02 < found.beyond.high, "{found:?}");
}

#[test]
fn without_reference_models_of_both_machines_none_is_called_faster() {
    let a = [made(&PLAIN, 1)];
    let b = [made(&Made { step_ns: 4e6, cpu: "another CPU", ..PLAIN }, 2)];
    let mut of_other_size = reference("mlp", 5e6, "another CPU", 4);
    of_other_size.report.fits[0].parameters = Some(7);
    for kept in [
        vec![],
        vec![reference("mlp", 10e6, "some CPU", 3)],
        vec![reference("mlp", 10e6, "some CPU", 3), of_other_size],
    ] {
        let mut comparison = compared(&a, &b);
        compare_machines(&mut comparison, &a, &b, &kept);
        assert_eq!((comparison.because, comparison.reference), (Some(Cause::DifferentMachines), None));
    }
}

/// Executions in turns, those of the second side slower by a factor; what every pair is off by scatters.
fn in_turns(factor: f64, scatter: f64, pairs: u64, limit: Option<f64>) -> Comparison {
    let mut chance = Chance::new(7);
    let mut side = |first: u64, factor: f64| -> Vec<ComparedRun> {
        let one = |at: u64| {
            let mut run = made(&Made { steps: 40, ..PLAIN }, first + at);
            run.report.wall_s = factor * (scatter * chance.normal()).exp();
            run
        };
        (0..pairs).map(one).collect()
    };
    let (a, b) = (side(1, 1.0), side(101, factor));
    let asked = Asked { fail_if_slower: limit, ..Asked::default() };
    let turns = Turns { measure: &Measure::Total, aa: Some((1.0, 1.01)) };
    compare_in_turns(("main", &a), ("this tree", &b), &turns, &asked)
}

#[test]
fn executions_in_turns_are_judged_by_their_pairs() {
    let slower = in_turns(1.2, 0.02, 6, Some(0.05));
    assert_eq!((slower.verdict, slower.timed), (Answer::Slower, Some(Timed::Run)));
    assert!(!slower.gate.unwrap().met);
    let pairs = slower.pairs.unwrap();
    assert_eq!(
        (pairs.measure.as_str(), pairs.count, pairs.a_s.len(), pairs.decided),
        ("total", 6, 6, Some(true))
    );
    assert_eq!(slower.aa.unwrap().ratio, 1.01);
    let equal = in_turns(1.0, 0.02, 6, Some(0.05));
    assert!(equal.gate.unwrap().met && equal.same_training == Some(true));
    let noisy = in_turns(1.06, 0.3, 6, Some(0.05));
    assert_eq!((noisy.verdict, noisy.because), (Answer::CannotTell, Some(Cause::Noise)));
    assert!(noisy.gate.unwrap().met && noisy.pairs.unwrap().decided == Some(false));
    assert_eq!(in_turns(1.2, 0.02, 6, None).gate, None);
}

#[test]
fn a_run_that_others_disturbed_is_not_called_slower_for_it() {
    let of = |quiet: f64, busy: f64, step_ns: f64| {
        let run = |trial: u64, step_ns: f64, pressure: f64| {
            let mut run = made(&Made { step_ns, ..PLAIN }, trial);
            run.report.machine.cpu_pressure = Some(pressure);
            run
        };
        compared(&[run(1, 20e6, quiet)], &[run(2, step_ns, busy)]).verdict
    };
    assert_eq!((of(0.02, 0.02, 22e6), of(0.02, 0.8, 30e6)), (Answer::Slower, Answer::CannotTell));
    assert_eq!((of(0.7, 0.7, 22e6), of(0.7, 0.7, 60e6)), (Answer::CannotTell, Answer::Slower));
}

#[test]
fn a_loss_that_parts_slowly_is_another_training() {
    let slow = Made { final_loss: 1.2, loss_noise: 0.05, ..PLAIN };
    let comparison = compared(&[made(&PLAIN, 1)], &[made(&slow, 2)]);
    assert_eq!(comparison.verdict, Answer::NotSameTraining);
}

#[test]
fn trainings_without_epochs_are_compared_by_their_windows() {
    let run = |wait: u64| {
        let mut script = Script::new();
        script.fit_of_steps(FitFacts::default());
        for step in 0..400 {
            script.step(&[(StageId::DATA_WAIT, wait + step % 7 * 1_000), (StageId::FORWARD, 1_000_000)], 8);
            script.between_steps();
        }
        script.end_fit().close();
        read(&script, RunMeta::default())
    };
    let comparison = compared(&[run(1_000_000)], &[run(100_000)]);
    assert_eq!((comparison.verdict, comparison.same_training), (Answer::Faster, Some(true)));
    assert_eq!(outcome(&comparison, "samples an epoch"), Outcome::Unknown);
    assert_eq!(outcome(&comparison, "samples a step"), Outcome::Agree);
    let changed: Vec<&str> =
        comparison.stages.iter().filter(|row| row.changed).map(|row| row.stage.as_str()).collect();
    assert_eq!(changed, ["data_wait"]);
}

#[test]
fn stages_of_a_device_are_compared_where_both_sides_have_them() {
    let run = |work: Option<u64>| {
        let mut script = Script::new();
        if work.is_some() {
            script.on_device().boundary(StageId::BETWEEN_EPOCHS);
        }
        script.fit(FitFacts::default());
        for _ in 0..5 {
            script.boundary(StageId::UNACCOUNTED).epoch();
            for _ in 0..20 {
                let start = Ticks(script.now);
                script.launch(0, StageId::FORWARD, 100_000, work.unwrap_or(0));
                script.wait_for_device(StageId::UNACCOUNTED).end_step(start, 8, None);
            }
            script.end_epoch();
        }
        script.end_fit().close();
        read(&script, RunMeta::default())
    };
    let comparison = compared(&[run(Some(1_000_000))], &[run(Some(2_000_000))]);
    assert_eq!(comparison.verdict, Answer::Slower);
    let rows = comparison.device_stages.unwrap();
    let forward = rows.iter().find(|row| row.stage == "forward").unwrap();
    assert!(forward.changed && (forward.b_s / forward.a_s - 2.0).abs() < 0.2, "{forward:?}");
    assert_eq!(compared(&[run(Some(1_000_000))], &[run(None)]).device_stages, None);
}

#[test]
fn several_fits_are_compared_one_by_one_and_together() {
    let run = |second: u64, fits: u64| {
        let mut script = Script::new();
        for fit in 0..fits {
            script.fit(FitFacts::default()).epoch();
            for step in 0..60 {
                let time = if fit == 1 { second } else { 50_000_000 };
                script.step(&[(StageId::FORWARD, time + step % 5 * 1_000)], 8);
            }
            script.end_epoch().end_fit();
        }
        script.close();
        read(&script, RunMeta::default())
    };
    let comparison = compared(&[run(50_000_000, 2)], &[run(100_000_000, 2)]);
    assert_eq!(comparison.verdict, Answer::Slower);
    let ratios: Vec<f64> = comparison.fits.iter().map(|fit| fit.b_s / fit.a_s).collect();
    assert!((ratios[0] - 1.0).abs() < 0.01 && (ratios[1] - 2.0).abs() < 0.01, "{ratios:?}");
    assert!((comparison.ratio.unwrap().mean - 1.5).abs() < 0.01, "{:?}", comparison.ratio);
    assert!(is_other_training(&compared(&[run(50_000_000, 2)], &[run(50_000_000, 3)])));
}

#[test]
fn steps_that_the_recorder_dropped_make_no_other_training() {
    let of = |epochs: usize, dropped: bool| {
        let mut run = made(&PLAIN, 2);
        for lap in run.report.epochs.iter_mut().take(epochs) {
            lap.samples = lap.samples.map(|samples| samples * 9 / 10);
        }
        run.report.warnings.extend(dropped.then_some(Warning::SpansDropped { count: 7 }));
        outcome(&compared(&[made(&PLAIN, 1)], &[run]), "samples an epoch")
    };
    assert_eq!((of(2, false), of(2, true)), (Outcome::Differ, Outcome::Agree));
    assert_eq!(of(5, true), Outcome::Unknown);
}

#[test]
fn how_a_training_computes_is_a_change_where_both_sides_say_so() {
    let run = |settings: &[(&str, &str)]| {
        let mut run = made(&PLAIN, 1);
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        run.report.fits[0].settings.extend(settings);
        run
    };
    let earlier = run(&[]);
    let (off, on) = (run(&[("torch.tf32", "off")]), run(&[("torch.tf32", "on"), ("torch.tensors", "6")]));
    let named =
        |a, b| compared(&[a], &[b]).environment.into_iter().map(|change| change.what).collect::<Vec<_>>();
    assert_eq!(named(off, on.clone()), ["torch.tf32"]);
    assert_eq!(named(earlier, on), Vec::<String>::new());
}
