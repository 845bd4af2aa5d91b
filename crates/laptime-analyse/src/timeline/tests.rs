use std::collections::HashMap;

use laptime_core::{
    Anchor, Closing, CollectiveKind, Event, LaneState, OpenStage, ProcessFacts, Record, RunMeta, StageId,
    Status, Ticks, Track,
};
use proptest::prelude::*;

use super::{Mark, Row, Slice, What};
use crate::Digest;

const LANE: u32 = 0;

fn process(boot: &str, rank: u32) -> Record {
    let (boot_id, started) = (boot.to_owned(), Ticks(1_000));
    Record::Process(ProcessFacts {
        ns_per_tick: 1.0,
        started,
        boot_id,
        rank,
        pid: 100 + rank,
        ..ProcessFacts::default()
    })
}

fn span(stage: u16, start: u64, end: u64) -> Record {
    let (start, end) = (Ticks(start), Ticks(end));
    let own = end.since(start);
    event(Event::Span { stage: StageId(stage), start, end, own, in_evaluate: false })
}

fn event(event: Event) -> Record {
    Record::Event { lane: LANE, event }
}

fn anchor(ticks: u64, monotonic_ns: u64, real_ns: u64) -> Record {
    Record::Anchor(Anchor { ticks: Ticks(ticks), monotonic_ns, real_ns, boot_ns: monotonic_ns })
}

fn marks(logs: &[Vec<Record>]) -> Vec<Mark> {
    let mut digest = Digest::new(RunMeta::default());
    let records =
        || logs.iter().enumerate().flat_map(|(log, records)| records.iter().map(move |one| (log, one)));
    records().for_each(|(log, record)| digest.take_from(log, record));
    let timeline = digest.timeline();
    let (mut reading, mut marks) = (timeline.marks(), Vec::new());
    records().for_each(|(log, record)| reading.scan(log, record));
    records().for_each(|(log, record)| reading.take(log, record, &mut |mark| marks.push(mark)));
    reading.finish(&mut |mark| marks.push(mark));
    marks
}

/// The slices of each row, from their begins and ends alone: depth, slice, begin, end.
type Read = HashMap<Row, Vec<(usize, Slice, u64, Option<u64>)>>;

fn read(marks: &[Mark]) -> Read {
    let (mut slices, mut open, mut newest): (Read, HashMap<Row, Vec<usize>>, HashMap<Row, u64>) =
        Default::default();
    for mark in marks {
        let before = newest.insert(mark.row, mark.at_ns).unwrap_or(0);
        assert!(before <= mark.at_ns, "{mark:?} comes after {before}");
        let (slices, open) = (slices.entry(mark.row).or_default(), open.entry(mark.row).or_default());
        match mark.what {
            What::Begin(slice) => {
                slices.push((open.len(), slice, mark.at_ns, None));
                open.push(slices.len() - 1);
            }
            What::End => slices[open.pop().unwrap()].3 = Some(mark.at_ns),
            What::Amount(_) => {}
        }
    }
    slices
}

fn stages(beside: u16) -> Row {
    Row::Stages { lane: LANE, beside }
}

#[test]
fn spans_nest_as_they_did_though_the_inner_ones_are_on_record_first() {
    // The last two begin together: what is on record last is around the other.
    let records = vec![
        process("a", 0),
        span(4, 1_010, 1_020),
        span(6, 1_020, 1_030),
        span(40, 1_010, 1_030),
        span(9, 1_010, 1_040),
    ];
    let rows = read(&marks(&[records]));
    let stage = |stage| Slice::Stage(StageId(stage));
    assert_eq!(
        rows[&stages(0)],
        [
            (0, stage(9), 10, Some(40)),
            (1, stage(40), 10, Some(30)),
            (2, stage(4), 10, Some(20)),
            (2, stage(6), 20, Some(30)),
        ]
    );
}

#[test]
fn spans_that_overlap_lie_in_rows_of_their_own() {
    let rows = read(&marks(&[vec![process("a", 0), span(40, 1_000, 1_010), span(41, 1_005, 1_015)]]));
    assert_eq!(rows[&stages(0)], [(0, Slice::Stage(StageId(40)), 0, Some(10))]);
    assert_eq!(rows[&stages(1)], [(0, Slice::Stage(StageId(41)), 5, Some(15))]);
}

#[test]
fn a_span_with_very_many_within_it_is_around_them_and_an_open_stage_never_ends() {
    let mut records = vec![process("a", 0)];
    records.extend((0..20_000).map(|at| span(4, 2_000 + at * 10, 2_009 + at * 10)));
    records.push(span(40, 1_990, 300_000));
    let open = |stage, start| OpenStage { stage: StageId(stage), start: Ticks(start), children: Ticks(0) };
    let state = LaneState { lane: LANE, open: vec![open(1, 1_000), open(41, 1_500)], ..LaneState::default() };
    records.push(Record::State(state));
    let rows = &read(&marks(&[records]))[&stages(0)];
    assert_eq!(rows.len(), 20_002);
    assert_eq!(rows[0], (0, Slice::Stage(StageId(41)), 500, None));
    assert_eq!(rows[1], (1, Slice::Stage(StageId(40)), 990, Some(299_000)));
    assert!(rows[2..].iter().all(|(depth, ..)| *depth == 2));
}

