//! A model that is not compiled: launches that the host makes one by one, or small kernels that one could be made of.

use laptime_core::units::percent;

use super::super::evidence::Evidence;
use super::super::gpu::{Gpu, typical_of};
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "compile", subject: "compiling the model", look };

/// The host is what a GPU waits for from this share of the training on.
const LAUNCHES: f64 = 0.25;
/// Below this share a GPU computes too little for fewer kernels to matter.
const COMPUTES: f64 = 0.5;
/// What becomes of launches: a compiled model has fewer, and they come without Python.
const OF_LAUNCHES: (f64, f64) = (1.2, 2.0);
/// What becomes of computing: passes over memory are fewer; an H200 computes ResNet-50 1.3 times as fast.
const OF_COMPUTING: (f64, f64) = (1.05, 1.5);

fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(gpu) = Gpu::of(evidence) else { return Outcome::DoesNotApply };
    match evidence.setting("torch.compiled") {
        Some("no") => {}
        Some(_) => return Outcome::Fine,
        None => return Outcome::Unknown("the run does not say whether the model is compiled".to_owned()),
    }
    let (launches, computing) = (gpu.waiting_for_launches(), gpu.computing());
    let launching = evidence.training.share("forward") + evidence.training.share("backward");
    let (because, speedup) = match (launches, computing) {
        // The host may be late for another reason than launches.
        (launches, _) if launches >= LAUNCHES && launching >= launches / 2.0 => (
            format!("the GPU waits for the host's launches {} of the time", percent(launches)),
            typical_of(launches, OF_LAUNCHES.0, OF_LAUNCHES.1),
        ),
        (_, computing) if computing >= COMPUTES => (
            format!(
                "the GPU computes {} of the time, kernel by kernel as they are written",
                percent(computing)
            ),
            typical_of(computing, OF_COMPUTING.0, OF_COMPUTING.1),
        ),
        _ => return Outcome::DoesNotApply,
    };
    Outcome::advice(Advised {
        title: "compile the model".to_owned(),
        because,
        change: "model = torch.compile(model); the first steps take up to a minute more".to_owned(),
        speedup,
        injects: injected("compile", 1),
    })
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{
        FORWARD, MS, advice, advises, because, busy_gpu, gains, on_cpu, on_gpu, waiting_gpu, with,
    };

    const EAGER: [(&str, &str); 1] = [("torch.compiled", "no")];

    #[test]
    fn launches_that_a_gpu_waits_for_get_a_compiled_model() {
        let run = with(waiting_gpu(), &EAGER);
        assert!(because(&run, "compile").starts_with("the GPU waits for the host's launches"));
        assert!(is_typical(&run));
    }

    #[test]
    fn a_gpu_that_computes_kernel_by_kernel_gets_a_compiled_model() {
        let run = with(busy_gpu(), &EAGER);
        assert_eq!(gains(&run), [("compile", 1.05, 1.5)]);
    }

    #[test]
    fn a_compiled_model_is_fine_and_a_model_on_a_cpu_is_not_looked_at() {
        let run = with(busy_gpu(), &[("torch.compiled", "yes")]);
        assert!(advice(&run).fine.contains(&"compiling the model"));
        let run = with(on_cpu("torch", &[(FORWARD, MS)]), &EAGER);
        assert!(advice(&run).items.is_empty() && !advice(&run).fine.contains(&"compiling the model"));
    }

    #[test]
    fn a_host_that_is_late_for_another_reason_needs_no_compiled_model() {
        let stages = [(laptime_core::StageId::AFTER_UPDATE, 20 * MS, 0), (FORWARD, MS, MS)];
        let run = with(on_gpu(&stages, |_| ()), &EAGER);
        assert!(!advises(&run, "compile"), "{:?}", gains(&run));
    }

    fn is_typical(run: &crate::compare::ComparedRun) -> bool {
        advice(run).items.iter().all(|item| item.speedup.typical)
    }
}
