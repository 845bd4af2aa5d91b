//! Spans of a chosen target become stages, and no others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use laptime::{Options, Recorder, Status, TracingLayer};
use laptime_core::{Event, Record};
use laptime_store::RunReader;
use tracing::info_span;
use tracing_subscriber::prelude::*;

#[test]
fn spans_of_the_target_and_below_it_are_stages_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let layer = TracingLayer::for_target("model");
    let subscriber = tracing_subscriber::registry().with(layer);
    let recorder = Recorder::start(&Options { root: Some(folder.path().to_owned()), ..Options::default() });
    tracing::subscriber::with_default(subscriber, || {
        for _ in 0..3 {
            let step = info_span!(target: "model", "whole step");
            let _step = step.enter();
            info_span!(target: "model::block", "forward").in_scope(|| ());
            info_span!(target: "modelling", "not ours").in_scope(|| ());
        }
    });
    let run = recorder.finish(Status::Finished, None).run.unwrap();
    assert_eq!(spans(&run), [("forward".to_owned(), 3), ("whole step".to_owned(), 3)].into());
}

fn spans(run: &std::path::Path) -> BTreeMap<String, u64> {
    let (mut names, mut counts) = (BTreeMap::new(), BTreeMap::new());
    let mut sink = |_, record| match record {
        Record::Stage { stage, name } => drop(names.insert(stage, name)),
        Record::Event { event: Event::Span { stage, .. }, .. } => *counts.entry(stage).or_default() += 1,
        _ => {}
    };
    RunReader::open(run).unwrap().poll(&mut sink).unwrap();
    let name =
        |stage: laptime::StageId| stage.built_in_name().map_or_else(|| names[&stage].clone(), str::to_owned);
    counts.into_iter().map(|(stage, count)| (name(stage), count)).collect()
}
