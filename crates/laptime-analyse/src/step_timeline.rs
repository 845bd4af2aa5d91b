//! The timeline of one step: what host, devices and workers did from its begin to its end.

use laptime_core::{Ticks, TrackKind};

use crate::newest_spans::{MOST_SHOWN, Stretch, TypicalStep};
use crate::process::Process;

/// One step, on every track that is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTimeline {
    /// How long the step took, seconds.
    pub wall_s: f64,
    /// The tracks: the thread that takes the steps first.
    pub tracks: Vec<TimelineTrack>,
}

/// What one track did during the step.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineTrack {
    /// What it is of.
    pub kind: TrackKind,
    /// The name of the thread, device or worker.
    pub name: String,
    /// Its spans in order of their begin, the outer ones first.
    pub spans: Vec<TimelineSpan>,
}

/// One stretch of one stage within the step.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineSpan {
    /// The stage.
    pub stage: String,
    /// From the step's begin, seconds; what began before it begins at 0.
    pub start_s: f64,
    /// Until, seconds; at most the step's length.
    pub end_s: f64,
    /// Spans that it lies in.
    pub depth: u32,
}

/// The newest typical step of a process, with all that processes of the same rank and machine did meanwhile; `None`
/// where no step was.
pub(crate) fn step_timeline(process: &Process, processes: &[Process]) -> Option<StepTimeline> {
    let step = process.newest.step.as_ref()?;
    let own = process.newest.lanes.iter().map(|(lane, spans)| {
        if *lane == step.lane {
            return track(process, *lane, step.spans.iter(), step);
        }
        track(process, *lane, spans.iter(), step)
    });
    let mut tracks: Vec<(bool, TimelineTrack)> = own.flatten().map(|track| (false, track)).collect();
    let stepping = process.lanes.get(&step.lane).map(|lane| lane.track.name.clone()).unwrap_or_default();
    let host = |track: &TimelineTrack| track.kind == TrackKind::Thread && track.name == stepping;
    tracks.iter_mut().for_each(|(is_host, track)| *is_host = host(track));
    let others = processes.iter().filter(|other| other.shares_clock_with(process));
    for other in others {
        let all = other.newest.lanes.iter();
        let found = all.filter_map(|(lane, spans)| track(other, *lane, spans.iter(), step));
        tracks.extend(found.map(|track| (false, track)));
    }
    tracks.sort_by_key(|(is_host, track)| (!is_host, track.kind, track.name.clone()));
    let wall_s = process.timebase().seconds(step.end.since(step.start));
    let tracks: Vec<TimelineTrack> = tracks.into_iter().map(|(_, track)| track).collect();
    (!tracks.is_empty()).then_some(StepTimeline { wall_s, tracks })
}

fn track<'a>(
    process: &Process,
    lane: u32,
    spans: impl Iterator<Item = &'a Stretch>,
    step: &TypicalStep,
) -> Option<TimelineTrack> {
    let inside = spans.filter(|span| span.start < step.end && span.end > step.start);
    let mut inside: Vec<&Stretch> = inside.collect();
    inside.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    inside.truncate(MOST_SHOWN);
    let timebase = process.timebase();
    let mut open: Vec<Ticks> = Vec::new();
    let mut shown = Vec::with_capacity(inside.len());
    for span in inside {
        open.retain(|end| *end > span.start);
        shown.push(TimelineSpan {
            stage: process.names.name(span.stage),
            start_s: timebase.seconds(span.start.since(step.start)),
            end_s: timebase.seconds(span.end.min(step.end).since(step.start)),
            depth: open.len() as u32,
        });
        open.push(span.end);
    }
    let known = process.lanes.get(&lane);
    let kind = known.map(|lane| lane.track.kind).unwrap_or_default();
    let name = match process.facts.worker {
        Some(worker) => format!("worker {worker}"),
        None => known.map(|lane| lane.track.name.clone()).unwrap_or_default(),
    };
    let kind = if process.facts.worker.is_some() { TrackKind::Worker } else { kind };
    (!shown.is_empty()).then_some(TimelineTrack { kind, name, spans: shown })
}

#[cfg(test)]
mod tests {
    use laptime_core::{Event, ProcessFacts, Record, StageId, Track};

    use super::*;

    const MS: u64 = 1_000_000;

    fn process(worker: Option<u32>, pid: u32) -> Process {
        let facts = ProcessFacts { ns_per_tick: 1.0, worker, pid, ..ProcessFacts::default() };
        let mut process = Process::new(facts);
        process.take(&Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(0) });
        process
    }

    fn span(process: &mut Process, stage: StageId, start: u64, end: u64) {
        let (start, end) = (Ticks(start * MS), Ticks(end * MS));
        let event = Event::Span { stage, start, end, own: end.since(start), in_evaluate: false };
        process.take(&Record::Event { lane: 0, event });
    }

    fn step(process: &mut Process, start: u64, end: u64) {
        let event = Event::Step { start: Ticks(start * MS), end: Ticks(end * MS), samples: 1, loss: None };
        process.take(&Record::Event { lane: 0, event });
    }

    #[test]
    fn the_newest_usual_step_is_shown_with_what_the_workers_did_meanwhile() {
        let (mut host, mut worker) = (process(None, 1), process(Some(3), 2));
        for at in 0..20 {
            let begin = at * 10;
            span(&mut host, StageId::DATA_WAIT, begin, begin + 4);
            span(&mut host, StageId::LOSS, begin + 5, begin + 6);
            span(&mut host, StageId::FORWARD, begin + 4, begin + 8);
            step(&mut host, begin, begin + 10);
        }
        span(&mut host, StageId::DATA_WAIT, 200, 900);
        step(&mut host, 200, 1_000);
        span(&mut worker, StageId::PREPARE, 185, 195);
        let timeline = step_timeline(&host, &[host.clone(), worker]).unwrap();
        assert_eq!(timeline.wall_s, 0.01);
        let [main, worker] = &timeline.tracks[..] else { panic!("{timeline:?}") };
        let shown: Vec<(&str, u32)> =
            main.spans.iter().map(|span| (span.stage.as_str(), span.depth)).collect();
        assert_eq!(shown, [("data_wait", 0), ("forward", 0), ("loss", 1)]);
        assert_eq!((worker.name.as_str(), worker.kind), ("worker 3", TrackKind::Worker));
        assert!((worker.spans[0].end_s - 0.005).abs() < 1e-9);
    }

    #[test]
    fn a_process_without_steps_has_no_timeline() {
        assert_eq!(step_timeline(&process(None, 1), &[]), None);
    }
}
