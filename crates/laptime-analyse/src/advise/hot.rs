//! Hot: the functions that take a stage, where the run was profiled.

use laptime_core::units::percent;

use super::evidence::Evidence;
use crate::report::{ProfileFunction, SampledPart};

/// The function that takes the most of stages of a part of the run.
pub(super) fn hottest<'a>(
    evidence: &Evidence<'a>,
    part: SampledPart,
    stages: &[&str],
) -> Option<&'a ProfileFunction> {
    let parts = evidence.report.profile.as_ref()?.parts.iter().filter(|one| one.part == part);
    let stages = parts
        .flat_map(|part| &part.stages)
        .filter(|one| one.stage.as_deref().is_some_and(|stage| stages.contains(&stage)));
    let longest = stages.max_by_key(|stage| stage.samples)?;
    longest.functions.iter().max_by(|a, b| a.own.mean.total_cmp(&b.own.mean))
}

/// `; hottest: tone (train.py:18), 62 % of it`, or how to find out.
pub(super) fn hottest_text(evidence: &Evidence<'_>, part: SampledPart, stages: &[&str]) -> String {
    match hottest(evidence, part, stages) {
        Some(function) => {
            let file = function.file.rsplit('/').next().unwrap_or(&function.file);
            let own = percent(function.own.mean);
            format!("; hottest: {} ({file}:{}), {own} of it", function.name, function.line)
        }
        None => "; `laptime run --profile` shows its hot functions".to_owned(),
    }
}
