//! Callbacks and logging that take much of the training: call them less often.

use laptime_core::units::percent;

use super::super::cadence::Cadence;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "callbacks", subject: "callbacks and logging", look };

/// Stages in which a training tells others about itself: the frameworks' own, and what users call theirs.
const TELLING: [&str; 8] =
    ["callbacks", "log", "logging", "logger", "metrics", "tensorboard", "wandb", "mlflow"];

fn look(evidence: &Evidence<'_>) -> Outcome {
    let training = &evidence.training;
    let spent = |stage: &str| training.stage_s(stage);
    let Some(longest) = TELLING.into_iter().max_by(|a, b| spent(a).total_cmp(&spent(b))) else {
        return Outcome::DoesNotApply;
    };
    if spent(longest) <= 0.0 {
        return Outcome::DoesNotApply;
    }
    let cadence = Cadence::of(evidence, spent(longest), evidence.row(longest).map_or(1, |row| row.count));
    let (title, change) = match longest {
        "callbacks" => (
            "call callbacks less often".to_owned(),
            format!(
                "leave out callbacks that work at every batch, or let them work at one of {:.0}",
                cadence.less_often
            ),
        ),
        stage => (
            format!("log {:.0} times less often", cadence.less_often),
            format!("enter stage `{stage}` {}", cadence.advised_text()),
        ),
    };
    Outcome::advice(Advised {
        title,
        because: format!(
            "{longest} takes {} of the training, {}",
            percent(training.share(longest)),
            cadence.every_text()
        ),
        change,
        speedup: cadence.speedup,
        injects: Vec::new(),
    })
}
