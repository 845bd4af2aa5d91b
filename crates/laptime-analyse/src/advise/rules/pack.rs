//! Samples that are read, decoded and put together anew in every epoch: do it once, and keep the result.

use laptime_core::units::{duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::pipeline::Pipeline;
use super::super::rule::{Advised, Outcome, Rule};
use super::memory::faults_of_short_memory;
use super::workers::LATE;

pub(super) const RULE: Rule = Rule { id: "pack", subject: "packing", look };

/// What is left of loading: of what is random in it, which cannot be packed, a run tells nothing, so up to a half; and of
/// a batch that is only copied.
const LEFT: (f64, f64) = (0.5, 0.01);
/// What a model computes faster, at most, once no worker computes on the other thread of its core.
const ALONE: f64 = 1.5;

fn look(evidence: &Evidence<'_>) -> Outcome {
    if evidence.fit.workers.is_none() || !evidence.is_of("torch") {
        return Outcome::DoesNotApply;
    }
    let late = evidence.training.share("data_wait");
    if late < LATE {
        return Outcome::Fine;
    }
    if faults_of_short_memory(evidence).is_some() {
        return Outcome::Unknown(
            "the data does not stay in memory, and a pack of it may not either".to_owned(),
        );
    }
    if evidence.fit.epochs < 2 {
        return Outcome::Unknown("a pack pays from the second epoch on, and this run has one".to_owned());
    }
    let Some(pipeline) = Pipeline::of(evidence) else {
        return Outcome::Unknown("what loading computes and what it waits for was not recorded".to_owned());
    };
    let load_s = pipeline.load_cpu_s + pipeline.load_waits_s;
    let now = evidence.training.step_s();
    let packed = |left: f64| now / pipeline.with_loading(left).step_s(0, true);
    let alone = if evidence.fit.workers == Some(0) { 1.0 } else { ALONE };
    let beside = now / pipeline.with_loading(LEFT.0).step_s(evidence.fit.workers.unwrap_or(0), true);
    Outcome::advice(Advised {
        title: "pack the dataset: load it only once".to_owned(),
        because: format!(
            "the model waits {} of each step, and each epoch takes {} a batch to load the same samples again",
            percent(late),
            duration(load_s)
        ),
        change:
            "laptime pack FILE.py:DATASET -o x.pack, once; then laptime.Loader(\"x.pack\", …), with what is \
                 random in the transform left to the loop"
                .to_owned(),
        speedup: Speedup::typical(packed(LEFT.0).max(beside), packed(LEFT.1) * alone).not_slower(),
        injects: Vec::new(),
    })
}
