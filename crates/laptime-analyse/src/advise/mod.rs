//! Advise: what to change of a training, what that is expected to gain, and why here.
//!
//! Each rule is a file of `rules`. It looks at one thing in the evidence of a run and finds it fine, advises a change
//! with the speed-up that the run's own times predict, or says that it cannot tell. Gains that cannot be computed
//! beforehand have a typical range; `laptime advise --prove` decides.

mod cadence;
mod document;
mod evidence;
mod gpu;
mod hot;
pub mod loader_search;
mod machine;
mod pipeline;
#[cfg(test)]
mod planted;
mod quiet;
mod rule;
#[cfg(test)]
mod rule_tests;
mod rules;

pub use document::{ADVICE_SCHEMA, Advice, Item, MeasuredSpeedup, Proof, Speedup};
pub use evidence::Evidence;
pub use machine::{MACHINE_ADVICE_SCHEMA, MachineAdvice, MachineFacts, MachineItem, advise_machine};

pub(crate) use pipeline::{HAND_OVER_S, Pipeline};
pub(crate) use rules::{fixed_cost, workers_start_s};

use laptime_core::Change;

use crate::compare::ComparedRun;
use rule::Outcome;

/// Gains below this are below the noise of most machines, as a share.
const LEAST_GAIN: f64 = 0.03;

/// What to change of the training of a run, the largest gain first; `proofs` are those made before.
#[must_use]
pub fn advise(run: &ComparedRun, proofs: Vec<Proof>) -> Advice {
    let mut advice = Advice::of(run, proofs);
    let Some(evidence) = Evidence::of(run) else { return advice };
    advice.step_s = Some(evidence.training.step_s());
    for rule in rules::RULES {
        match (rule.look)(&evidence) {
            Outcome::Advice(advised) => advice.items.push(Item::of(rule, *advised, &advice.command)),
            Outcome::Fine => advice.fine.push(rule.subject),
            Outcome::Unknown(because) => advice.unknown.push((rule.subject, because)),
            Outcome::DoesNotApply => {}
        }
    }
    let noise = evidence.noise.max(LEAST_GAIN);
    let (items, small): (Vec<Item>, Vec<Item>) =
        advice.items.into_iter().partition(|item| item.speedup.middle() > 1.0 + noise);
    advice.fine.extend(small.iter().map(|item| item.subject));
    advice.items = items;
    advice.items.sort_by(|a, b| b.speedup.sure().total_cmp(&a.speedup.sure()));
    (1..).zip(&mut advice.items).for_each(|(number, item)| item.number = number);
    advice
}

/// A change that laptime can make by itself.
fn injected(name: &str, value: impl std::fmt::Display) -> Vec<Change> {
    vec![Change::new(name, value)]
}
