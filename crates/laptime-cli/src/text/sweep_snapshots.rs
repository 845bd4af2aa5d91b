//! Sweeps as they look, on made-up numbers that never change.

use laptime_analyse::sweep::{
    Goal, MachineDuring, Measured, Moment, Node, Outcome, Parameter, Plan, Repeat, Sweep, SweepFacts,
    SweepStatus, Taint, Target, TargetMetric,
};

use super::style::Style;
use super::{sweep_csv, sweep_markdown, sweep_text};

fn plan(name: &str, values: &[&str]) -> Plan {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    Plan {
        parameters: vec![Parameter { name: name.to_owned(), values }],
        command: ["python", "train.py", &format!("{{{name}}}")].map(str::to_owned).to_vec(),
        seed: 1,
        goal: Goal { fewest: 3, most: 3, precision: 0.03, min_time_s: 0.0 },
        target: None,
    }
}

fn repeat(point: usize, round: u32, measured: Measured) -> Repeat {
    let (machine, taints) = (MachineDuring::default(), Vec::new());
    Repeat { point, round, run: None, outcome: Outcome::Finished, measured, machine, taints, node: None }
}

fn facts(repeats: &[Repeat]) -> SweepFacts {
    SweepFacts {
        id: "20261115T101500Z-3f9a2c71".into(),
        command: plan("batch", &[]).command,
        status: SweepStatus::Finished,
        started: "2026-11-15T10:15:00.000Z".into(),
        wall_s: 72.0,
        seed: 1,
        repeats: repeats.len() as u64,
        cpus: 2,
    }
}

/// Batches that take a launch and then grow, one that fails and one that was disturbed.
fn batches() -> Sweep {
    let plan = plan("batch", &["32", "64", "128", "256", "512", "4096"]);
    let mut repeats = Vec::new();
    for round in 0..3_u32 {
        for (point, batch) in [32_u64, 64, 128, 256, 512].into_iter().enumerate() {
            let step = (41e-6 + 0.11e-6 * batch as f64) * (1.0 + 0.004 * (f64::from(round) - 1.0));
            let mut one = repeat(
                point,
                round,
                Measured {
                    wall_s: 1.5,
                    step_s: Some(step),
                    epoch_s: Some(step * 10_000.0 / batch as f64),
                    samples_per_s: Some(batch as f64 / step),
                    epochs: Some(3),
                    batch: Some(batch),
                    ..Measured::default()
                },
            );
            one.taints.extend((point == 1 && round > 0).then_some(Taint::OthersBusy));
            repeats.push(one);
        }
    }
    let reason = "exit code 1: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB";
    let outcome = Outcome::Failed { reason: reason.into() };
    repeats.push(Repeat { outcome, ..repeat(5, 0, Measured::default()) });
    Sweep::of(&plan, &repeats, facts(&repeats))
}

/// Optimizers on their way to a loss; one does not get there.
fn optimizers() -> Sweep {
    let plan = plan("opt", &["sgd", "momentum", "adam"]);
    let mut repeats = Vec::new();
    for round in 0..3_u32 {
        for (point, fall) in [0.9_f64, 0.5, 0.6].into_iter().enumerate() {
            let each = 0.1 * (1.0 + point as f64 * 0.3) * (1.0 + 0.01 * (f64::from(round) - 1.0));
            let moment = |epochs: u64| Moment {
                epochs,
                steps: 32 * epochs,
                at_s: each * epochs as f64,
                loss: Some(fall.powf(epochs as f64)),
                accuracy: None,
            };
            let course: Vec<Moment> = (1..=10).map(moment).collect();
            let arrival = course.iter().find(|moment| moment.loss.is_some_and(|loss| loss <= 0.05)).copied();
            repeats.push(repeat(
                point,
                round,
                Measured {
                    wall_s: each * 10.0,
                    step_s: Some(each / 32.0),
                    target: Some(Target { metric: TargetMetric::Loss, value: 0.05 }),
                    arrival,
                    loss: course.last().and_then(|moment| moment.loss),
                    course,
                    ..Measured::default()
                },
            ));
        }
    }
    Sweep::of(&plan, &repeats, facts(&repeats))
}

/// Settings on two machines, of which one is slower.
fn on_machines() -> Sweep {
    let plan = plan("layers", &["4", "8"]);
    let repeats: Vec<Repeat> = (0..8_u32)
        .map(|at| {
            let (round, point) = (at / 2, at as usize % 2);
            let slow = (round + point as u32) % 2 == 1;
            let noise = 1.0 + 0.002 * f64::from(at * 5 % 8);
            let wall_s = (point + 1) as f64 * noise * if slow { 1.4 } else { 1.0 };
            let name = if slow { "gpu-b" } else { "gpu-a" };
            let node = Node { name: name.to_owned(), machine: name.to_owned(), cpus: 16 };
            Repeat { node: Some(node), ..repeat(point, round, Measured { wall_s, ..Measured::default() }) }
        })
        .collect();
    Sweep::of(&plan, &repeats, facts(&repeats))
}

fn text(sweep: &Sweep, style: Style) -> String {
    let text = sweep_text(sweep, ".laptime/sweeps/20261115T101500Z-3f9a2c71", &style);
    assert!(text.lines().all(|line| line.chars().count() <= style.width), "{text}");
    text
}

#[test]
fn a_batch_sweep_has_its_law_its_best_its_chart_and_what_failed() {
    insta::assert_snapshot!(text(&batches(), Style::default()));
}

#[test]
fn a_narrow_terminal_without_unicode_still_shows_what_matters() {
    insta::assert_snapshot!(text(&batches(), Style { width: 44, unicode: false, ..Style::default() }));
}

#[test]
fn optimizers_are_compared_by_the_time_to_the_loss() {
    insta::assert_snapshot!(text(&optimizers(), Style::default()));
}

#[test]
fn machines_are_a_table_and_what_they_do_is_taken_out() {
    let text = text(&on_machines(), Style { width: 80, color: false, unicode: true });
    let before_charts = text.split("\n\ntime by").next();
    insta::assert_snapshot!(before_charts.unwrap_or_default());
}

#[test]
fn points_as_values_and_as_markdown() {
    insta::assert_snapshot!(format!("{}\n{}", sweep_csv(&batches()), sweep_markdown(&batches())));
}
