//! Evaluation that takes much of the training: evaluate less often.

use laptime_core::units::{duration, percent};

use super::super::cadence::Cadence;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "evaluation", subject: "evaluation", look };

/// Evaluation once an epoch is how trainings are watched: it is too much only from this share on.
const MUCH_ONCE_AN_EPOCH: f64 = 0.2;
/// Epochs between evaluations, where there is one each and it is too much.
const EPOCHS: f64 = 5.0;
/// Evaluation as often as this, as a share of an epoch's steps, is once an epoch.
const ONCE_AN_EPOCH: f64 = 0.9;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let training = &evidence.training;
    let spent = training.stage_s("evaluate");
    if spent <= 0.0 {
        return Outcome::DoesNotApply;
    }
    let times = evidence.row("evaluate").map_or(1, |row| row.count);
    let mut cadence = Cadence::of(evidence, spent, times);
    let once_an_epoch = cadence.every >= ONCE_AN_EPOCH * evidence.steps_per_epoch();
    if once_an_epoch && training.share("evaluate") < MUCH_ONCE_AN_EPOCH {
        return Outcome::Fine;
    }
    if once_an_epoch {
        cadence = Cadence::by(evidence, spent, times, EPOCHS);
    }
    // Keras evaluates by itself at the end of an epoch only; what callbacks do is the script's.
    let by_keras = evidence.is_of("keras") && once_an_epoch;
    Outcome::advice(Advised {
        title: format!("evaluate {:.0} times less often", cadence.less_often),
        because: format!(
            "evaluation takes {} of the training: {}, {} each",
            percent(training.share("evaluate")),
            cadence.every_text(),
            duration(cadence.each_s)
        ),
        change: match (by_keras, once_an_epoch) {
            (true, _) => format!("fit(…, validation_freq={:.0})", cadence.less_often),
            (false, true) => format!("evaluate every {EPOCHS:.0} epochs, or on fewer batches"),
            (false, false) => format!("evaluate {}, or on fewer batches", cadence.advised_text()),
        },
        speedup: cadence.speedup,
        injects: if by_keras { injected("validation_freq", cadence.less_often) } else { Vec::new() },
    })
}