#[test]
fn processes_of_a_machine_share_its_monotonic_clock_and_machines_their_wall_clocks() {
    let mark = |at| event(Event::FitBegin { fit: 0, at: Ticks(at) });
    // The second process began when the wall clock had been set an hour ahead; the third is another machine's.
    let hour = 3_600_000_000_000;
    let marks = marks(&[
        vec![process("a", 0), anchor(1_000, 5_000, 1_000_000), mark(1_100)],
        vec![process("a", 1), anchor(1_000, 7_000, 1_002_000 + hour), mark(1_100)],
        vec![process("b", 2), anchor(1_000, 10, 1_003_000), mark(1_100)],
    ]);
    let times: Vec<u64> = marks.iter().map(|mark| mark.at_ns).collect();
    assert_eq!(times, [100, 2_100, 3_100]);
}

#[test]
fn collectives_under_way_at_once_lie_in_rows_beside_each_other() {
    let collective = |sequence, start, end| {
        let (start, end) = (Ticks(start), Ticks(end));
        event(Event::Collective { group: 3, kind: CollectiveKind::AllReduce, sequence, start, end, bytes: 8 })
    };
    let rows =
        read(&marks(&[vec![process("a", 0), collective(0, 1_010, 1_020), collective(1, 1_015, 1_030)]]));
    let slice = Slice::Collective(CollectiveKind::AllReduce);
    assert_eq!(rows[&Row::Group { group: 3, beside: 0 }], [(0, slice, 10, Some(20))]);
    assert_eq!(rows[&Row::Group { group: 3, beside: 1 }], [(0, slice, 15, Some(30))]);
}

#[test]
fn a_stream_works_from_when_it_was_given_work_and_free_until_it_is_done() {
    let boundary = |stage, host, done| {
        event(Event::Boundary { stream: 0, stage: StageId(stage), host: Ticks(host), done: Ticks(done) })
    };
    let records = vec![
        process("a", 0),
        boundary(4, 1_010, 1_010),
        boundary(6, 1_020, 1_050),
        boundary(0, 1_030, 1_090),
        boundary(0, 1_200, 1_200),
    ];
    let rows = read(&marks(&[records]));
    let stage = |stage| Slice::Stage(StageId(stage));
    assert_eq!(
        rows[&Row::Stream { lane: LANE, stream: 0 }],
        [(0, stage(4), 10, Some(50)), (0, stage(6), 50, Some(90))]
    );
}

#[test]
fn every_step_is_given_with_its_place() {
    let step = |start, end| {
        let (start, end) = (Ticks(start), Ticks(end));
        event(Event::Step { start, end, samples: 32, loss: None })
    };
    let records = [
        process("a", 2),
        Record::Track { lane: LANE, track: Track::thread("main"), started: Ticks(1_000) },
        event(Event::FitBegin { fit: 1, at: Ticks(1_000) }),
        step(1_000, 1_100),
        event(Event::EpochBegin { epoch: 4, at: Ticks(1_100) }),
        step(1_100, 1_300),
        Record::Closed {
            at: Ticks(1_400),
            closing: Closing { status: Status::Finished, message: None, spans: 0, span_cost_ns: 0.0 },
        },
    ];
    let mut digest = Digest::new(RunMeta::default());
    records.iter().for_each(|record| digest.take_from(0, record));
    let timeline = digest.timeline();
    let mut steps = timeline.steps();
    let rows: Vec<_> = records.iter().filter_map(|record| steps.take(0, record)).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (rows[1].rank, rows[1].pid, rows[1].fit, rows[1].epoch, rows[1].step),
        (2, 102, Some(1), Some(4), 1)
    );
    assert_eq!((rows[1].started_s, rows[1].wall_s), (100e-9, 200e-9));
}

proptest! {
    /// Spans of any shape, in the order of their ends: each is there once, and each row is in time order.
    #[test]
    fn whatever_is_on_record_is_given_once(shapes in proptest::collection::vec((0_u64..400, 0_u64..400, 0_u16..8), 0..200)) {
        let mut spans: Vec<(u64, u64, u16)> =
            shapes.into_iter().map(|(start, length, stage)| (1_000 + start, 1_000 + start + length, 40 + stage)).collect();
        spans.sort_by_key(|(_, end, _)| *end);
        let mut records = vec![process("a", 0)];
        records.extend(spans.iter().map(|(start, end, stage)| span(*stage, *start, *end)));
        let mut found: Vec<(u64, u64, u16)> = Vec::new();
        for (row, slices) in read(&marks(&[records])) {
            let is_stages = matches!(row, Row::Stages { .. });
            prop_assert!(is_stages);
            for (_, slice, begin, end) in slices {
                let Slice::Stage(stage) = slice else { panic!("{slice:?}") };
                found.push((begin + 1_000, end.unwrap() + 1_000, stage.0));
            }
        }
        found.sort_unstable();
        spans.sort_unstable();
        prop_assert_eq!(found, spans);
    }
}
