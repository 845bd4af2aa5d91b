//! Gradients that are computed and thrown away.

use laptime_core::units::{count, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "discarded_gradients", subject: "gradients", look };

/// How far the prediction may be off.
const UNCERTAIN: f64 = 0.12;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let fit = evidence.fit;
    let (Some(discarded), Some(updates)) = (fit.discarded_gradients, fit.updates) else {
        return Outcome::DoesNotApply;
    };
    let share = discarded as f64 / (discarded + updates).max(1) as f64;
    let training = &evidence.training;
    let passes: f64 = ["data_wait", "prepare", "forward", "loss", "backward"]
        .map(|stage| training.stage_s(stage))
        .iter()
        .sum();
    Outcome::advice(Advised {
        title: "compute only gradients that are used".to_owned(),
        because: format!(
            "{} backward passes were cleared before an update used them, {} of all",
            count(discarded),
            percent(share)
        ),
        change: "leave those micro-batches out; or, so that they count, zero_grad() only after step()"
            .to_owned(),
        speedup: Speedup::around(evidence.without(passes * share), UNCERTAIN),
        injects: Vec::new(),
    })
}
