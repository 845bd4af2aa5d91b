//! What must stay true of a lane.

use laptime_core::Track;
use proptest::prelude::*;

use super::*;
use crate::lap::end_lap;

const A: StageId = StageId(40);
const B: StageId = StageId(41);
const BEGAN: Ticks = Ticks(1_000);

fn lane() -> Lane {
    let lane = Lane(LaneMemory::leak_private().unwrap());
    lane.0.claim(0, &Track::thread("test"), BEGAN);
    lane.begin(StageId::UNACCOUNTED, BEGAN);
    lane
}

fn own(lane: Lane, stage: StageId, now: u64) -> u64 {
    lane.totals_at(Ticks(now)).iter().find(|total| total.stage == stage).map_or(0, |total| total.own.0)
}

fn spans(lane: Lane) -> Vec<(StageId, u64, u64, bool)> {
    let (_, events) = lane.0.events_from(0);
    let span = |event: &Event| match *event {
        Event::Span { stage, start, end, own, in_evaluate } => {
            Some((stage, end.since(start).0, own.0, in_evaluate))
        }
        _ => None,
    };
    events.iter().filter_map(span).collect()
}

#[test]
fn a_childs_time_is_not_its_parents() {
    let lane = lane();
    lane.enter(A, Ticks(1_010));
    lane.enter(B, Ticks(1_020));
    let _ = lane.exit(B, Ticks(1_050));
    let _ = lane.exit(A, Ticks(1_060));
    assert_eq!(spans(lane), [(B, 30, 30, false), (A, 50, 20, false)]);
    assert_eq!(own(lane, A, 1_100), 20);
    assert_eq!(own(lane, B, 1_100), 30);
    assert_eq!(own(lane, StageId::UNACCOUNTED, 1_100), 50);
}

#[test]
fn interleaved_generators_keep_their_own_lengths_and_no_time_counts_twice() {
    let lane = lane();
    lane.enter(A, Ticks(1_000));
    lane.enter(B, Ticks(1_010));
    let _ = lane.exit(A, Ticks(1_060));
    let _ = lane.exit(B, Ticks(1_070));
    assert_eq!(spans(lane), [(A, 60, 10, false), (B, 60, 60, false)]);
    assert_eq!(own(lane, A, 1_070) + own(lane, B, 1_070), 70);
}

#[test]
fn of_two_open_spans_of_a_stage_the_one_that_is_meant_ends() {
    let lane = lane();
    lane.enter(A, Ticks(1_000));
    lane.enter(A, Ticks(1_030));
    let _ = lane.exit_started(A, Ticks(1_000), Ticks(1_050));
    let _ = lane.exit_started(A, Ticks(1_030), Ticks(1_090));
    let lengths: Vec<u64> = spans(lane).iter().map(|span| span.1).collect();
    assert_eq!(lengths, [50, 60]);
    assert_eq!(own(lane, A, 1_090), 90);
}

#[test]
fn a_stage_that_began_earlier_than_it_was_known_is_one_span_with_all_time_since() {
    let lane = lane();
    lane.enter(A, Ticks(1_010));
    let _ = lane.exit(A, Ticks(1_020));
    let mark = lane.moment(Ticks(1_020));
    lane.enter(A, Ticks(1_030));
    let _ = lane.exit(A, Ticks(1_040));
    lane.enter_since(&mark, StageId::EVALUATE, Ticks(1_050));
    let _ = lane.exit_since(StageId::EVALUATE, Ticks(1_020), Ticks(1_070));
    assert_eq!(spans(lane).last(), Some(&(StageId::EVALUATE, 50, 50, false)));
    let totals = lane.totals_at(Ticks(1_070));
    let total =
        |stage| totals.iter().find(|total| total.stage == stage).map(|total| (total.own.0, total.count));
    assert_eq!(total(StageId::EVALUATE), Some((50, 1)));
    assert_eq!(total(A), Some((10, 1)));
}

#[test]
fn everything_inside_an_evaluation_is_evaluation() {
    let lane = lane();
    lane.enter(StageId::EVALUATE, Ticks(1_000));
    lane.enter(StageId::FORWARD, Ticks(1_010));
    lane.enter(A, Ticks(1_020));
    let _ = lane.exit(A, Ticks(1_030));
    let _ = lane.exit(StageId::FORWARD, Ticks(1_050));
    assert_eq!(own(lane, StageId::EVALUATE, 1_060), 60);
    let _ = lane.exit(StageId::EVALUATE, Ticks(1_080));
    assert_eq!(own(lane, StageId::EVALUATE, 1_090), 80);
    assert_eq!(own(lane, StageId::FORWARD, 1_090), 0);
    assert_eq!(spans(lane)[1], (StageId::FORWARD, 40, 40, true));
    lane.enter(StageId::FORWARD, Ticks(1_100));
    let _ = lane.exit(StageId::FORWARD, Ticks(1_110));
    assert_eq!(own(lane, StageId::FORWARD, 1_110), 10);
}

