//! Data that does not stay in memory: batches wait for pages that were there before.

use laptime_core::units::{bytes, duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::pipeline::Pipeline;
use super::super::rule::{Advised, Outcome, Rule};
use super::workers::LATE;

pub(super) const RULE: Rule = Rule { id: "memory", subject: "memory", look };

/// Fewer page faults in a step that wait for storage have another reason than data, such as code that is used first.
const FEWEST_FAULTS: f64 = 1.0;
/// What is left of loading that finds its pages in memory, where making room for them was most of its computing.
const LEFT: f64 = 0.01;

fn look(evidence: &Evidence<'_>) -> Outcome {
    if evidence.report.memory.major_faults.is_none() {
        return Outcome::DoesNotApply;
    }
    let Some(faults) = faults_of_short_memory(evidence) else { return Outcome::Fine };
    let Some(pipeline) = Pipeline::of(evidence) else {
        return Outcome::Unknown(format!(
            "{faults:.0} page faults a step wait for storage; what for was not recorded"
        ));
    };
    let workers = evidence.fit.workers.unwrap_or(0);
    let now = pipeline.step_s(workers, true);
    let gain = |pipeline: Pipeline| now / pipeline.step_s(workers, true);
    let swapped = evidence.report.memory.swapped_bytes.filter(|swapped| *swapped > 0);
    let swapped = swapped.map(|swapped| format!(", and {} are swapped out", bytes(swapped)));
    Outcome::advice(Advised {
        title: "make the data fit into memory".to_owned(),
        because: format!(
            "the model waits {} of each step, and a batch waits {} for storage with {faults:.0} page faults: what was \
             read before is gone when it is needed again{}",
            percent(evidence.training.share("data_wait")),
            duration(pipeline.load_waits_s),
            swapped.unwrap_or_default()
        ),
        change: "a smaller type (uint8, float16), more memory, or neighbours together: \
                 laptime.Loader(…, shuffle=\"window\")"
            .to_owned(),
        speedup: Speedup::typical(
            gain(Pipeline { load_waits_s: 0.0, ..pipeline }),
            gain(pipeline.with_loading(LEFT)),
        )
        .not_slower(),
        injects: Vec::new(),
    })
}

/// Page faults a step that wait for storage, where batches are late for them.
pub(super) fn faults_of_short_memory(evidence: &Evidence<'_>) -> Option<f64> {
    let each = evidence.report.memory.major_faults? as f64 / evidence.fit.steps.max(1) as f64;
    (each >= FEWEST_FAULTS && evidence.training.share("data_wait") >= LATE).then_some(each)
}
