//! Garbage collection that takes much of the training: freeze what lives on, collect between epochs.

use laptime_core::units::percent;

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "garbage", subject: "garbage collection", look };

/// How far the prediction may be off: collections also leave caches cold, and objects live longer without them.
const UNCERTAIN: f64 = 0.12;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let training = &evidence.training;
    let spent = training.stage_s("garbage_collection");
    if !evidence.is_python() {
        return Outcome::DoesNotApply;
    }
    if spent <= 0.0 {
        return Outcome::Fine;
    }
    Outcome::advice(Advised {
        title: "collect garbage between epochs".to_owned(),
        because: format!(
            "garbage collection takes {} of the training: each goes through all objects that live on",
            percent(training.share("garbage_collection"))
        ),
        change: "gc.freeze() and gc.disable() before the loop, gc.collect() between epochs".to_owned(),
        speedup: Speedup::around(evidence.without(spent), UNCERTAIN),
        injects: injected("gc", "off"),
    })
}
