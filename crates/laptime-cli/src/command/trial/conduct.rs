//! Conducts a trial: pair after pair, the first of each in turn, until the pairs answer the question.

use laptime_analyse::compare::{ComparedRun, Goal, Measure, judged_pairs, wants_another_pair};
use laptime_analyse::{Report, Training};

use super::{Execution, TrialSide};

/// What is tried.
pub(in crate::command) struct Trial {
    /// What is compared with, and what is judged.
    pub(in crate::command) sides: [TrialSide; 2],
    /// What is taken of each execution.
    pub(in crate::command) measure: Measure,
    /// When it is enough.
    pub(in crate::command) goal: Goal,
}

/// The executions of a trial.
#[derive(Default)]
pub(in crate::command) struct Executed {
    /// Those of the first side.
    pub(in crate::command) a: Vec<ComparedRun>,
    /// Those of the second, as many.
    pub(in crate::command) b: Vec<ComparedRun>,
    /// Their times, seconds.
    pub(in crate::command) pairs: Vec<(f64, f64)>,
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::command) enum TrialEnd {
    /// With enough pairs, or the most that were allowed.
    Done,
    /// Somebody asked to end.
    Interrupted,
    /// An execution of this side failed; why.
    Failed(usize, String),
}

/// Makes pairs until they are enough. `execute` runs a side once; `made` is called after each pair.
pub(in crate::command) fn conduct(
    trial: &Trial,
    execute: &mut dyn FnMut(&TrialSide) -> Execution,
    made: &mut dyn FnMut(&Executed),
) -> (Executed, TrialEnd) {
    let mut executed = Executed::default();
    let wants = |executed: &Executed| {
        let judged = judged_pairs(&trial.measure, &executed.a, &executed.b);
        wants_another_pair(&judged.pairs, &trial.goal)
    };
    while wants(&executed) {
        // Whoever comes second finds the caches warm and the machine hot: each is so in every other pair.
        let first = executed.pairs.len() % 2;
        let mut runs = [None, None];
        for side in [first, 1 - first] {
            match execute(&trial.sides[side]) {
                Execution::Made(run) => runs[side] = Some(*run),
                Execution::Failed(reason) => return (executed, TrialEnd::Failed(side, reason)),
                Execution::Interrupted => return (executed, TrialEnd::Interrupted),
            }
        }
        let [Some(a), Some(b)] = runs else { continue };
        let Some(times) = trial.measure.of(&a).zip(trial.measure.of(&b)) else {
            let missing = usize::from(trial.measure.of(&a).is_some());
            let report = if missing == 0 { &a.report } else { &b.report };
            return (executed, TrialEnd::Failed(missing, without_time(&trial.measure, report)));
        };
        executed.a.push(a);
        executed.b.push(b);
        executed.pairs.push(times);
        made(&executed);
    }
    (executed, TrialEnd::Done)
}

/// Why a run has no such time.
pub(in crate::command) fn without_time(measure: &Measure, report: &Report) -> String {
    let Measure::Stage(stage) = measure else { return "its run has no steps".to_owned() };
    let Some(training) = Training::of_run(report) else {
        return format!("its run has no steps, so no stage `{stage}`");
    };
    let known: Vec<&str> =
        training.stages.iter().filter(|(_, s)| **s > 0.0).map(|(name, _)| name.as_str()).collect();
    format!("its run has no stage `{stage}`; it has {}", known.join(", "))
}
