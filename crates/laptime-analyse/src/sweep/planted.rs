//! Plans and repeats for tests.

use super::machine::MachineDuring;
use super::plan::{Goal, Parameter, Plan};
use super::repeat::{Measured, Outcome, Repeat};
use super::schedule::Turn;

pub(crate) fn plan(axes: &[(&str, &[&str])]) -> Plan {
    let parameter = |(name, values): &(&str, &[&str])| Parameter {
        name: (*name).to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    Plan {
        parameters: axes.iter().map(parameter).collect(),
        command: vec!["train".into()],
        seed: 7,
        goal: Goal { fewest: 3, most: 10, precision: 0.03, min_time_s: 0.0 },
        target: None,
    }
}

pub(crate) fn finished(turn: Turn, wall_s: f64) -> Repeat {
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

pub(crate) fn failed(turn: Turn) -> Repeat {
    Repeat { outcome: Outcome::Failed { reason: "exit code 1: boom".into() }, ..finished(turn, 0.1) }
}
