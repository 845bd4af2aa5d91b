//! Updates that take much of a step of few samples: update once for several batches.

use laptime_core::units::percent;

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::gpu::Gpu;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "accumulation", subject: "updates", look };

/// Batches above this are a choice that belongs to the training.
const SMALL: u64 = 16;
/// From this share of the training on, updates are worth a change.
const MUCH: f64 = 0.2;
/// Batches of one update.
const BATCHES: f64 = 4.0;
/// How far the prediction may be off, as parts of the updates' time: gradients are added to rather than set, and an
/// update leaves the cache to others.
const SPARED: (f64, f64) = (0.6, 1.1);

fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(batch) = evidence.fit.batch.filter(|batch| *batch > 0) else { return Outcome::DoesNotApply };
    if evidence.setting("torch.optimizer").is_none() || Gpu::of(evidence).is_some() {
        return Outcome::DoesNotApply;
    }
    let updates = evidence.training.stage_s("optimizer");
    if batch > SMALL || updates < MUCH * evidence.training.seconds {
        return Outcome::Fine;
    }
    let spared = updates * (1.0 - 1.0 / BATCHES);
    Outcome::advice(Advised {
        title: format!("update once for {BATCHES:.0} batches"),
        because: format!(
            "updates take {} of the training, one for every {batch} samples",
            percent(updates / evidence.training.seconds)
        ),
        change: format!(
            "loss / {BATCHES:.0}, and optimizer.step() and zero_grad() after every {BATCHES:.0}th batch; where \
             memory allows batch_size={:.0}, that gains more. It is another training: raise the learning rate",
            batch as f64 * BATCHES
        ),
        speedup: Speedup::predicted(evidence.without(spared * SPARED.0), evidence.without(spared * SPARED.1)),
        injects: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{BACKWARD, FORWARD, MS, OPTIMIZER, advice, changed, gains, on_cpu, with};

    fn taking(optimizer: u64, batch: u64) -> crate::compare::ComparedRun {
        let rest = (100 - optimizer) * MS / 2;
        let run = on_cpu("torch", &[(FORWARD, rest), (BACKWARD, rest), (OPTIMIZER, optimizer * MS)]);
        changed(with(run, &[("torch.optimizer", "fused")]), |report| report.fits[0].batch = Some(batch))
    }

    #[test]
    fn updates_that_take_half_of_small_steps_are_to_be_made_less_often() {
        assert_eq!(gains(&taking(50, 8)), [("accumulation", 1.29, 1.7)]);
    }

    #[test]
    fn few_updates_and_large_batches_are_fine() {
        for run in [taking(15, 8), taking(50, 64)] {
            assert!(advice(&run).fine.contains(&"updates"));
        }
    }
}
