//! TensorFlow that calls every operation from Python: a tape loop without `tf.function`, Keras with `run_eagerly`.

use laptime_core::units::{duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::gpu::of_share;
use super::super::quiet::quiet_step_s;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const TF_FUNCTION: Rule = Rule { id: "tf_function", subject: "tf.function", look: look_at_loop };
pub(super) const RUN_EAGERLY: Rule = Rule { id: "run_eagerly", subject: "run_eagerly", look: look_at_keras };

/// What is computed where nothing is compiled.
const COMPUTING: [&str; 5] = ["forward", "loss", "backward", "optimizer", "train_function"];
/// Steps that are longer than these, seconds, are mostly computing, and less of them is calls.
const SHORT: f64 = 0.05;
const LONG: f64 = 0.5;
/// Where computing takes at least this share, what is beside it gets faster as well: waits for data that threads of
/// TensorFlow make on the CPUs that Python keeps busy, 7 ms in steps that ran eagerly and 2 ms in compiled ones.
const MOSTLY: f64 = 0.5;

fn look_at_loop(evidence: &Evidence<'_>) -> Outcome {
    if evidence.fit.framework.as_deref() != Some("tensorflow") {
        return Outcome::DoesNotApply;
    }
    if !evidence.fit.compiled_functions.is_empty() {
        return Outcome::Fine;
    }
    Outcome::advice(Advised {
        title: "compile the training step".to_owned(),
        because: because(evidence, "no tf.function"),
        change: "@tf.function on the function that has the tape and apply_gradients".to_owned(),
        speedup: by_compiling(evidence),
        injects: Vec::new(),
    })
}

fn look_at_keras(evidence: &Evidence<'_>) -> Outcome {
    if evidence.fit.framework.as_deref() != Some("keras") {
        return Outcome::DoesNotApply;
    }
    match evidence.setting("keras.run_eagerly") {
        Some("on") => {}
        Some(_) => return Outcome::Fine,
        None => return Outcome::DoesNotApply,
    }
    Outcome::advice(Advised {
        title: "let Keras compile the step".to_owned(),
        because: because(evidence, "run_eagerly=True"),
        change: "model.compile(…) without run_eagerly=True".to_owned(),
        speedup: by_compiling(evidence),
        injects: Vec::new(),
    })
}

fn computing(evidence: &Evidence<'_>) -> f64 {
    COMPUTING.iter().map(|stage| evidence.training.share(stage)).sum::<f64>().min(1.0)
}

fn because(evidence: &Evidence<'_>, what: &str) -> String {
    format!(
        "{what}: Python calls every operation, {} of a step of {}",
        percent(computing(evidence)),
        duration(evidence.training.step_s())
    )
}

/// The shorter a step, the more of it is calls from Python; 11 and 16 times were measured of short steps, and 28 where
/// other programs wanted the CPUs, too.
fn by_compiling(evidence: &Evidence<'_>) -> Speedup {
    let share = computing(evidence);
    let (low, high) = match share * quiet_step_s(evidence) {
        step_s if step_s < SHORT => (3.0, 40.0),
        step_s if step_s < LONG => (1.3, 6.0),
        _ => (1.0, 1.5),
    };
    let high = if share >= MOSTLY { high } else { of_share(share, high) };
    Speedup::typical(of_share(share, low), high)
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{
        BACKWARD, DATA_WAIT, FORWARD, MS, OPTIMIZER, advice, advises, because, changed, gains, on_cpu, with,
    };

    #[test]
    fn a_tape_loop_without_a_function_gets_one() {
        let run = on_cpu("tensorflow", &[(FORWARD, 4 * MS), (BACKWARD, 4 * MS), (OPTIMIZER, 8 * MS)]);
        assert_eq!(gains(&run), [("tf_function", 3.0, 40.0)]);
        assert_eq!(
            because(&run, "tf_function"),
            "no tf.function: Python calls every operation, 100 % of a step of 16.0 ms"
        );
    }

    #[test]
    fn long_steps_gain_little_and_compiled_ones_are_fine() {
        let run = on_cpu("tensorflow", &[(FORWARD, 900 * MS)]);
        assert!(gains(&run)[0].2 < 1.6, "{:?}", gains(&run));
        let run = changed(on_cpu("tensorflow", &[(FORWARD, MS)]), |report| {
            report.fits[0].compiled_functions = vec!["train_step".to_owned()];
        });
        assert!(advice(&run).fine.contains(&"tf.function"));
    }

    #[test]
    fn steps_that_only_wait_for_a_cpu_are_no_long_ones() {
        let run = changed(on_cpu("tensorflow", &[(FORWARD, 90 * MS)]), |report| {
            (report.machine.cpu_s, report.machine.cpu_wait_s) = (Some(10.0), Some(30.0));
        });
        assert_eq!(gains(&run), [("tf_function", 3.0, 40.0)]);
    }

    #[test]
    fn keras_that_runs_eagerly_is_to_compile() {
        let stages = [(DATA_WAIT, MS), (FORWARD, 9 * MS)];
        let run = with(on_cpu("keras", &stages), &[("keras.run_eagerly", "on")]);
        assert!(advises(&run, "run_eagerly"));
        let run = with(on_cpu("keras", &stages), &[("keras.run_eagerly", "off")]);
        assert!(advice(&run).items.is_empty() && advice(&run).fine.contains(&"run_eagerly"));
        assert!(!advice(&on_cpu("torch", &stages)).fine.contains(&"run_eagerly"));
    }
}
