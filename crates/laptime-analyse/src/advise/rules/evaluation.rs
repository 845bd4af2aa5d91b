//! Evaluation that takes much of the training: evaluate less often.

use laptime_core::units::{duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "evaluation", subject: "evaluation", look };

/// Evaluations are made this many times less often.
const LESS_OFTEN: f64 = 10.0;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let training = &evidence.training;
    let spent = training.stage_s("evaluate");
    if spent <= 0.0 {
        return Outcome::DoesNotApply;
    }
    let count =
        evidence.report.ledger.iter().find(|row| row.stage == "evaluate").map_or(1, |row| row.count.max(1));
    let every = evidence.fit.steps as f64 / count as f64;
    let speedup = evidence.without(spent * (1.0 - 1.0 / LESS_OFTEN));
    let is_keras = evidence.fit.framework.as_deref() == Some("keras");
    Outcome::advice(Advised {
        title: "evaluate 10 times less often".to_owned(),
        because: format!(
            "evaluation takes {} of the training: every {every:.0} steps, {} each",
            percent(training.share("evaluate")),
            duration(spent / (training.steps as f64 / every))
        ),
        change: format!("evaluate every {:.0} steps", every * LESS_OFTEN),
        speedup: Speedup::around(speedup, 0.1),
        injects: if is_keras { super::super::injected("validation_freq", LESS_OFTEN) } else { Vec::new() },
    })
}
