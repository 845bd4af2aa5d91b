//! Workers that are started anew for every epoch: keep them.

use laptime_core::units::duration;

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};
use crate::report::EpochSummary;
use crate::statistics::mean;

pub(super) const RULE: Rule = Rule { id: "persistent_workers", subject: "first batch of each epoch", look };

/// What a step counts as its wait for a batch.
const WAITS: [&str; 2] = ["data_wait", "prepare"];
/// How far the prediction may be off.
const UNCERTAIN: f64 = 0.1;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let fit = evidence.fit;
    if fit.workers.unwrap_or(0) == 0 || fit.epochs < 2 {
        return Outcome::DoesNotApply;
    }
    let Some((first, later)) = waits(evidence) else {
        return Outcome::Unknown("there are too many steps to tell the first ones of the epochs".to_owned());
    };
    let spared = start_s(evidence, (first, later));
    if spared <= 0.0 || evidence.setting("torch.persistent_workers") == Some("yes") {
        return Outcome::Fine;
    }
    let gain = evidence.without(spared * evidence.training.laps as f64);
    Outcome::advice(Advised {
        title: "keep the workers from epoch to epoch".to_owned(),
        because: format!(
            "the first batch of an epoch of {:.0} steps comes after {}, others after {}: the workers start anew",
            evidence.steps_per_epoch(),
            duration(first),
            duration(later)
        ),
        change: "DataLoader(…, persistent_workers=True)".to_owned(),
        speedup: Speedup::around(gain, UNCERTAIN),
        injects: injected("persistent_workers", 1),
    })
}

/// What workers that start anew with each epoch took to start and to end, seconds; `None` where they are kept or too
/// little was seen.
pub(crate) fn workers_start_s(evidence: &Evidence<'_>) -> Option<f64> {
    let start_anew = evidence.fit.workers? > 0 && evidence.setting("torch.persistent_workers") == Some("no");
    waits(evidence).filter(|_| start_anew).map(|waits| start_s(evidence, waits).max(0.0))
}

/// The wait for a first batch without what it takes to load, whoever does that; seconds.
fn start_s(evidence: &Evidence<'_>, (first, later): (f64, f64)) -> f64 {
    first - evidence.run.passes.worker_loading.map_or(later, |loading| loading.seconds.max(later))
}

/// The mean wait for the first batch of the epochs after the first, and that for the other batches, seconds.
///
/// The first is what is left of an epoch's waits beside those of its other steps: to start workers, to load a batch and
/// to end workers, of which a step has only a part.
pub(super) fn waits(evidence: &Evidence<'_>) -> Option<(f64, f64)> {
    let steps = evidence.run.single_steps(evidence.fit.index)?;
    let is_later = |lap: &&EpochSummary| lap.fit == evidence.fit.index && lap.index > 0 && lap.count == 1;
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for lap in evidence.report.epochs.iter().filter(is_later) {
        let begin = lap.first_step as usize;
        let others = steps.get(begin + 1..begin + lap.steps as usize)?;
        let others: Vec<f64> = others.iter().map(|(_, wait, _)| *wait).collect();
        let waited: f64 = WAITS.iter().filter_map(|stage| lap.stages.get(*stage)).sum();
        first.push(waited - others.iter().sum::<f64>());
        later.extend(others);
    }
    mean(&first).zip(mean(&later))
}
