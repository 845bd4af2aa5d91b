//! A batch so small that a step hardly depends on it: take a larger one, up to the knee.

use laptime_core::units::{duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};
use crate::statistics::mean;

pub(super) const RULE: Rule = Rule { id: "batch", subject: "batch size", look };

/// Batches above this are a choice that belongs to the training, whatever a step costs.
const SMALL: u64 = 16;
/// The largest that is advised; and at least so many steps an epoch are left.
const LARGEST: u64 = 128;
const FEWEST_STEPS: u64 = 10;
/// Steps of a framework that take less than this are mostly its own work rather than the model's, seconds, unless
/// the model does more than so many operations a second in them.
const SHORT_S: f64 = 0.005;
const FEW_FLOPS: f64 = 1e9;
/// Operations of a sample for each parameter, there and back, where each is used once.
const FLOPS_PER_PARAMETER: f64 = 6.0;
/// What is usual of the gain that costs per step would allow.
const USUAL: (f64, f64) = (0.3, 1.0);
/// How far a prediction by smaller batches may be off.
const UNCERTAIN: f64 = 0.25;
/// Smaller batches that say something of a step's fixed cost, at least.
const FEWEST_SMALLER: usize = 3;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(batch) = evidence.fit.batch.filter(|batch| *batch > 0) else { return Outcome::DoesNotApply };
    if batch > SMALL {
        return Outcome::Fine;
    }
    let rows = evidence.fit.rows.unwrap_or(u64::MAX);
    let larger = larger(batch, rows);
    let times = larger as f64 / batch as f64;
    if times < 2.0 {
        return Outcome::Fine;
    }
    let step_s = evidence.training.step_s();
    let (speedup, because) = if let Some(fixed) = fixed_cost(evidence, batch) {
        let gain = times / (fixed + (1.0 - fixed) * times);
        let because = format!(
            "a step of {batch} samples takes {}, and {} of it whatever the batch, by the smaller last batches",
            duration(step_s),
            percent(fixed)
        );
        (Speedup::around(gain, UNCERTAIN), because)
    } else if is_overhead(evidence, batch, step_s) {
        let because = format!(
            "a step of {batch} samples takes {}: less than the framework's own work for a step usually does",
            duration(step_s)
        );
        (Speedup::typical(times * USUAL.0, times * USUAL.1), because)
    } else {
        let because = format!("a batch of {batch} is small; `laptime sweep` measures larger ones");
        return Outcome::Unknown(because);
    };
    Outcome::advice(Advised {
        title: format!("take batches of {larger} samples"),
        because,
        change: format!("batch_size={larger}; it is another training: raise the learning rate with it"),
        speedup,
        // Keras' batches come in many forms.
        injects: if evidence.is_of("torch") { injected("batch_size", larger) } else { Vec::new() },
    })
}

/// The largest batch by doubling that leaves enough steps an epoch.
fn larger(batch: u64, rows: u64) -> u64 {
    let fits = |size: &u64| *size <= LARGEST && rows / size >= FEWEST_STEPS;
    std::iter::successors(Some(batch), |size| Some(size * 2)).take_while(fits).last().unwrap_or(batch)
}

/// The share of a full step that does not depend on its batch, by the smaller batches at the ends of epochs.
pub(crate) fn fixed_cost(evidence: &Evidence<'_>, batch: u64) -> Option<f64> {
    let steps = evidence.run.single_steps(evidence.fit.index)?;
    let of = |wanted: &dyn Fn(u64) -> bool| -> Vec<(f64, f64)> {
        let chosen = steps.iter().skip(1).filter(|(_, _, samples)| *samples > 0 && wanted(*samples));
        chosen.map(|(seconds, _, samples)| (*seconds, *samples as f64)).collect()
    };
    let (full, less) = (of(&|samples| samples == batch), of(&|samples| samples * 4 <= batch * 3));
    let mean_of = |steps: &[(f64, f64)], which: fn(&(f64, f64)) -> f64| {
        mean(&steps.iter().map(which).collect::<Vec<_>>())
    };
    if less.len() < FEWEST_SMALLER {
        return None;
    }
    let (full_s, less_s) = (mean_of(&full, |step| step.0)?, mean_of(&less, |step| step.0)?);
    let part = mean_of(&less, |step| step.1)? / batch as f64;
    // On the line through both, what is left at no samples at all.
    Some(((less_s - part * full_s) / (1.0 - part) / full_s).clamp(0.0, 1.0))
}

/// Whether a step is so short, and its model so small, that the framework takes most of it.
fn is_overhead(evidence: &Evidence<'_>, batch: u64, step_s: f64) -> bool {
    let known = evidence.fit.flops_per_sample.map(|flops| flops as f64);
    let convolves = evidence.setting("torch.convolutions").is_some_and(|count| count != "0");
    let by_size =
        evidence.fit.parameters.filter(|_| !convolves).map(|count| count as f64 * FLOPS_PER_PARAMETER);
    let flops = known.or(by_size);
    step_s < SHORT_S && flops.is_some_and(|flops| flops * batch as f64 / step_s < FEW_FLOPS)
}
