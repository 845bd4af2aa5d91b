//! Collectives of a recorder in this process, begun and ended on several threads.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use laptime_core::{Counter, Event, Record, StageId, Status, Ticks, TrackKind};
use laptime_record::{
    CollectiveKind, GroupFacts, GroupNumber, Options, Recorder, add_group, collective_begin, collective_end,
};
use laptime_store::RunReader;

/// A process has one recorder at a time, so these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(root: &Path) -> Recorder {
    Recorder::start(&Options { root: Some(root.to_owned()), ..Options::default() })
}

fn finish(recorder: Recorder) -> Vec<Record> {
    let run = recorder.finish(Status::Finished, None).run.unwrap();
    let mut records = Vec::new();
    RunReader::open(&run).unwrap().poll(&mut |_, record| records.push(record)).unwrap();
    records
}

fn group(name: &str) -> GroupNumber {
    add_group(GroupFacts { name: name.into(), ranks: vec![0, 1], ..GroupFacts::default() }).unwrap()
}

fn exchange(group: GroupNumber, kind: CollectiveKind, bytes: u64) {
    if let Some(collective) = collective_begin(group, kind, bytes) {
        collective_end(collective);
    }
}

/// Each collective as its group, kind, number and bytes.
fn collectives(records: &[Record]) -> Vec<(u16, CollectiveKind, u32, u64)> {
    let collective = |record: &Record| match record {
        Record::Event { event: Event::Collective { group, kind, sequence, start, end, bytes }, .. } => {
            assert!(start <= end);
            Some((*group, *kind, *sequence, *bytes))
        }
        _ => None,
    };
    records.iter().filter_map(collective).collect()
}

#[test]
fn a_collective_is_on_its_own_track_with_its_bytes_counted_once_and_its_group_before_it() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = start(folder.path());
    let group = group("on its own track");
    let collective = collective_begin(group, CollectiveKind::AllReduce, 400).unwrap();
    thread::spawn(move || collective_end(collective)).join().unwrap();
    collective_end(collective);
    exchange(group, CollectiveKind::Barrier, 0);
    let records = finish(recorder);
    let (all_reduce, barrier) = (CollectiveKind::AllReduce, CollectiveKind::Barrier);
    assert_eq!(collectives(&records), [(group.0, all_reduce, 0, 400), (group.0, barrier, 1, 0)]);
    let track = records.iter().find_map(|record| match record {
        Record::Track { lane, track, .. } if track.kind == TrackKind::Communication => Some(*lane),
        _ => None,
    });
    let place = |is: &dyn Fn(&Record) -> bool| records.iter().position(is).unwrap();
    let introduced =
        place(&|record| matches!(record, Record::Group { group: number, .. } if *number == group.0));
    let first = place(&|record| matches!(record, Record::Event { lane, .. } if Some(*lane) == track));
    assert!(introduced < first);
    let counted = records.iter().filter_map(|record| match record {
        Record::Event { event: Event::Count { counter: Counter::BetweenRanksBytes, amount, .. }, .. } => {
            Some(*amount)
        }
        _ => None,
    });
    assert_eq!(counted.sum::<u64>(), 400);
}

#[test]
fn the_ledger_of_the_track_has_the_time_in_which_any_collective_was_under_way() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = start(folder.path());
    let group = group("overlapping");
    let outer = collective_begin(group, CollectiveKind::AllReduce, 8).unwrap();
    exchange(group, CollectiveKind::AllReduce, 8);
    collective_end(outer);
    let records = finish(recorder);
    let span = records.iter().filter_map(|record| match record {
        Record::Event {
            event: Event::Span { stage: StageId::COMMUNICATION, start, end, own, .. }, ..
        } => Some((*start, *end, *own)),
        _ => None,
    });
    let spans: Vec<(Ticks, Ticks, Ticks)> = span.collect();
    let stretches = records.iter().filter_map(|record| match record {
        Record::Event { event: Event::Collective { start, end, .. }, .. } => Some((*start, *end)),
        _ => None,
    });
    let (start, end) = stretches.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).unwrap();
    assert_eq!(spans, [(start, end, end.since(start))]);
}

#[test]
fn collectives_are_numbered_by_group_also_without_a_recorder_and_those_of_two_ranks_apart() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (group("numbered"), group("numbered too"));
    exchange(one, CollectiveKind::AllReduce, 1);
    let recorder = start(folder.path());
    for (group, kind) in [
        (one, CollectiveKind::Send),
        (one, CollectiveKind::Broadcast),
        (other, CollectiveKind::AllGather),
        (one, CollectiveKind::Receive),
        (one, CollectiveKind::AllReduce),
    ] {
        exchange(group, kind, 1);
    }
    let records = finish(recorder);
    let numbers = |group: GroupNumber| {
        let of_group = collectives(&records).into_iter().filter(move |one| one.0 == group.0);
        of_group.map(|(_, _, sequence, _)| sequence).collect::<Vec<_>>()
    };
    assert_eq!(numbers(one), [0, 1, 1, 2]);
    assert_eq!(numbers(other), [0]);
}

#[test]
fn a_group_that_is_made_again_has_another_name_and_one_that_is_unknown_is_passed_over() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = start(folder.path());
    for group in [group("made again"), group("made again"), GroupNumber(u16::MAX)] {
        exchange(group, CollectiveKind::Barrier, 0);
    }
    let records = finish(recorder);
    let names: Vec<&str> = records
        .iter()
        .filter_map(|record| match record {
            Record::Group { facts, .. } => Some(facts.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["made again", "made again (2)"]);
}

#[test]
fn what_is_under_way_when_a_recorder_ends_is_not_taken_over_by_the_next() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let group = group("two recorders");
    let recorder = start(folder.path());
    let hung = collective_begin(group, CollectiveKind::AllReduce, 1).unwrap();
    let records = finish(recorder);
    assert!(collectives(&records).is_empty());
    let is_open = |record: &Record| match record {
        Record::State(state) => state.open.iter().any(|open| open.stage == StageId::COMMUNICATION),
        _ => false,
    };
    assert!(records.iter().any(is_open), "where it hung is known");
    let recorder = start(folder.path());
    collective_end(hung);
    exchange(group, CollectiveKind::AllReduce, 1);
    collective_end(hung);
    assert_eq!(collectives(&finish(recorder)), [(group.0, CollectiveKind::AllReduce, 1, 1)]);
}