#[test]
fn the_background_takes_what_no_stage_claims() {
    let lane = lane();
    lane.enter(A, Ticks(1_010));
    lane.set_background(StageId::BETWEEN_EPOCHS, Ticks(1_015));
    let _ = lane.exit(A, Ticks(1_020));
    assert_eq!(own(lane, StageId::UNACCOUNTED, 1_050), 10);
    assert_eq!(own(lane, A, 1_050), 10);
    assert_eq!(own(lane, StageId::BETWEEN_EPOCHS, 1_050), 30);
    lane.rebook(StageId::UNACCOUNTED, StageId::START_UP);
    assert_eq!(own(lane, StageId::START_UP, 1_050), 10);
}

#[test]
fn a_stretch_of_the_past_is_taken_from_the_background() {
    let lane = lane();
    let _ = lane.book_past(StageId::IMPORTS, Ticks(900), Ticks(1_030));
    let _ = lane.book_past(StageId::IMPORTS, Ticks(1_040), Ticks(1_050));
    let _ = lane.book_past(StageId::IMPORTS, Ticks(1_050), Ticks(1_050));
    assert_eq!(own(lane, StageId::IMPORTS, 1_100), 40);
    assert_eq!(own(lane, StageId::UNACCOUNTED, 1_100), 60);
    assert_eq!(spans(lane), [(StageId::IMPORTS, 30, 30, false), (StageId::IMPORTS, 10, 10, false)]);
    let mark = lane.moment(Ticks(1_100));
    lane.enter(A, Ticks(1_120));
    let _ = lane.exit(A, Ticks(1_150));
    // What a stage claimed inside an import stays that stage's.
    let _ = lane.book_background_as_span(&mark, StageId::IMPORTS, Ticks(1_200));
    assert_eq!(spans(lane).last(), Some(&(StageId::IMPORTS, 100, 70, false)));
    assert_eq!((own(lane, A, 1_200), own(lane, StageId::IMPORTS, 1_200)), (30, 110));
    assert_eq!(own(lane, StageId::UNACCOUNTED, 1_200), 60);
}

#[test]
fn a_full_ring_drops_the_record_but_never_its_time_and_keeps_room_for_marks() {
    let lane = lane();
    let issued = RING_ENTRIES as u64 + 500;
    for at in 0..issued {
        lane.enter(A, Ticks(1_000 + at));
        let _ = lane.exit(A, Ticks(1_001 + at));
    }
    let kept = lane.0.head.load(Relaxed);
    assert_eq!(kept + lane.0.dropped.load(Relaxed), issued);
    assert_eq!(own(lane, A, 1_000 + issued), issued);
    let _ = lane.push_event(&Event::EpochEnd { epoch: 0, at: Ticks(9_999) });
    assert_eq!(lane.0.head.load(Relaxed), kept + 1);
}

#[test]
fn the_flusher_is_woken_once_the_ring_is_half_full() {
    let lane = lane();
    let mut woken = 0;
    for at in 0..RING_ENTRIES as u64 {
        lane.enter(A, Ticks(at));
        woken += u64::from(lane.exit(A, Ticks(at)) == Pushed::Wake);
    }
    assert_eq!(woken, 1);
}

#[derive(Clone, Debug)]
enum Act {
    Enter(u16),
    Exit(u16),
    Background(u16),
    Wait(u64),
    Mark,
    Book(u16),
    Lap(u16),
    BookBackground(u16),
    Import,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..6_u16).prop_map(Act::Enter),
        3 => (0..6_u16).prop_map(Act::Exit),
        1 => (0..3_u16).prop_map(Act::Background),
        4 => (0..1_000_u64).prop_map(Act::Wait),
        1 => Just(Act::Mark),
        1 => (0..6_u16).prop_map(Act::Book),
        1 => (0..5_u16).prop_map(Act::Lap),
        1 => (0..3_u16).prop_map(Act::BookBackground),
        1 => Just(Act::Import),
    ]
}

fn stage(number: u16) -> StageId {
    if number == 5 { StageId::EVALUATE } else { StageId(40 + number) }
}

