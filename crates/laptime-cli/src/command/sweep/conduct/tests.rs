//! Whole sweeps against a scripted world: no process is started and no time passes.

use laptime_analyse::sweep::{Goal, MachineDuring, Measured, Outcome, Parameter, Plan, PointStatus, Taint};

use super::*;

/// Takes its repeats from a script and its time from them.
struct Scripted<F> {
    script: F,
    elapsed: Duration,
    limits: Vec<Option<Duration>>,
    kept: usize,
}

impl<F: FnMut(Turn) -> Option<Repeat>> World for Scripted<F> {
    fn measure(&mut self, _: &SweepState, turn: Turn, limit: Option<Duration>) -> Attempt {
        self.limits.push(limit);
        let Some(repeat) = (self.script)(turn) else { return Attempt::Interrupted };
        self.elapsed += Duration::from_secs_f64(repeat.measured.wall_s);
        Attempt::Made(Box::new(repeat))
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }

    fn keep(&mut self, _: &SweepState) {
        self.kept += 1;
    }
}

fn sweep(points: usize) -> SweepState {
    let values = (1..=points).map(|value| value.to_string()).collect();
    let plan = Plan {
        parameters: vec![Parameter { name: "x".into(), values }],
        command: vec!["sleep".into(), "{x}".into()],
        seed: 3,
        goal: Goal { fewest: 3, most: 5, precision: 0.03, min_time_s: 0.0 },
        target: None,
    };
    SweepState::new("id", 0, plan)
}

fn took(turn: Turn, wall_s: f64) -> Repeat {
    Repeat {
        point: turn.point,
        round: turn.round,
        run: None,
        outcome: Outcome::Finished,
        measured: Measured { wall_s, ..Measured::default() },
        machine: MachineDuring::default(),
        taints: Vec::new(),
        node: None,
    }
}

fn conducted<F: FnMut(Turn) -> Option<Repeat>>(state: &mut SweepState, script: F) -> Scripted<F> {
    let mut world = Scripted { script, elapsed: Duration::ZERO, limits: Vec::new(), kept: 0 };
    conduct(state, &mut world);
    world
}

#[test]
fn a_sweep_with_crashes_a_hang_and_a_loaded_machine_ends_right() {
    let mut state = sweep(10);
    let mut number = 0;
    conducted(&mut state, |turn| {
        number += 1;
        let seconds = (turn.point + 1) as f64;
        let crash = Outcome::Failed { reason: "exit code 1: boom".into() };
        let hang = Outcome::TimedOut { reason: "timed out after 60 s".into() };
        Some(match turn.point {
            3 | 8 => Repeat { outcome: crash, ..took(turn, 0.1) },
            5 => Repeat { outcome: hang, ..took(turn, 60.0) },
            // Under load everything takes twice as long.
            _ if number % 2 == 0 => Repeat { taints: vec![Taint::OthersBusy], ..took(turn, 2.0 * seconds) },
            _ => took(turn, seconds),
        })
    });
    assert_eq!(state.status, SweepStatus::Finished);
    for (at, point) in state.document().points.iter().enumerate() {
        match at {
            3 | 8 => assert_eq!((point.status, point.tried), (PointStatus::Failed, 1)),
            5 => assert_eq!((point.status, point.tried), (PointStatus::TimedOut, 1)),
            _ => {
                assert_eq!(point.status, PointStatus::Finished);
                let mean = point.wall_s.unwrap().mean;
                if !point.tainted {
                    assert_eq!(mean, (at + 1) as f64);
                }
                assert!(point.tried <= 8, "{}", point.tried);
            }
        }
    }
    let clean = state.document().points.iter().filter(|point| point.repeats > 1 && !point.tainted).count();
    assert!(clean >= 5, "only {clean} of 7 were measured clean");
}

#[test]
fn an_interrupted_sweep_keeps_what_is_done_and_goes_on_in_the_same_order() {
    let mut whole = sweep(4);
    conducted(&mut whole, |turn| Some(took(turn, 1.0)));
    let mut state = sweep(4);
    let mut left = 5;
    let world = conducted(&mut state, |turn| {
        left -= 1;
        (left >= 0).then(|| took(turn, 1.0))
    });
    assert_eq!((state.status, state.repeats.len(), world.kept), (SweepStatus::Interrupted, 5, 6));
    conducted(&mut state, |turn| Some(took(turn, 1.0)));
    assert_eq!(state.repeats, whole.repeats);
    assert_eq!((state.status, state.wall_s), (SweepStatus::Finished, 12.0));
}

#[test]
fn nothing_is_started_that_does_not_fit_into_the_budget() {
    let mut state = sweep(4);
    state.limits.budget_s = Some(7.5);
    let world = conducted(&mut state, |turn| Some(took(turn, 2.0)));
    // Four first repeats take 8 s; the last of them began with 1.5 s left, the next would not end in time.
    assert_eq!((state.status, state.repeats.len()), (SweepStatus::BudgetSpent, 4));
    assert_eq!(world.limits[0], Some(Duration::from_secs_f64(3.75)));
}

#[test]
fn time_is_up_only_for_what_is_far_slower_than_anything_before() {
    let mut state = sweep(2);
    let world = conducted(&mut state, |turn| Some(took(turn, 20.0)));
    let seconds = |limit: &Option<Duration>| limit.map(|limit| limit.as_secs_f64());
    let limits: Vec<Option<f64>> = world.limits.iter().map(seconds).collect();
    assert_eq!(limits[..3], [None, Some(2_000.0), Some(200.0)]);
    state = sweep(2);
    state.limits.timeout_s = Some(5.0);
    let world = conducted(&mut state, |turn| Some(took(turn, 1.0)));
    assert!(world.limits.iter().all(|limit| *limit == Some(Duration::from_secs(5))));
}
