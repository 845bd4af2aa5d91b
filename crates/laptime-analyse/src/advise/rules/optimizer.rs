//! An optimizer that takes much of the training: one kernel for all parameters, and gradients dropped, not zeroed.

use laptime_core::units::{counted, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::gpu::{Gpu, is_on_gpu, typical_of};
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const FUSED: Rule = Rule { id: "fused_optimizer", subject: "optimizer", look: look_at_optimizer };
pub(super) const ZERO_GRAD: Rule = Rule { id: "zero_grad", subject: "zero_grad", look: look_at_zero_grad };

/// From these shares of the training on an optimizer is worth a change: on a CPU, and on a GPU.
const MUCH_ON_CPU: f64 = 0.25;
const MUCH_ON_GPU: f64 = 0.1;
/// Updates of more parameters than this go through memory, not the cache.
const LARGE: u64 = 500_000;
/// How much faster one kernel makes the updates on a CPU, at least and at most, measured on 1 thread with 2,000 to 13
/// million parameters: those of Adam when the model is large, when it is small, and those of others.
const LARGE_ADAM: (f64, f64) = (3.4, 6.0);
const SMALL_ADAM: (f64, f64) = (1.9, 3.0);
const OTHERS: (f64, f64) = (1.5, 2.9);
/// How much faster that makes the rest of a step, whose cache it leaves alone: of a large model and of a small one.
const LARGE_REST: (f64, f64) = (1.1, 1.25);
const SMALL_REST: (f64, f64) = (1.0, 1.15);
/// No prediction is wider than this, highest over lowest.
const WIDEST: f64 = 1.5;
/// How much faster an update on a GPU is in one kernel than in several for each kind of operation, or one by one.
const FUSED_ON_GPU: (f64, f64) = (1.5, 2.5);
const FOREACH_ON_GPU: (f64, f64) = (1.5, 4.0);
/// How much faster dropped gradients make what belongs to the optimizer than zeroed ones. To zero and to add to them
/// takes four passes over memory, as much as plain SGD and far less than Adam.
const DROPPED_BY_ADAM: (f64, f64) = (1.05, 1.25);
const DROPPED_BY_SGD: (f64, f64) = (1.5, 5.0);

fn look_at_optimizer(evidence: &Evidence<'_>) -> Outcome {
    let Some(how) = evidence.setting("torch.optimizer") else { return Outcome::DoesNotApply };
    let kind = evidence.setting("optimizer").unwrap_or("");
    let gpu = Gpu::of(evidence);
    if gpu.is_none() && is_on_gpu(evidence) {
        return Outcome::DoesNotApply;
    }
    let share = share(evidence, gpu.as_ref());
    let much = if gpu.is_some() { MUCH_ON_GPU } else { MUCH_ON_CPU };
    let can_fuse = can_fuse(kind, has_momentum(evidence));
    // On a CPU only one kernel is faster than one parameter after the other.
    let can_gain = how == "one by one" && (can_fuse || gpu.is_some()) || how == "foreach" && can_fuse;
    if !can_gain || share < much {
        return Outcome::Fine;
    }
    let tensors = evidence.setting("torch.tensors").and_then(|text| text.parse().ok()).unwrap_or(0);
    let because = format!(
        "{kind} takes {} of the time to update {}",
        percent(share),
        counted(tensors, "parameter tensor")
    );
    let (word, changes, speedup) = match (&gpu, can_fuse) {
        (None, _) => ("fused", "fused_optimizer", on_cpu(evidence, kind, share)),
        (Some(_), true) => ("fused", "fused_optimizer", typical_of(share, FUSED_ON_GPU.0, FUSED_ON_GPU.1)),
        (Some(_), false) => {
            ("foreach", "foreach_optimizer", typical_of(share, FOREACH_ON_GPU.0, FOREACH_ON_GPU.1))
        }
    };
    Outcome::advice(Advised {
        title: "update all parameters at once".to_owned(),
        because: format!("{because}, {}", if how == "foreach" { "in several kernels" } else { "one by one" }),
        change: format!("{kind}(…, {word}=True)"),
        speedup,
        injects: injected(changes, 1),
    })
}

fn look_at_zero_grad(evidence: &Evidence<'_>) -> Outcome {
    if evidence.setting("torch.optimizer").is_none() {
        return Outcome::DoesNotApply;
    }
    let share = share(evidence, Gpu::of(evidence).as_ref());
    if evidence.setting("torch.zero_grad").is_none() || share < MUCH_ON_GPU {
        return Outcome::Fine;
    }
    let is_sgd = evidence.setting("optimizer") == Some("SGD");
    let dropped = if is_sgd { DROPPED_BY_SGD } else { DROPPED_BY_ADAM };
    Outcome::advice(Advised {
        title: "drop gradients, do not zero them".to_owned(),
        because: format!(
            "zero_grad(set_to_none=False) writes zeros for backward to add to; optimizer {} of the time",
            percent(share)
        ),
        change: "optimizer.zero_grad(), which sets them to None".to_owned(),
        speedup: typical_of(share, dropped.0, dropped.1),
        injects: Vec::new(),
    })
}

/// The share of the training that its updates take: on a GPU its own, or the host's where that is what it waits for.
fn share(evidence: &Evidence<'_>, gpu: Option<&Gpu<'_>>) -> f64 {
    let host = evidence.training.share("optimizer");
    gpu.map_or(host, |gpu| gpu.share("optimizer").max(host.min(gpu.waiting_for_launches())))
}

fn has_momentum(evidence: &Evidence<'_>) -> bool {
    evidence.setting("torch.momentum").is_some_and(|momentum| momentum != "0")
}

/// Whether torch has a kernel for it that does less than one parameter after the other.
fn can_fuse(kind: &str, has_momentum: bool) -> bool {
    matches!(kind, "Adam" | "AdamW" | "Adagrad") || kind == "SGD" && has_momentum
}

fn on_cpu(evidence: &Evidence<'_>, kind: &str, share: f64) -> Speedup {
    let is_large = evidence.fit.parameters.is_some_and(|parameters| parameters > LARGE);
    let rest = if is_large { LARGE_REST } else { SMALL_REST };
    let update = match (kind.starts_with("Adam"), is_large) {
        (true, true) => LARGE_ADAM,
        (true, false) => SMALL_ADAM,
        (false, _) => OTHERS,
    };
    let faster = |update: f64, rest: f64| 1.0 / (share / update + (1.0 - share) / rest);
    let speedup = Speedup::predicted(faster(update.0, rest.0), faster(update.1, rest.1));
    if speedup.high <= WIDEST * speedup.low {
        return speedup;
    }
    Speedup::around(speedup.middle(), WIDEST.sqrt() - 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{
        FORWARD, MS, OPTIMIZER, advice, advises, because, changed, gains, on_cpu, with,
    };

    const ADAM: [(&str, &str); 3] =
        [("optimizer", "Adam"), ("torch.optimizer", "one by one"), ("torch.tensors", "6")];

    fn taking(optimizer: u64) -> crate::compare::ComparedRun {
        with(
            on_cpu("torch", &[(FORWARD, (100 - optimizer) * MS / 10), (OPTIMIZER, optimizer * MS / 10)]),
            &ADAM,
        )
    }

    #[test]
    fn adam_that_updates_one_by_one_gets_one_kernel() {
        let run = taking(70);
        assert_eq!(gains(&run), [("fused_optimizer", 1.5, 2.02)]);
        assert_eq!(
            because(&run, "fused_optimizer"),
            "Adam takes 70 % of the time to update 6 parameter tensors, one by one"
        );
    }

    #[test]
    fn a_large_model_gains_more_since_its_updates_go_through_memory() {
        let run = changed(taking(70), |report| report.fits[0].parameters = Some(1_000_000));
        assert_eq!(gains(&run), [("fused_optimizer", 2.09, 2.8)]);
    }

    #[test]
    fn a_prediction_is_never_wider_than_a_quarter_to_each_side() {
        for share in [30, 50, 70, 90, 99] {
            let speedup = advice(&taking(share)).items[0].speedup;
            assert!(!speedup.typical && speedup.high <= 1.25 / 0.75 * speedup.low, "{share}: {speedup:?}");
        }
    }

    #[test]
    fn a_small_share_plain_sgd_and_one_kernel_are_fine() {
        let sgd = [("optimizer", "SGD"), ("torch.momentum", "0")];
        for run in [taking(20), with(taking(70), &sgd), with(taking(70), &[("torch.optimizer", "fused")])] {
            assert!(advice(&run).items.is_empty() && advice(&run).fine.contains(&"optimizer"));
        }
    }

    #[test]
    fn an_optimizer_of_another_library_is_not_looked_at() {
        let run = on_cpu("torch", &[(FORWARD, MS), (OPTIMIZER, 9 * MS)]);
        assert!(advice(&run).items.is_empty() && !advice(&run).fine.contains(&"optimizer"));
    }

    #[test]
    fn zeroed_gradients_count_where_updates_do() {
        let zeroed = [("torch.zero_grad", "zeros")];
        assert!(advises(&with(taking(70), &zeroed), "zero_grad"));
        assert!(!advises(&with(taking(5), &zeroed), "zero_grad") && !advises(&taking(70), "zero_grad"));
        let sgd = with(with(taking(34), &zeroed), &[("optimizer", "SGD")]);
        assert_eq!(gains(&sgd), [("zero_grad", 1.13, 1.37)]);
    }
}
