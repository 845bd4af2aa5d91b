//! Compare: whether one side's runs train faster than the other's, and what changed.
//!
//! Steps of one run resemble their neighbours, and a machine varies from run to run more than from step to step. So
//! a run's mean is judged by the means of stretches of its steps, and where a side has several runs, by how those
//! differ. Runs that did not train the same are never called faster.

mod document;
mod efficiency;
mod environment;
mod gate;
mod in_turns;
mod loss;
mod outside;
mod paired;
mod ratio;
mod reference;
mod run;
mod sequential;
mod series;
mod stages;
mod training;
mod verdict;

pub use document::{
    Alike, Answer, Apart, COMPARE_SCHEMA, Cause, Change, ChangeKind, Check, Comparison, FitRatio, Gate, More,
    Outcome, Pairs, RanksGain, Reference, RunRef, SideSummary, StageChange, Timed,
};
pub use in_turns::{Turns, compare_in_turns};
pub use paired::{JudgedPairs, Measure, judged_pairs, paired_ratio};
pub use reference::compare_machines;
pub use run::ComparedRun;
pub use sequential::{Decision, Goal, decision, more_pairs, sequential_ratio, wants_another_pair};

use environment::changes;
use gate::gate;
use outside::apart;
use ratio::Ratio;
use run::Side;
use stages::{Track, stage_changes};
use training::checks;
use verdict::answer;

/// What is asked of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The share that times may differ by and still be the same to anybody.
    pub same_within: f64,
    /// The share that the second side may be slower by, where that is a condition.
    pub fail_if_slower: Option<f64>,
}

/// Times within this share are the same to anybody, unless another one is asked for.
pub const SAME_WITHIN: f64 = 0.02;

impl Default for Asked {
    fn default() -> Self {
        Self { same_within: SAME_WITHIN, fail_if_slower: None }
    }
}

/// Compares the runs of one side with those of another; each has a name that it is shown by.
#[must_use]
pub fn compare(a: (&str, &[ComparedRun]), b: (&str, &[ComparedRun]), asked: &Asked) -> Comparison {
    let (a, b) = (Side::new(a.0, a.1), Side::new(b.0, b.1));
    let (timed, ratio) =
        Ratio::of_sides(&a, &b).map_or((None, None), |(timed, ratio)| (Some(timed), Some(ratio)));
    let training = checks(&a, &b);
    let environment = changes(&a, &b);
    let answer = answer(&a, &b, ratio.as_ref(), &training, &environment, asked.same_within);
    let noise = ratio.as_ref().and_then(Ratio::half_width).unwrap_or(0.0).max(asked.same_within.ln_1p());
    let mut comparison = Comparison {
        schema: COMPARE_SCHEMA,
        verdict: answer.answer,
        because: answer.because,
        ratio: ratio.as_ref().and_then(Ratio::estimate),
        timed,
        a_s: ratio.as_ref().map(|ratio| ratio.a_s),
        b_s: ratio.as_ref().map(|ratio| ratio.b_s),
        same_within: asked.same_within,
        between_runs_seen: ratio.as_ref().is_some_and(|ratio| ratio.between_runs),
        more: answer.more,
        same_training: training::is_same(&training),
        training,
        stages: stage_changes(&a, &b, Track::Host, noise).unwrap_or_default(),
        device_stages: stage_changes(&a, &b, Track::Device, noise),
        fits: ratio::fits(&a, &b),
        apart: apart(&a, &b),
        ranks: efficiency::gain(&a, &b),
        environment,
        gate: None,
        pairs: None,
        aa: None,
        reference: None,
        a: a.summary(),
        b: b.summary(),
    };
    comparison.gate = asked.fail_if_slower.map(|limit| gate(&comparison, limit));
    comparison
}
