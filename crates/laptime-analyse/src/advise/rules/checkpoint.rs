//! Checkpoints that take much of the training: save less often.

use laptime_core::units::{duration, percent};

use super::super::cadence::Cadence;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "checkpoint", subject: "checkpoints", look };

fn look(evidence: &Evidence<'_>) -> Outcome {
    let training = &evidence.training;
    let spent = training.stage_s("checkpoint");
    let times = evidence.row("checkpoint").map_or(0, |row| row.count);
    // One at the end is what the training was for.
    if spent <= 0.0 || times < 2 {
        return Outcome::DoesNotApply;
    }
    let cadence = Cadence::of(evidence, spent, times);
    Outcome::advice(Advised {
        title: "save checkpoints less often".to_owned(),
        because: format!(
            "saving takes {} of the training: {}, {} each",
            percent(training.share("checkpoint")),
            cadence.every_text(),
            duration(cadence.each_s)
        ),
        change: format!("save {}", cadence.advised_text()),
        speedup: cadence.speedup,
        injects: Vec::new(),
    })
}
