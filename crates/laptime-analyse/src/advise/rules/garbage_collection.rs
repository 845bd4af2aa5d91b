//! Garbage collection that takes much of the training: freeze what lives on, collect between epochs.

use laptime_core::units::percent;

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "garbage_collection", subject: "garbage collection", look };

/// How far the prediction may be off: at least by noise; at most by the collections of the youngest objects, which are
/// not on record, and by caches that collections leave cold, as a part of those that are.
const UNCERTAIN: f64 = 0.05;
const UNSEEN: f64 = 0.25;
/// A prediction is at most 25 % wide to either side.
const WIDEST: f64 = 1.5;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let training = &evidence.training;
    let spent = training.stage_s("garbage_collection");
    if !evidence.is_python() {
        return Outcome::DoesNotApply;
    }
    if spent <= 0.0 {
        return Outcome::Fine;
    }
    let low = evidence.without(spent) / (1.0 + UNCERTAIN);
    let high = evidence.without(spent * (1.0 + UNSEEN)).min(low * WIDEST);
    Outcome::advice(Advised {
        title: "collect garbage between epochs".to_owned(),
        because: format!(
            "garbage collection takes {} of the training: each goes through all objects that live on",
            percent(training.share("garbage_collection"))
        ),
        change: "gc.freeze() and gc.disable() before the loop, gc.collect() between epochs".to_owned(),
        speedup: Speedup::predicted(low, high),
        injects: injected("gc", "off"),
    })
}
