//! Whole sweeps on scripted machines: nothing is started and no time passes.

use std::collections::VecDeque;

use laptime_analyse::sweep::{Goal, Node, Parameter, Plan};

use super::*;

/// Machines whose repeats end in the order they began, unless the script says otherwise.
struct Scripted<F> {
    room: Vec<String>,
    running: VecDeque<(Turn, String)>,
    /// What comes of a repeat on a machine.
    script: F,
    elapsed: Duration,
    begun: usize,
}

impl<F: FnMut(Turn, &str) -> Event> Machines for Scripted<F> {
    fn room(&self) -> Vec<String> {
        let busy = |machine: &&String| self.running.iter().any(|(_, on)| on == *machine);
        self.room.iter().filter(|machine| !busy(machine)).cloned().collect()
    }

    fn begin(&mut self, _: &SweepState, turn: Turn, machine: &str, _: Option<Duration>) {
        assert!(self.running.iter().all(|(other, on)| other.point != turn.point && on != machine));
        self.running.push_back((turn, machine.to_owned()));
        self.begun += 1;
    }

    fn next(&mut self, _: &SweepState) -> Event {
        let (turn, machine) = self.running.pop_front().unwrap();
        let event = (self.script)(turn, &machine);
        if let Event::Made(_, repeat) = &event {
            self.elapsed += Duration::from_secs_f64(repeat.measured.wall_s);
        }
        if matches!(event, Event::Lost { alone: false, .. }) {
            self.room.retain(|other| *other != machine);
        }
        event
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }

    fn keep(&mut self, _: &SweepState) {}
}

fn sweep() -> SweepState {
    let values = (1..=4).map(|value| value.to_string()).collect();
    let plan = Plan {
        parameters: vec![Parameter { name: "x".into(), values }],
        command: vec!["sleep".into(), "{x}".into()],
        seed: 3,
        goal: Goal { fewest: 3, most: 3, precision: 0.03, min_time_s: 0.0 },
        target: None,
    };
    SweepState::new("id", 0, plan)
}

fn made(turn: Turn, machine: &str) -> Event {
    let measured = Measured { wall_s: 1.0, ..Measured::default() };
    let node = Some(Node { machine: machine.to_owned(), ..Node::default() });
    let repeat = Repeat { outcome: Outcome::Finished, measured, node, ..given_up(turn, "") };
    Event::Made(turn, Box::new(repeat))
}

fn conducted<F: FnMut(Turn, &str) -> Event>(state: &mut SweepState, script: F) -> usize {
    let room = ["a", "b", "c"].map(str::to_owned).to_vec();
    let mut world = Scripted { room, running: VecDeque::new(), script, elapsed: Duration::ZERO, begun: 0 };
    conduct_on(state, &mut world);
    world.begun
}

fn lost(turn: Turn, alone: bool) -> Event {
    Event::Lost { turn, reason: "gone".to_owned(), alone }
}

#[test]
fn a_machine_that_is_lost_loses_no_repeat_that_was_made_and_its_running_one_is_made_again() {
    let (mut state, mut number) = (sweep(), 0);
    let begun = conducted(&mut state, |turn, machine| {
        number += 1;
        if number == 5 { lost(turn, false) } else { made(turn, machine) }
    });
    assert_eq!((state.status, state.repeats.len(), begun), (SweepStatus::Finished, 12, 13));
    let mut made: Vec<(u32, usize)> = state.repeats.iter().map(|one| (one.round, one.point)).collect();
    made.sort_unstable();
    made.dedup();
    assert_eq!(made.len(), 12);
}

#[test]
fn a_repeat_that_is_lost_again_and_again_on_living_nodes_is_a_point_that_does_not_work() {
    let mut state = sweep();
    let begun = conducted(
        &mut state,
        |turn, machine| {
            if turn.point == 2 { lost(turn, true) } else { made(turn, machine) }
        },
    );
    assert_eq!((state.status, begun), (SweepStatus::Finished, 9 + 3));
    let point = &state.document().points[2];
    assert_eq!(point.reason.as_deref(), Some("lost 3 times: gone"));
}

#[test]
fn a_sweep_that_was_stopped_goes_on_with_what_is_missing_and_makes_nothing_twice() {
    let (mut state, mut left) = (sweep(), 5);
    conducted(&mut state, |turn, machine| {
        left -= 1;
        if left < 0 { Event::Stopped } else { made(turn, machine) }
    });
    assert_eq!((state.status, state.repeats.len()), (SweepStatus::Interrupted, 5));
    let begun = conducted(&mut state, made);
    assert_eq!((state.status, state.repeats.len(), begun), (SweepStatus::Finished, 12, 7));
}

#[test]
fn no_repeat_is_begun_that_does_not_fit_into_the_budget() {
    let mut state = sweep();
    state.limits.budget_s = Some(4.5);
    conducted(&mut state, made);
    assert_eq!(state.status, SweepStatus::BudgetSpent);
    assert!(state.repeats.len() < 12);
}
