//! The file format of speedscope: shared frames, and one sampled profile for each part of a run.

use std::collections::BTreeMap;

use laptime_analyse::{ProfileStack, ProfileStacks, Report};
use serde::Serialize;

use super::samples::{has_ranks, part_name};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: &'a str,
    exporter: &'static str,
    #[serde(rename = "activeProfileIndex")]
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start_value: u64,
    #[serde(rename = "endValue")]
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// The document; the stage is the outermost frame of each stack.
pub(super) fn document(stacks: &ProfileStacks, report: &Report) -> String {
    let mut frames: Vec<Frame<'_>> = stacks
        .functions
        .iter()
        .map(|function| Frame { name: &function.name, file: Some(&function.file), line: Some(function.line) })
        .collect();
    let mut stages: BTreeMap<&str, usize> = BTreeMap::new();
    for stage in stacks.stacks.iter().filter_map(|stack| stack.stage.as_deref()) {
        stages.entry(stage).or_insert_with(|| {
            frames.push(Frame { name: stage, file: None, line: None });
            frames.len() - 1
        });
    }
    let mut parts: BTreeMap<_, Vec<&ProfileStack>> = BTreeMap::new();
    for stack in &stacks.stacks {
        parts.entry((stack.part, stack.rank)).or_default().push(stack);
    }
    let ranked = has_ranks(stacks);
    let profiles = parts
        .into_iter()
        .map(|((part, rank), own)| profile(part_name(part, rank, ranked), &own, &stages))
        .collect();
    let exporter = concat!("laptime ", env!("CARGO_PKG_VERSION"));
    let shared = Shared { frames };
    let name = &report.run.name;
    let document = Document { schema: SCHEMA, name, exporter, active_profile_index: 0, shared, profiles };
    serde_json::to_string(&document).unwrap_or_default()
}

fn profile(name: String, stacks: &[&ProfileStack], stages: &BTreeMap<&str, usize>) -> Profile {
    let samples = stacks.iter().map(|stack| {
        let stage = stack.stage.as_deref().and_then(|stage| stages.get(stage)).copied();
        stage.into_iter().chain(stack.calls.iter().copied()).collect()
    });
    let weights: Vec<u64> = stacks.iter().map(|stack| stack.micros).collect();
    let end_value = weights.iter().fold(0, |sum: u64, weight| sum.saturating_add(*weight));
    let samples = samples.collect();
    Profile { kind: "sampled", name, unit: "microseconds", start_value: 0, end_value, samples, weights }
}

#[cfg(test)]
mod tests {
    use super::super::samples::sample;
    use super::*;

    #[test]
    fn stages_are_the_outermost_frames_and_weights_add_up() {
        let report = crate::text::sample::nothing();
        let document: serde_json::Value = serde_json::from_str(&document(&sample(), &report)).unwrap();
        let frames = document["shared"]["frames"].as_array().unwrap();
        let names: Vec<&str> = frames.iter().map(|frame| frame["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["<module>", "decode;\nall", "data_wait", "forward"]);
        let training = &document["profiles"][0];
        assert_eq!(training["name"], "training");
        assert_eq!(training["samples"], serde_json::json!([[2, 0, 1], [2, 0, 1], [3, 0]]));
        assert_eq!(training["weights"], serde_json::json!([300_000, 50_000, 100_000]));
        assert_eq!((&training["startValue"], &training["endValue"]), (&0.into(), &450_000.into()));
        assert_eq!(document["profiles"][1]["samples"], serde_json::json!([[0]]));
    }
}
