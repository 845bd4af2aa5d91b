//! Trials: hundreds of simulated trainings, each with a delay that is known or with none.

use laptime_core::StageId;

use super::simulated::{Delay, Exchange, MS, Simulated};
use crate::Report;
use crate::report::{Pattern, Straggler};

const STAGES: [(StageId, &str); 4] = [
    (StageId::BACKWARD, "backward"),
    (StageId::FORWARD, "forward"),
    (StageId::DATA_WAIT, "data_wait"),
    (StageId::OPTIMIZER, "optimizer"),
];

fn straggler(report: Report) -> Option<Straggler> {
    report.communication.and_then(|communication| communication.straggler)
}

fn always(rank: usize, stage: StageId, ms: f64) -> impl Fn(usize, usize) -> Delay {
    move |of, _| (of == rank).then_some((stage, ms * MS))
}

#[test]
fn a_rank_that_is_always_late_is_named_with_its_stage() {
    for exchange in [Exchange::Overlapped, Exchange::Blocking] {
        for (stage, name) in STAGES {
            for trial in 0..20 {
                let rank = trial as usize % 4;
                // A bucket that follows at once makes tiles of very different lengths.
                let second_half = [8.0, 0.1][trial as usize / 4 % 2];
                let simulated =
                    Simulated { exchange, trial, noise: 0.3, second_half, ..Simulated::default() };
                let found = straggler(simulated.report(always(rank, stage, 50.0))).unwrap();
                let known = (found.pattern, found.ranks.as_slice(), found.stage.as_deref());
                assert_eq!(known, (Pattern::Chronic, &[rank as u32][..], Some(name)), "trial {trial}");
                assert!(found.last_share.unwrap() > 0.95);
            }
        }
    }
}

#[test]
fn the_gain_without_a_late_rank_is_what_a_run_without_its_delay_takes() {
    for exchange in [Exchange::Overlapped, Exchange::Blocking] {
        for (stage, name) in STAGES {
            let simulated = Simulated { exchange, steps: 200, ..Simulated::default() };
            let step = |report: &Report| report.ranks.as_ref().unwrap()[0].communication.unwrap().step_s;
            let late = simulated.report(always(2, stage, 20.0));
            let truth = step(&late) / step(&simulated.report(|_, _| None));
            let gain = straggler(late).unwrap().speedup.unwrap();
            assert!((gain.mean / truth - 1.0).abs() < 0.06, "{name}: {gain:?}, not {truth}");
        }
    }
}

#[test]
fn nobody_is_named_where_ranks_only_vary() {
    let mut named = 0;
    for trial in 0..200 {
        let exchange = if trial % 2 == 0 { Exchange::Overlapped } else { Exchange::Blocking };
        let (noise, ranks) = ([0.02, 0.1, 0.3, 0.6][trial as usize % 4], [2, 4, 8][trial as usize % 3]);
        let simulated = Simulated { exchange, trial, noise, ranks, ..Simulated::default() };
        let found = straggler(simulated.report(|_, _| None));
        named += usize::from(found.is_some_and(|found| found.pattern == Pattern::Chronic));
    }
    assert!(named <= 2, "{named} of 200");
}

#[test]
fn ranks_that_take_turns_are_said_to() {
    for exchange in [Exchange::Overlapped, Exchange::Blocking] {
        for trial in 0..20 {
            let simulated = Simulated { exchange, trial, ..Simulated::default() };
            let turns =
                |rank: usize, step: usize| (step % 4 == rank).then_some((StageId::FORWARD, 50.0 * MS));
            let found = straggler(simulated.report(turns)).unwrap();
            assert_eq!((found.pattern, found.stage.as_deref()), (Pattern::Rotating, Some("forward")));
            assert!(found.ranks.is_empty());
        }
    }
}

#[test]
fn a_rank_that_is_late_once_is_no_straggler_and_yet_said() {
    let once = |rank: usize, step: usize| (rank == 1 && step == 700).then_some((StageId::DATA_WAIT, 5e9));
    let simulated = Simulated { steps: 2_000, ..Simulated::default() };
    let communication = simulated.report(once).communication.unwrap();
    assert_eq!(communication.straggler, None);
    let found = communication.one_off.unwrap();
    assert_eq!(
        (found.ranks.as_slice(), found.step, found.stage.as_deref()),
        (&[1][..], Some(700), Some("data_wait"))
    );
    assert!((found.excess_s.unwrap() - 5.0).abs() < 0.1);
}

#[test]
fn ranks_of_one_machine_that_are_late_together_are_named_together() {
    let both = |rank: usize, _: usize| (rank >= 4).then_some((StageId::BACKWARD, 30.0 * MS));
    let found = straggler(Simulated { ranks: 8, steps: 100, ..Simulated::default() }.report(both)).unwrap();
    assert_eq!((found.ranks.as_slice(), found.host.as_deref()), (&[4, 5, 6, 7][..], Some("b")));
    assert!(found.speedup.unwrap().low > 1.5);
}

#[test]
fn exposed_time_is_transfer_and_waiting_and_the_late_rank_waits_for_nobody() {
    let simulated = Simulated { steps: 100, noise: 0.0, ..Simulated::default() };
    let report = simulated.report(always(3, StageId::BACKWARD, 50.0));
    let ranks = report.ranks.unwrap();
    let near = |found: f64, ms: f64| assert!((found - ms * 1e-3).abs() < 0.3e-3, "{found} s, not {ms} ms");
    for rank in &ranks {
        let known = rank.communication.unwrap();
        let is_late = rank.rank == 3;
        near(known.hidden_s, 2.0);
        near(known.transfer_s.unwrap(), 2.0);
        near(known.waiting_s.unwrap(), if is_late { 0.0 } else { 50.0 });
        near(known.compute_s, if is_late { 78.0 } else { 28.0 });
        near(known.data_s, 2.0);
        near(known.step_s, 82.0);
    }
    let communication = report.communication.unwrap();
    assert_eq!(communication.groups[0].bytes, 4 * 100 * 10_000);
    assert_eq!(communication.bytes_per_step, Some(10_000.0));
    near(1e4 / communication.bytes_per_s.unwrap(), 4.0);
}
