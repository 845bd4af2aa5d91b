//! Runs of several ranks, under one supervisor or one each.

use laptime_core::{Closing, FitFacts, ProcessFacts, Record, Role, RunMeta, StageId, Status, Ticks};

use crate::script::Script;
use crate::{Digest, Report, Warning};

const MS: u64 = 1_000_000;

/// A rank that computes for some time in each of 20 steps and waits for the others in the rest of 30 ms.
fn rank(number: u32, work: u64) -> Vec<Record> {
    let mut script = Script::new();
    script.pass(50 * MS).fit(FitFacts::default()).epoch();
    for _ in 0..20 {
        script.step(&[(StageId::FORWARD, work * MS), (StageId::COMMUNICATION, (30 - work) * MS)], 8);
    }
    script.end_epoch().end_fit().close();
    for record in &mut script.records {
        if let Record::Process(facts) = record {
            facts.rank = number;
        }
    }
    script.records
}

fn supervisor(rank: u32, status: Status) -> Vec<Record> {
    let facts = ProcessFacts { role: Role::Supervisor, rank, ns_per_tick: 1.0, ..ProcessFacts::default() };
    let message = (status != Status::Finished).then(|| "ended with exit code 3".to_owned());
    let closing = Closing { status, message, spans: 0, span_cost_ns: 0.0 };
    vec![Record::Process(facts), Record::Closed { at: Ticks(1_000 * MS), closing }]
}

fn report(logs: &[Vec<Record>]) -> Report {
    let mut digest = Digest::new(RunMeta::default());
    for (number, log) in logs.iter().enumerate() {
        log.iter().for_each(|record| digest.take_from(number, record));
    }
    digest.report()
}

#[test]
fn every_rank_has_a_ledger_that_closes_and_the_slowest_is_named() {
    let report = report(&[rank(1, 25), supervisor(0, Status::Finished), rank(0, 10)]);
    let ranks = report.ranks.as_deref().unwrap();
    assert_eq!(ranks.iter().map(|rank| (rank.rank, rank.steps)).collect::<Vec<_>>(), [(0, 20), (1, 20)]);
    for rank in ranks {
        let sum: f64 = rank.ledger.iter().map(|row| row.seconds).sum();
        assert!((sum - rank.wall_s).abs() < 1e-9 && (rank.wall_s - 0.65).abs() < 1e-9, "{rank:?}");
        assert!((rank.samples_per_s.unwrap() - 8.0 / 0.03).abs() < 1e-6);
    }
    assert!((ranks[1].work_s.unwrap() - 0.025).abs() < 1e-9);
    assert_eq!(report.slowest_rank, Some(1));
    assert_eq!(report.run.ranks, 2);
    let uneven = report.findings.iter().find(|finding| finding.id == "uneven_ranks").unwrap();
    assert!(uneven.text.contains("works 25.0 ms on a step, rank 0 10.0 ms"), "{}", uneven.text);
}

#[test]
fn a_rank_with_a_supervisor_of_its_own_is_measured_to_its_reaping() {
    let logs = [rank(0, 10), rank(1, 10), supervisor(0, Status::Finished), supervisor(1, Status::Finished)];
    let report = report(&logs);
    assert!((report.wall_s - 1.0).abs() < 1e-9);
    for rank in report.ranks.unwrap() {
        let sum: f64 = rank.ledger.iter().map(|row| row.seconds).sum();
        assert!((sum - rank.wall_s).abs() < 1e-9 && (rank.wall_s - 1.0).abs() < 1e-9, "{rank:?}");
    }
}

#[test]
fn the_rank_that_failed_decides_over_those_that_were_ended_for_it() {
    let logs = [rank(0, 10), rank(1, 10), supervisor(0, Status::Killed), supervisor(1, Status::Failed)];
    let failed = report(&logs);
    assert_eq!(failed.run.status, Status::Failed);
    assert_eq!(failed.run.message.as_deref(), Some("rank 1 ended with exit code 3"));
    let statuses: Vec<Status> = failed.ranks.unwrap().iter().map(|rank| rank.status).collect();
    assert_eq!(statuses, [Status::Killed, Status::Failed]);
}

#[test]
fn a_training_that_is_alone_has_no_ranks() {
    let alone = report(&[rank(0, 10), supervisor(0, Status::Finished)]);
    assert!(alone.ranks.is_none() && alone.slowest_rank.is_none());
}

#[test]
fn ranks_that_left_nothing_and_collectives_that_were_not_seen_are_said() {
    let meta = RunMeta { ranks: 4, ..RunMeta::default() };
    let mut digest = Digest::new(meta);
    for (log, records) in [rank(0, 10), rank(2, 10)].iter().enumerate() {
        records.iter().for_each(|record| digest.take_from(log, record));
    }
    let warnings = digest.report().warnings;
    assert!(warnings.contains(&Warning::RanksMissing { ranks: vec![1, 3], world: 4 }), "{warnings:?}");
    assert!(warnings.contains(&Warning::CollectivesNotSeen));
}

#[test]
fn a_launcher_that_started_its_ranks_again_is_said() {
    let again = |number| {
        let mut records = rank(number, 10);
        if let Some(Record::Process(facts)) = records.first_mut() {
            facts.restart = 2;
        }
        records
    };
    let report = report(&[again(0), again(1)]);
    let finding = report.findings.iter().find(|finding| finding.id == "restarted").unwrap();
    assert!(finding.text.contains("2 times before"), "{}", finding.text);
}
