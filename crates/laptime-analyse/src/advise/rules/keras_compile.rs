//! How Keras compiles: several short steps in one call, and operations together.

use laptime_core::units::duration;

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::quiet::quiet_step_s;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const STEPS_PER_EXECUTION: Rule =
    Rule { id: "steps_per_execution", subject: "steps_per_execution", look: look_at_calls };
pub(super) const JIT: Rule = Rule { id: "jit_compile", subject: "jit_compile", look: look_at_jit };

/// Layers that XLA was seen to gain with on a CPU; convolutions took twice as long with it.
const GAINS_WITH_JIT: [&str; 13] = [
    "Activation",
    "Add",
    "BatchNormalization",
    "Concatenate",
    "Dense",
    "Dropout",
    "Flatten",
    "InputLayer",
    "LayerNormalization",
    "LeakyReLU",
    "ReLU",
    "Reshape",
    "Softmax",
];
/// What operations compiled together usually gain on a CPU, measured on networks of 4 to 25 such layers.
const BY_JIT: (f64, f64) = (1.0, 1.7);

/// Steps that one call makes.
const STEPS: u64 = 20;
/// Epochs of fewer steps would be cut too coarsely.
const FEWEST_STEPS: u64 = 100;
/// Longer steps are mostly computing, seconds.
const SHORT: f64 = 4e-3;
/// What a call of Keras' train function takes beside the step itself, seconds; 1.1 ms were measured on a slow CPU.
const CALL_S: (f64, f64) = (0.4e-3, 1.2e-3);
/// The least that is left of a step.
const LEAST_LEFT: f64 = 0.3;

fn look_at_calls(evidence: &Evidence<'_>) -> Outcome {
    if !is_compiled_keras(evidence) {
        return Outcome::DoesNotApply;
    }
    let step_s = quiet_step_s(evidence);
    let is_single = evidence.setting("keras.steps_per_execution") == Some("1");
    let steps = evidence.training.steps / evidence.training.laps.max(1);
    if !is_single || step_s > SHORT || steps < FEWEST_STEPS {
        return Outcome::Fine;
    }
    let without = |call_s: f64| 1.0 / (1.0 - call_s / step_s).max(LEAST_LEFT);
    Outcome::advice(Advised {
        title: format!("run {STEPS} steps in one call"),
        because: format!("steps of {} are mostly the call that makes them", duration(step_s)),
        change: format!(
            "model.compile(…, steps_per_execution={STEPS}); callbacks then see every {STEPS}th batch"
        ),
        speedup: Speedup::typical(without(CALL_S.0), without(CALL_S.1)),
        injects: injected("steps_per_execution", STEPS),
    })
}

fn look_at_jit(evidence: &Evidence<'_>) -> Outcome {
    let layers = evidence.setting("keras.layers");
    let Some(layers) = layers.filter(|_| is_compiled_keras(evidence) && evidence.on_cpu()) else {
        return Outcome::DoesNotApply;
    };
    let gains = !layers.is_empty() && layers.split(' ').all(|layer| GAINS_WITH_JIT.contains(&layer));
    let step_s = quiet_step_s(evidence);
    if evidence.setting("keras.jit_compile") == Some("on") || !gains || step_s > SHORT {
        return Outcome::Fine;
    }
    Outcome::advice(Advised {
        title: "compile operations together".to_owned(),
        because: format!("steps of {} make many small operations, one by one", duration(step_s)),
        change: "model.compile(…, jit_compile=True)".to_owned(),
        speedup: Speedup::typical(BY_JIT.0, BY_JIT.1),
        injects: injected("jit_compile", 1),
    })
}

/// A fit of Keras on TensorFlow that says how it is compiled.
fn is_compiled_keras(evidence: &Evidence<'_>) -> bool {
    evidence.setting("backend") == Some("tensorflow")
        && evidence.setting("keras.steps_per_execution").is_some()
        && !evidence.fit.compiled_functions.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{FORWARD, MS, advice, changed, gains, on_cpu, with};

    fn steps_of(ticks: u64) -> crate::compare::ComparedRun {
        let single =
            [("backend", "tensorflow"), ("keras.steps_per_execution", "1"), ("keras.jit_compile", "off")];
        changed(with(on_cpu("keras", &[(FORWARD, ticks)]), &single), |report| {
            report.fits[0].compiled_functions = vec!["train_function".to_owned()];
        })
    }

    #[test]
    fn short_steps_are_to_be_made_several_at_a_time() {
        assert_eq!(gains(&steps_of(2 * MS)), [("steps_per_execution", 1.25, 2.5)]);
        assert_eq!(advice(&steps_of(2 * MS)).items[0].injects.as_deref(), Some("steps_per_execution=20"));
    }

    #[test]
    fn small_dense_layers_are_to_be_compiled_together_and_convolutions_are_not() {
        let made_of =
            |layers| with(steps_of(3 * MS), &[("keras.steps_per_execution", "20"), ("keras.layers", layers)]);
        assert_eq!(gains(&made_of("Dense Dropout InputLayer")), [("jit_compile", 1.0, 1.7)]);
        assert!(advice(&made_of("Conv2D Dense InputLayer")).fine.contains(&"jit_compile"));
        let compiled = with(made_of("Dense"), &[("keras.jit_compile", "on")]);
        assert!(advice(&compiled).fine.contains(&"jit_compile"));
    }

    #[test]
    fn long_steps_and_several_in_one_call_are_fine() {
        let several = with(steps_of(2 * MS), &[("keras.steps_per_execution", "20")]);
        for run in [steps_of(20 * MS), several] {
            assert!(advice(&run).items.is_empty() && advice(&run).fine.contains(&"steps_per_execution"));
        }
    }
}
