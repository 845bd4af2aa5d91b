//! From stacks to the functions that take each stage.

use std::collections::{BTreeMap, BTreeSet};

use laptime_core::{Estimate, SampledFunction};

use super::fold::ProfileFold;
use super::stacks::{ProfileStack, ProfileStacks};
use crate::report::{ProfileFunction, ProfilePart, ProfileReport, ProfileStage, SampledPart, SamplingCost};

/// Functions that are listed of a stage; exports have all.
const MOST_FUNCTIONS: usize = 50;
const LEVEL: f64 = 0.95;
/// Half the width of that interval, in standard deviations of the normal law.
const DEVIATIONS: f64 = 1.96;

/// What the profiles of a run show; `None` where nothing was sampled or asked for.
pub(crate) fn summary(profiles: &[ProfileFold], stacks: &ProfileStacks) -> Option<ProfileReport> {
    let first = profiles.first()?;
    let mut by_part: BTreeMap<(SampledPart, u32), Vec<&ProfileStack>> = BTreeMap::new();
    for stack in &stacks.stacks {
        by_part.entry((stack.part, stack.rank)).or_default().push(stack);
    }
    let sum = |value: fn(&laptime_core::ProfileCost) -> u64| {
        profiles.iter().filter_map(|profile| profile.cost.as_ref()).map(value).fold(0, u64::saturating_add)
    };
    let mut troubles: Vec<_> = profiles.iter().flat_map(|profile| profile.troubles.clone()).collect();
    troubles.sort();
    troubles.dedup();
    Some(ProfileReport {
        rate_hz: first.facts.rate_hz,
        samples: sum(|cost| cost.samples),
        unread: sum(|cost| cost.unread),
        cost: cost(profiles),
        parts: by_part.into_iter().map(|(key, own)| of_part(key, &own, &stacks.functions)).collect(),
        troubles,
    })
}

fn cost(profiles: &[ProfileFold]) -> Option<SamplingCost> {
    let costs: Vec<_> = profiles.iter().filter_map(|profile| profile.cost).collect();
    let cpu = costs.iter().map(|cost| cost.cpu_ns as f64).sum::<f64>();
    let wall = costs.iter().map(|cost| cost.wall_ns as f64).fold(0.0, f64::max);
    (wall > 0.0).then(|| SamplingCost { cpu_s: cpu * 1e-9, wall_s: wall * 1e-9, share: cpu / wall })
}

fn of_part(
    (part, rank): (SampledPart, u32),
    stacks: &[&ProfileStack],
    functions: &[SampledFunction],
) -> ProfilePart {
    let mut by_stage: BTreeMap<&Option<String>, Vec<&ProfileStack>> = BTreeMap::new();
    for stack in stacks {
        by_stage.entry(&stack.stage).or_default().push(stack);
    }
    let whole = Weight::of(stacks.iter().copied());
    let mut stages: Vec<(u64, ProfileStage)> = by_stage
        .into_iter()
        .map(|(stage, own)| {
            let weight = Weight::of(own.iter().copied());
            let functions = functions_of(&own, weight, functions);
            let share = weight.share_of(whole);
            let stage = ProfileStage { stage: stage.clone(), samples: weight.samples, share, functions };
            (weight.micros, stage)
        })
        .collect();
    stages.sort_by_key(|(micros, _)| std::cmp::Reverse(*micros));
    let stages = stages.into_iter().map(|(_, stage)| stage).collect();
    ProfilePart { part, rank, samples: whole.samples, stages }
}

/// Samples, and the time they stand for.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    samples: u64,
    micros: u64,
}

impl Weight {
    fn of<'a>(stacks: impl Iterator<Item = &'a ProfileStack>) -> Self {
        let mut sum = Self::default();
        stacks.for_each(|stack| sum.add(stack));
        sum
    }

    fn add(&mut self, stack: &ProfileStack) {
        self.samples = self.samples.saturating_add(stack.samples);
        self.micros = self.micros.saturating_add(stack.micros);
    }

    /// The share of a whole, by time, with Wilson's interval for that many samples.
    fn share_of(self, whole: Self) -> Estimate {
        let n = whole.samples.max(1) as f64;
        let mean = if whole.micros > 0 { self.micros as f64 / whole.micros as f64 } else { 0.0 };
        let mean = mean.clamp(0.0, 1.0);
        let z2 = DEVIATIONS * DEVIATIONS;
        let middle = (mean + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = DEVIATIONS / (1.0 + z2 / n) * (mean * (1.0 - mean) / n + z2 / (4.0 * n * n)).sqrt();
        let (low, high) = ((middle - half).clamp(0.0, mean), (middle + half).clamp(mean, 1.0));
        Estimate { mean, low, high, level: LEVEL }
    }
}

#[derive(Default)]
struct Tally {
    line: u32,
    own: Weight,
    waiting: Weight,
    total: Weight,
}

fn functions_of(
    stacks: &[&ProfileStack],
    stage: Weight,
    functions: &[SampledFunction],
) -> Vec<ProfileFunction> {
    let mut tallies: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
    let written = |call: &usize| functions.get(*call).map(|function| (as_written(function), function.line));
    for stack in stacks {
        let names: Vec<_> = stack.calls.iter().filter_map(written).collect();
        for (name, line) in &names {
            let tally = tallies.entry(*name).or_insert_with(|| Tally { line: *line, ..Tally::default() });
            // A comprehension stands inside its function, so the function begins first.
            tally.line = tally.line.min(*line);
        }
        if let Some(tally) = names.last().and_then(|(name, _)| tallies.get_mut(name)) {
            tally.own.add(stack);
            if stack.waiting {
                tally.waiting.add(stack);
            }
        }
        // A function that calls itself is in its stack many times, but takes the time once.
        for name in names.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>() {
            if let Some(tally) = tallies.get_mut(&name) {
                tally.total.add(stack);
            }
        }
    }
    let mut listed: Vec<_> = tallies.into_iter().collect();
    listed.sort_by_key(|(_, tally)| std::cmp::Reverse((tally.own.micros, tally.total.micros)));
    listed.truncate(MOST_FUNCTIONS);
    let shown = |((name, file), tally): ((&str, &str), Tally)| ProfileFunction {
        name: name.to_owned(),
        file: file.to_owned(),
        line: tally.line,
        samples: tally.own.samples,
        own: tally.own.share_of(stage),
        total: tally.total.share_of(stage),
        waiting: tally.waiting.share_of(tally.own).mean,
    };
    listed.into_iter().map(shown).collect()
}

/// The function that a comprehension or a generator expression stands in: Python gives them a frame of their
/// own, the reader of a program does not.
fn as_written(function: &SampledFunction) -> (&str, &str) {
    const INSIDE: [&str; 4] =
        [".<locals>.<genexpr>", ".<locals>.<listcomp>", ".<locals>.<setcomp>", ".<locals>.<dictcomp>"];
    let mut name = function.name.as_str();
    while let Some(outer) = INSIDE.iter().find_map(|inside| name.strip_suffix(inside)) {
        name = outer;
    }
    (name, &function.file)
}
