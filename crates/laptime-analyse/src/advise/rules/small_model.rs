//! A model so small that a GPU only waits for its launches, and a CPU has computed it before.

use laptime_core::units::{count, duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::gpu::{Gpu, convolutions};
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "small_model", subject: "device", look };

/// A GPU that computes more than this share of the time is of use.
const COMPUTES: f64 = 0.3;
/// Operations a second that one CPU does at least in a small model, and those of a parameter and a sample.
const CPU_FLOPS: f64 = 5e9;
const FLOPS_A_PARAMETER: f64 = 6.0;
/// Python calls the same operations on a CPU: it takes at least this part of the time.
const CALLS: f64 = 0.4;
/// An MLP of 769 parameters took 1.0 ms a step on an H200 and 0.4 ms on one CPU.
const TYPICAL: (f64, f64) = (1.2, 2.5);

fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(gpu) = Gpu::of(evidence) else { return Outcome::DoesNotApply };
    let training = &evidence.training;
    let samples = training.samples.map(|samples| samples as f64 / training.steps as f64);
    let (Some(parameters), Some(samples)) = (evidence.fit.parameters, samples) else {
        return Outcome::DoesNotApply;
    };
    // A convolution uses each parameter many times.
    let is_plain = convolutions(evidence) == Some(0);
    let on_cpu = FLOPS_A_PARAMETER * parameters as f64 * samples / CPU_FLOPS;
    let launches = gpu.waiting_for_launches();
    let is_small = is_plain && on_cpu < CALLS * training.step_s();
    if !is_small || gpu.computing() > COMPUTES || launches < 1.0 - COMPUTES {
        return Outcome::Fine;
    }
    Outcome::advice(Advised {
        title: "train on the CPU".to_owned(),
        because: format!(
            "the GPU waits for launches {} of the time; a model of {} parameters takes a CPU less than the {} of a \
             step",
            percent(launches),
            count(parameters),
            duration(training.step_s())
        ),
        change: "device = \"cpu\"".to_owned(),
        speedup: Speedup::typical(TYPICAL.0, TYPICAL.1),
        injects: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{advises, busy_gpu, changed, gains, waiting_gpu, with};

    fn small(parameters: u64) -> crate::compare::ComparedRun {
        changed(with(waiting_gpu(), &[("torch.convolutions", "0"), ("torch.compiled", "yes")]), |report| {
            report.fits[0].parameters = Some(parameters);
        })
    }

    #[test]
    fn a_tiny_model_whose_gpu_only_waits_is_better_on_the_cpu() {
        assert_eq!(gains(&small(769)), [("small_model", 1.2, 2.5)]);
    }

    #[test]
    fn a_model_that_a_cpu_would_take_long_for_stays_where_it_is() {
        assert!(!advises(&small(10_000_000), "small_model"));
        let run = changed(busy_gpu(), |report| report.fits[0].parameters = Some(769));
        assert!(!advises(&with(run, &[("torch.convolutions", "0")]), "small_model"));
    }
}
