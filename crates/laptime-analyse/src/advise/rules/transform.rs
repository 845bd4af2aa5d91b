//! A costly transform in the loader: make it cheaper.

use laptime_core::units::{duration, percent};

use super::super::evidence::Evidence;
use super::super::hot::{hottest, hottest_text};
use super::super::rule::{Advised, Outcome, Rule};
use super::loading_part::gain_without;
use super::workers::LATE;
use crate::report::SampledPart;

pub(super) const RULE: Rule = Rule { id: "transform", subject: "transforms", look };

/// A part of loading that is less than this is not where its time goes.
pub(super) const MUCH: f64 = 0.3;

fn look(evidence: &Evidence<'_>) -> Outcome {
    match evidence.fit.workers {
        None => Outcome::DoesNotApply,
        Some(_) if evidence.training.share("data_wait") < LATE => Outcome::Fine,
        Some(0) => in_the_loop(evidence),
        Some(_) => in_workers(evidence),
    }
}

/// Workers time what `dataset.transform` takes.
fn in_workers(evidence: &Evidence<'_>) -> Outcome {
    let Some(loading) = evidence.report.loading else { return Outcome::DoesNotApply };
    let transform_s = loading.transform_s.unwrap_or(0.0);
    let share = transform_s / (loading.fetch_s + loading.collate_s).max(f64::MIN_POSITIVE);
    let Some(speedup) = gain_without(evidence, share).filter(|_| share >= MUCH) else {
        return Outcome::Fine;
    };
    let late = percent(evidence.training.share("data_wait"));
    let hot = hottest_text(evidence, SampledPart::LoaderWorkers, &["transform"]);
    Outcome::advice(Advised {
        title: "make the transform cheaper".to_owned(),
        because: format!(
            "the model waits {late} of each step, and {} of the {} to load a batch is the transform{hot}",
            percent(share),
            duration(loading.fetch_s + loading.collate_s)
        ),
        change: "compute whole arrays instead of single values, or transform once and keep the result"
            .to_owned(),
        speedup,
        injects: Vec::new(),
    })
}

/// In the training process only a profile shows what of a dataset's time is its transform.
fn in_the_loop(evidence: &Evidence<'_>) -> Outcome {
    let Some(loading) = evidence.run.passes.own_loading else { return Outcome::DoesNotApply };
    let computing = loading.cpu_s / loading.seconds.max(f64::MIN_POSITIVE);
    let items = 1.0 - loading.collate_s / loading.seconds.max(f64::MIN_POSITIVE);
    if items * computing < MUCH {
        return Outcome::Fine;
    }
    let Some(function) = hottest(evidence, SampledPart::Training, &["data_wait"]) else {
        return Outcome::Unknown("`laptime run --profile` shows which functions load".to_owned());
    };
    let share = function.own.mean * (1.0 - function.waiting);
    let Some(speedup) = gain_without(evidence, share).filter(|_| share >= MUCH) else {
        return Outcome::Fine;
    };
    let file = function.file.rsplit('/').next().unwrap_or(&function.file);
    Outcome::advice(Advised {
        title: format!("make {} cheaper", function.name),
        because: format!(
            "the model waits {} of each step, and {} of that is {} ({file}:{})",
            percent(evidence.training.share("data_wait")),
            percent(share),
            function.name,
            function.line
        ),
        change: "compute whole arrays instead of single values, or compute once and keep the result"
            .to_owned(),
        speedup,
        injects: Vec::new(),
    })
}
