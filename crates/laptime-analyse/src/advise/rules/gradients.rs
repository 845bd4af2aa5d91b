//! Gradients that no optimizer uses: parts of a model that are not trained, and were not told so.

use laptime_core::units::percent;

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::gpu::is_on_gpu;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "unused_gradients", subject: "unused gradients", look };

/// Fewer than this share of the gradients are not worth a change.
const MUCH: f64 = 0.1;
/// The part of backward that goes with the unused gradients, at least and at most. A layer's backward computes the
/// gradient of its weights and that of its input, about as much each; the second is needed where a trained layer
/// comes before it. A gradient that is never dropped is also added to in every step.
const OF_BACKWARD: (f64, f64) = (0.45, 1.0);
/// The part of forward that keeps what backward needs, at most.
const OF_FORWARD: f64 = 0.3;

fn look(evidence: &Evidence<'_>) -> Outcome {
    if evidence.setting("torch.optimizer").is_none() || is_on_gpu(evidence) {
        return Outcome::DoesNotApply;
    }
    let unused = evidence.setting("torch.unused_gradients").and_then(|share| share.parse::<f64>().ok());
    let Some(unused) = unused.filter(|share| *share >= MUCH) else { return Outcome::Fine };
    let backward = evidence.training.stage_s("backward");
    let kept = evidence.training.stage_s("forward") * OF_FORWARD;
    let (least, most) = (backward * OF_BACKWARD.0, backward * OF_BACKWARD.1 + kept);
    Outcome::advice(Advised {
        title: "freeze what is not trained".to_owned(),
        because: format!(
            "no optimizer uses {} of the gradients; backward takes {} of the training",
            percent(unused),
            percent(backward / evidence.training.seconds)
        ),
        change: "for those layers: layer.requires_grad_(False), before the optimizer is made".to_owned(),
        speedup: Speedup::typical(evidence.without(unused * least), evidence.without(unused * most)),
        injects: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{BACKWARD, FORWARD, MS, OPTIMIZER, advice, gains, on_cpu, with};

    fn unused(share: &str) -> crate::compare::ComparedRun {
        let run = on_cpu("torch", &[(FORWARD, 30 * MS), (BACKWARD, 60 * MS), (OPTIMIZER, 10 * MS)]);
        with(run, &[("torch.optimizer", "fused"), ("torch.unused_gradients", share)])
    }

    #[test]
    fn gradients_that_no_optimizer_uses_are_computed_for_nothing() {
        assert_eq!(gains(&unused("1.000")), [("unused_gradients", 1.37, 3.23)]);
    }

    #[test]
    fn a_few_unused_gradients_are_fine() {
        assert!(advice(&unused("0.050")).fine.contains(&"unused gradients"));
    }
}
