//! Tracks besides the thread that takes the steps: their own ledgers.

use laptime_core::{StageId, Ticks, TrackKind};

use crate::lane::Lane;
use crate::ledger::{BACKGROUND, rows};
use crate::process::Process;
use crate::report::TrackSummary;

/// What a track's ledger calls the time that no stage claims.
pub(crate) const IDLE: &str = "idle";

/// Every track of a process that has spans, besides the thread that takes the steps.
pub(crate) fn tracks(process: &Process) -> Vec<TrackSummary> {
    let stepping = process.stepping_lane().map(|lane| lane.number);
    let others = process.lanes.values().filter(|lane| Some(lane.number) != stepping);
    let by_spans = |lane: &&Lane| process.devices.get(&lane.number).is_none_or(|one| one.boundaries == 0);
    others.filter(by_spans).filter_map(|lane| track(lane, process)).collect()
}

/// What one track has; `None` when it has no stage.
pub(crate) fn track(lane: &Lane, process: &Process) -> Option<TrackSummary> {
    let timebase = process.timebase();
    let started = lane.started?;
    // A thread's last record ends its ledger, so nothing of it is left to stretch or tear down. A device is there
    // as long as the process is.
    let end = match lane.track.kind {
        TrackKind::Thread | TrackKind::Worker => lane.last?,
        TrackKind::Device | TrackKind::Communication => process.extent().end.max(started),
    };
    let mut totals = lane.totals_at(end, false).close_to(end.since(started), lane.stage_on_top());
    BACKGROUND.into_iter().for_each(|stage| totals.rebook(stage, StageId::UNACCOUNTED));
    let busy = totals.iter().any(|(stage, own, _)| stage != StageId::UNACCOUNTED && own > Ticks(0));
    let mut ledger = rows(&totals, &lane.spans, &process.names, &timebase);
    if let Some(rest) = ledger.last_mut() {
        IDLE.clone_into(&mut rest.stage);
    }
    let wall_s = timebase.seconds(end.since(started));
    let (kind, name) = (lane.track.kind, lane.track.name.clone());
    busy.then_some(TrackSummary { kind, name, wall_s, ledger })
}

#[cfg(test)]
mod tests {
    use laptime_core::{Event, LaneState, OpenStage, Record, StageTotal, Track};

    use super::*;
    use crate::script::Script;

    const MS: u64 = 1_000_000;

    fn on_device(script: &mut Script, lane: u32, start: u64, end: u64) {
        let span = |stage, start, end| Event::Span {
            stage,
            start: Ticks(start),
            end: Ticks(end),
            own: Ticks(end - start),
            in_evaluate: false,
        };
        let track = Track { kind: TrackKind::Device, name: "cuda:0".into() };
        script.records.push(Record::Track { lane, track, started: Ticks(1_000) });
        script.records.push(Record::Event { lane, event: span(StageId::FORWARD, start, end) });
        let total = StageTotal { stage: StageId::FORWARD, own: Ticks(end - start), count: 1 };
        script.records.push(Record::State(LaneState {
            lane,
            at: Ticks(end),
            open: vec![OpenStage {
                stage: StageId::UNACCOUNTED,
                start: Ticks(1_000),
                children: Ticks(end - start),
            }],
            totals: vec![total],
            dropped: 0,
        }));
    }

    #[test]
    fn a_device_has_a_ledger_that_closes_to_the_run_and_overlaps_the_hosts() {
        let mut script = Script::new();
        let began = script.now;
        script.pass(MS).stage(StageId::FORWARD, 3 * MS).pass(6 * MS);
        on_device(&mut script, 9, began + 2 * MS, began + 9 * MS);
        let report = script.close().report();
        let device = report.device_ledger.unwrap();
        let seconds = |row: &str| device.iter().find(|one| one.row == row).unwrap().seconds;
        assert!((seconds("forward") - 0.007).abs() < 1e-9);
        assert!((seconds(IDLE) - 0.003).abs() < 1e-9);
        assert!(device.iter().all(|row| row.device == "cuda:0"));
        let forward = report.ledger.iter().find(|row| row.stage == "forward").unwrap();
        assert!((forward.seconds - 0.003).abs() < 1e-9, "the host's ledger is as it would be without it");
    }

    #[test]
    fn a_device_is_never_the_thread_that_takes_the_steps() {
        let mut script = Script::new();
        script.records.retain(|record| !matches!(record, Record::Track { .. }));
        on_device(&mut script, 0, 2 * MS, 3 * MS);
        assert_eq!(script.report().tracks.len(), 1);
    }
}
