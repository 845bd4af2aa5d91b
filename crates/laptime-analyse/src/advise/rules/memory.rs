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
/// How far the prediction may be off: without the faults other programs, and the disk, are at peace, too.
const UNCERTAIN: f64 = 0.2;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let memory = &evidence.report.memory;
    let Some(faults) = memory.major_faults else { return Outcome::DoesNotApply };
    let swapped = memory.swapped_bytes.filter(|swapped| *swapped > 0);
    let each = faults as f64 / evidence.fit.steps.max(1) as f64;
    if each < FEWEST_FAULTS {
        return Outcome::Fine;
    }
    let Some(pipeline) = Pipeline::of(evidence) else {
        return Outcome::Unknown(format!(
            "{each:.1} page faults a step wait for storage; what for was not recorded"
        ));
    };
    let workers = evidence.fit.workers.unwrap_or(0);
    let in_memory = Pipeline { load_waits_s: 0.0, ..pipeline };
    let gain = pipeline.step_s(workers, true) / in_memory.step_s(workers, true);
    if evidence.training.share("data_wait") < LATE {
        return Outcome::Fine;
    }
    let swapped = swapped.map(|swapped| format!(", and {} are swapped out", bytes(swapped)));
    Outcome::advice(Advised {
        title: "make the data fit into memory".to_owned(),
        because: format!(
            "a batch waits {} for storage, {} of what it takes to load, with {each:.0} page faults a step: what was \
             read before is gone when it is needed again{}",
            duration(pipeline.load_waits_s),
            percent(1.0 - pipeline.computing_share()),
            swapped.unwrap_or_default()
        ),
        change: "a smaller type (uint8, float16), more memory, or neighbours together: \
                 laptime.Loader(…, shuffle=\"window\")"
            .to_owned(),
        speedup: Speedup::around(gain, UNCERTAIN).not_slower(),
        injects: Vec::new(),
    })
}
