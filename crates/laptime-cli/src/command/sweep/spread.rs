//! Conducts a sweep on several machines: on each as many repeats at a time as it takes.

use std::collections::HashMap;
use std::time::Duration;

use laptime_analyse::sweep::{MachineDuring, Measured, Outcome, Repeat, SweepStatus, Turn, next_turn_on};

use super::conduct::{budget_is_spent, limit};
use super::state::SweepState;

/// A repeat that ends without a word this often on nodes that live is one that does not work.
const MOST_LOSSES: u32 = 3;

/// What happened on the machines.
pub(super) enum Event {
    /// A repeat was made, well or not.
    Made(Turn, Box<Repeat>),
    /// A repeat is lost and has to be made again; `alone` when its node is still there.
    Lost { turn: Turn, reason: String, alone: bool },
    /// Nothing, for a while.
    Nothing,
    /// Somebody stopped the sweep, or there is no machine left to wait for.
    Stopped,
}

/// What such a sweep asks of the world; tests script it.
pub(super) trait Machines {
    /// The machines that have room, one name for every repeat that they would take.
    fn room(&self) -> Vec<String>;
    /// Begins a repeat on a machine, which ends it after that time.
    fn begin(&mut self, state: &SweepState, turn: Turn, machine: &str, limit: Option<Duration>);
    /// Waits for something to happen.
    fn next(&mut self, state: &SweepState) -> Event;
    /// Since the sweep was started or resumed.
    fn elapsed(&self) -> Duration;
    /// Keeps the sweep and reports its progress; called after every repeat.
    fn keep(&mut self, state: &SweepState);
}

/// Makes every repeat that is wanted; the sweep then says how it stands.
pub(super) fn conduct_on(state: &mut SweepState, machines: &mut dyn Machines) {
    let before = state.wall_s;
    let mut running: Vec<Turn> = Vec::new();
    let mut losses: HashMap<(u32, usize), u32> = HashMap::new();
    state.status = loop {
        let out_of_time = begin_all(state, machines, &mut running);
        if running.is_empty() && out_of_time {
            break SweepStatus::BudgetSpent;
        }
        if running.is_empty() && next_turn_on(&state.plan, &state.repeats, &[], None).is_none() {
            break SweepStatus::Finished;
        }
        match machines.next(state) {
            Event::Nothing => continue,
            Event::Stopped => break SweepStatus::Interrupted,
            Event::Made(turn, repeat) => {
                running.retain(|other| *other != turn);
                state.repeats.push(*repeat);
            }
            Event::Lost { turn, reason, alone } => {
                running.retain(|other| *other != turn);
                let times = losses.entry((turn.round, turn.point)).or_default();
                *times += u32::from(alone);
                if *times < MOST_LOSSES {
                    continue;
                }
                state.repeats.push(given_up(turn, &reason));
            }
        }
        state.wall_s = before + machines.elapsed().as_secs_f64();
        machines.keep(state);
    };
    state.wall_s = before + machines.elapsed().as_secs_f64();
    machines.keep(state);
}

/// Begins a repeat wherever there is room and one is wanted; says whether time forbids another.
fn begin_all(state: &SweepState, machines: &mut dyn Machines, running: &mut Vec<Turn>) -> bool {
    for machine in machines.room() {
        let Some(turn) = next_turn_on(&state.plan, &state.repeats, running, Some(&machine)) else { break };
        if budget_is_spent(state, turn, machines.elapsed()) {
            return true;
        }
        let limit = limit(state, turn, machines.elapsed());
        machines.begin(state, turn, &machine, limit);
        running.push(turn);
    }
    false
}

fn given_up(turn: Turn, reason: &str) -> Repeat {
    Repeat {
        point: turn.point,
        round: turn.round,
        run: None,
        outcome: Outcome::Killed { reason: format!("lost {MOST_LOSSES} times: {reason}") },
        measured: Measured::default(),
        machine: MachineDuring::default(),
        taints: Vec::new(),
        node: None,
    }
}

#[cfg(test)]
mod tests;
