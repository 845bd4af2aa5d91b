//! Sweeps on machines whose speed is planted.

use super::*;
use crate::sweep::planted::{finished, plan};
use crate::sweep::{Sweep, SweepFacts, Turn};

fn on(machine: &str, repeat: Repeat) -> Repeat {
    let node = Node { name: machine.to_owned(), machine: machine.to_owned(), cpus: 2 };
    Repeat { node: Some(node), ..repeat }
}

/// Every setting `x` on the machines that it is measured on, `x` seconds times the machine's factor, a little apart.
fn sweep(settings: &[&str], machines: impl Fn(usize, u32) -> (&'static str, f64)) -> Sweep {
    let plan = plan(&[("x", settings)]);
    let noise = [1.0, 1.004, 0.997, 1.002];
    let turns = (0..4).flat_map(|round| (0..settings.len()).map(move |point| Turn { round, point }));
    let repeats: Vec<Repeat> = turns
        .enumerate()
        .map(|(at, turn)| {
            let (machine, factor) = machines(turn.point, turn.round);
            let x: f64 = settings[turn.point].parse().unwrap();
            on(machine, finished(turn, x * factor * noise[(at * 7 + at / 3) % 4]))
        })
        .collect();
    Sweep::of(&plan, &repeats, SweepFacts::default())
}

fn texts(sweep: &Sweep) -> Vec<&str> {
    sweep.findings.iter().map(|finding| finding.text.as_str()).collect()
}

#[test]
fn settings_measured_on_unlike_machines_in_unlike_shares_are_compared_rightly() {
    // Setting 1 mostly on the slow machine, setting 2 mostly on the fast one: raw means would be about equal.
    let sweep = sweep(&["1", "2"], |point, round| match (point, round) {
        (0, 0) | (1, 0..=2) => ("fast", 1.0),
        _ => ("slow", 2.0),
    });
    let times: Vec<f64> = sweep.points.iter().map(|point| point.wall_s.unwrap().mean).collect();
    assert!((times[1] / times[0] - 2.0).abs() < 0.02, "{times:?}");
    assert!(sweep.points.iter().all(|point| point.wall_s.unwrap().precision().unwrap() < 0.02));
    let relative: Vec<(&str, f64)> =
        sweep.machines.iter().map(|one| (one.name.as_str(), one.relative.unwrap().mean)).collect();
    assert!(
        relative.iter().any(|(name, times)| *name == "slow" && (times - 2.0).abs() < 0.02),
        "{relative:?}"
    );
    assert!(
        texts(&sweep).iter().any(|text| {
            text.starts_with("settings are compared within machines: slow takes 2.")
                && text.ends_with(") the time of fast, and that is taken out")
        }),
        "{:?}",
        texts(&sweep)
    );
}

#[test]
fn settings_that_no_machine_has_in_common_are_said_to_be_incomparable() {
    let sweep = sweep(&["1", "2"], |point, _| if point == 0 { ("a", 1.0) } else { ("b", 1.0) });
    assert!(texts(&sweep).iter().any(|text| text.contains("measured on different machines only")));
    assert!(sweep.machines.iter().any(|machine| machine.relative.is_none()));
}

#[test]
fn machines_that_are_alike_are_said_to_be() {
    let sweep = sweep(&["1", "2", "3"], |_, round| if round % 2 == 0 { ("a", 1.0) } else { ("b", 1.0) });
    assert_eq!(
        texts(&sweep).last().copied(),
        Some("no difference is seen between the 2 machines; settings are compared within each")
    );
}

#[test]
fn settings_that_rank_differently_from_machine_to_machine_are_said_to() {
    let sweep = sweep(&["1", "2"], |point, round| match (round % 2, point) {
        (0, _) => ("a", 1.0),
        (_, 0) => ("b", 1.0),
        _ => ("b", 3.0),
    });
    assert!(
        texts(&sweep).iter().any(|text| text.starts_with("settings do not compare alike")),
        "{:?}",
        texts(&sweep)
    );
}

#[test]
fn intervals_are_no_narrower_for_the_machines_that_were_taken_out() {
    // Two settings on four machines once each: of six degrees of freedom three are left.
    let machines = [("a", 1.0), ("b", 1.1), ("c", 0.9), ("d", 1.3)];
    let two = sweep(&["1", "2"], |_, round| machines[round as usize]);
    let plan = plan(&[("x", &["1", "2"])]);
    let logs = |repeats: &[Repeat]| repeats.iter().map(|one| one.measured.wall_s.ln()).collect::<Vec<_>>();
    let repeats: Vec<Repeat> = (0..4)
        .flat_map(|round| (0..2).map(move |point| (round, point)))
        .map(|(round, point)| {
            let noise = if (round + point as u32).is_multiple_of(2) { 1.01 } else { 1.0 / 1.01 };
            let time = (point + 1) as f64 * machines[round as usize].1 * noise;
            on(machines[round as usize].0, finished(Turn { round, point }, time))
        })
        .collect();
    let even = evened(&plan, &repeats);
    let first: Vec<f64> = logs(&even).into_iter().step_by(2).collect();
    let variance = crate::statistics::variance(&first).unwrap();
    // The noise is ±0.00995 of which machines take half; spread out by √2 its variance is that over 3 degrees.
    let planted = 0.01_f64.ln_1p().powi(2) * 4.0 / 3.0;
    assert!((variance / planted - 2.0).abs() < 0.05, "{variance} {planted}");
    assert_eq!(two.machines.len(), 4);
}
