//! A costly collate function: make it cheaper.

use laptime_core::units::{duration, percent};

use super::super::evidence::Evidence;
use super::super::hot::hottest_text;
use super::super::rule::{Advised, Outcome, Rule};
use super::loading_part::gain_without;
use super::transform::MUCH;
use super::workers::LATE;
use crate::report::SampledPart;

pub(super) const RULE: Rule = Rule { id: "collate", subject: "collate function", look };

fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(workers) = evidence.fit.workers else { return Outcome::DoesNotApply };
    let passes = &evidence.run.passes;
    let (loading, part, stage) = match workers {
        0 => (passes.own_loading, SampledPart::Training, "data_wait"),
        _ => (passes.worker_loading, SampledPart::LoaderWorkers, "collate"),
    };
    let Some(loading) = loading else { return Outcome::DoesNotApply };
    let share = loading.collate_s / loading.seconds.max(f64::MIN_POSITIVE);
    let late = evidence.training.share("data_wait");
    if late < LATE || share < MUCH {
        return Outcome::Fine;
    }
    let Some(speedup) = gain_without(evidence, share) else { return Outcome::Fine };
    Outcome::advice(Advised {
        title: "make the collate function cheaper".to_owned(),
        because: format!(
            "the model waits {} of each step, and {} of the {} to load a batch is collate_fn{}",
            percent(late),
            percent(share),
            duration(loading.seconds),
            hottest_text(evidence, part, &[stage])
        ),
        change: "build the batch by array operations, or do its work once for each sample".to_owned(),
        speedup,
        injects: Vec::new(),
    })
}