fn plain_act() -> impl Strategy<Value = Act> {
    act().prop_filter("only what a training does", |act| {
        !matches!(
            act,
            Act::Mark | Act::Book(_) | Act::BookBackground(_) | Act::Import | Act::Enter(5) | Act::Lap(_)
        )
    })
}

fn play(lane: Lane, acts: &[Act], clock: &mut dyn FnMut(u64) -> u64) -> u64 {
    play_from(lane, BEGAN.0, acts, clock)
}

fn play_from(lane: Lane, from: u64, acts: &[Act], clock: &mut dyn FnMut(u64) -> u64) -> u64 {
    let mut now = from;
    let mut mark = lane.moment(BEGAN);
    for act in acts {
        match act {
            Act::Lap(number) => drop(end_lap(lane, stage(*number), Ticks(now))),
            Act::Mark => mark = lane.moment(Ticks(now)),
            Act::Book(number) => lane.book_since(&mark, stage(*number), Ticks(now)),
            Act::BookBackground(number) => {
                lane.book_background_since(&mark, StageId(11 + number % 2), Ticks(now));
            }
            Act::Import => drop(lane.book_background_as_span(&mark, StageId::IMPORTS, Ticks(now))),
            Act::Enter(number) => lane.enter(stage(*number), Ticks(now)),
            Act::Exit(number) => drop(lane.exit(stage(*number), Ticks(now))),
            Act::Background(number) => lane.set_background(StageId(11 + number % 2), Ticks(now)),
            Act::Wait(time) => now = clock(now.saturating_add(*time)),
        }
    }
    now
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn all_time_is_booked_exactly_once(acts in prop::collection::vec(act(), 0..200)) {
        let lane = lane();
        let now = play(lane, &acts, &mut |time| time);
        let booked: u64 = lane.totals_at(Ticks(now)).iter().map(|total| total.own.0).sum();
        prop_assert_eq!(booked, now - BEGAN.0);
    }

    #[test]
    fn what_is_booked_since_a_mark_is_all_its_stages_and_nothing_before_it_moves(
        before in prop::collection::vec(plain_act(), 0..60),
        after in prop::collection::vec(plain_act(), 0..60),
    ) {
        let lane = lane();
        let at = play(lane, &before, &mut |time| time);
        let mark = lane.moment(Ticks(at));
        let now = play_from(lane, at, &after, &mut |time| time);
        lane.book_since(&mark, B, Ticks(now));
        for total in lane.totals_at(Ticks(now)) {
            let old = mark.totals().find(|old| old.stage == total.stage).map_or(0, |old| old.own.0);
            let expected = if total.stage == B { old + (now - at) } else { old };
            prop_assert_eq!(total.own.0, expected, "{:?}", total.stage);
        }
    }

    #[test]
    fn a_clock_that_jumps_about_gives_no_panic_and_no_huge_length(
        acts in prop::collection::vec(act(), 0..200),
        jumps in prop::collection::vec(-5_000_i64..5_000, 200),
    ) {
        let lane = lane();
        let mut jumps = jumps.into_iter().cycle();
        play(lane, &acts, &mut |time| time.saturating_add_signed(jumps.next().unwrap_or(0)));
        for (_, length, own, _) in spans(lane) {
            prop_assert!(own <= length && length < 2_000_000);
        }
    }

    #[test]
    fn depth_without_end_is_counted_and_comes_back(depth in 0..500_u64) {
        let lane = lane();
        for at in 0..depth {
            lane.enter(A, Ticks(1_000 + at));
        }
        for at in 0..depth {
            let _ = lane.exit(A, Ticks(1_500 + at));
        }
        prop_assert_eq!(lane.0.depth.load(Relaxed), 1);
        let booked: u64 = lane.totals_at(Ticks(3_000)).iter().map(|total| total.own.0).sum();
        prop_assert_eq!(booked, 2_000);
    }
}

#[test]
fn steps_that_fill_the_ring_leave_places_for_marks() {
    let lane = lane();
    for _ in 0..2 * RING_ENTRIES {
        let _ = lane.push_step(BEGAN, BEGAN, 1);
        let _ = lane.push_event(&Event::Step { start: BEGAN, end: BEGAN, samples: 1, loss: None });
    }
    let dropped = lane.0.state(BEGAN).dropped;
    let _ = lane.push_event(&Event::EpochEnd { epoch: 0, at: BEGAN });
    assert_eq!(lane.0.state(BEGAN).dropped, dropped);
    assert!(lane.0.events_from(0).1.contains(&Event::EpochEnd { epoch: 0, at: BEGAN }));
}
