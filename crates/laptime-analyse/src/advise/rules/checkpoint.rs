//! Checkpoints that take much of the training: save less often.

use laptime_core::units::{duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "checkpoint", subject: "checkpoints", look };

/// Checkpoints are saved this many times less often.
const LESS_OFTEN: f64 = 100.0;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let training = &evidence.training;
    let spent = training.stage_s("checkpoint");
    if spent <= 0.0 {
        return Outcome::DoesNotApply;
    }
    let row = evidence.report.ledger.iter().find(|row| row.stage == "checkpoint");
    let count = row.map_or(1, |row| row.count.max(1)) as f64;
    let every = (evidence.fit.steps as f64 / count).max(1.0);
    Outcome::advice(Advised {
        title: "save checkpoints less often".to_owned(),
        because: format!(
            "saving takes {} of the training: every {every:.0} steps, {} each",
            percent(training.share("checkpoint")),
            duration(row.map_or(0.0, |row| row.seconds / count))
        ),
        change: format!("save every {:.0} steps", every * LESS_OFTEN),
        speedup: Speedup::around(evidence.without(spent * (1.0 - 1.0 / LESS_OFTEN)), 0.1),
        injects: Vec::new(),
    })
}
