//! Runs in which several processes of one rank train.

use laptime_core::{Closing, FitFacts, ProcessFacts, Record, Role, RunMeta, StageId, Status, Ticks};

use crate::script::Script;
use crate::sweep::Measured;
use crate::{Digest, Part, Report};

const MS: u64 = 1_000_000;

fn being(mut script: Script, change: impl Fn(&mut ProcessFacts)) -> Vec<Record> {
    for record in &mut script.records {
        if let Record::Process(facts) = record {
            change(facts);
        }
    }
    script.records
}

/// A process that is started by another and trains on 8 samples in each of some steps of 10 ms.
fn child(wait: u64, steps: u64) -> Script {
    let mut script = Script::new();
    script.pass(wait * MS).fit_of_steps(FitFacts { device: Some("cpu".into()), ..FitFacts::default() });
    for _ in 0..steps {
        script.step(&[(StageId::FORWARD, 10 * MS)], 8).between_steps();
    }
    script.end_fit();
    script
}

fn closed(pid: u32, wait: u64, steps: u64) -> Vec<Record> {
    let mut script = child(wait, steps);
    script.close();
    being(script, |facts| (facts.pid, facts.parent) = (pid, Some(1)))
}

/// The process that starts the others and waits for them.
fn parent() -> Vec<Record> {
    let mut script = Script::new();
    script.pass(900 * MS).close();
    being(script, |facts| facts.pid = 1)
}

fn supervisor() -> Vec<Record> {
    let facts = ProcessFacts { role: Role::Supervisor, ns_per_tick: 1.0, ..ProcessFacts::default() };
    let closing = Closing { status: Status::Finished, message: None, spans: 0, span_cost_ns: 0.0 };
    vec![Record::Process(facts), Record::Closed { at: Ticks(1_000 * MS), closing }]
}

fn report(logs: &[Vec<Record>]) -> Report {
    let mut digest = Digest::new(RunMeta::default());
    for (number, log) in logs.iter().enumerate() {
        log.iter().for_each(|record| digest.take_from(number, record));
    }
    digest.report()
}

fn closes(report: &Report) {
    let sum: f64 = report.ledger.iter().map(|row| row.seconds).sum();
    assert!((sum - report.wall_s).abs() < 1e-9, "{sum} against {}", report.wall_s);
}

#[test]
fn processes_that_train_side_by_side_have_a_row_each_and_add_up() {
    let report = report(&[parent(), closed(11, 50, 40), closed(12, 60, 50), supervisor()]);
    let rows = report.trainers.as_deref().unwrap();
    let seen: Vec<_> = rows.iter().map(|row| (row.pid, row.steps, row.samples, row.side_by_side)).collect();
    assert_eq!(seen, [(11, 40, Some(320), true), (12, 50, Some(400), true)]);
    for row in rows {
        let sum: f64 = row.ledger.iter().map(|row| row.seconds).sum();
        assert!((sum - row.wall_s).abs() < 1e-9 && (row.work_s.unwrap() - 0.01).abs() < 1e-9, "{row:?}");
    }
    let steps = report.steps.unwrap();
    assert_eq!(steps.count, 50, "the report is about the one with the most steps");
    assert!((steps.samples_per_s.unwrap() - 1_600.0).abs() < 1e-6, "{steps:?}");
    assert!((report.wall_s - 1.0).abs() < 1e-9 && report.workers.is_none() && report.ranks.is_none());
    closes(&report);
    let measured = Measured::of(&report, None);
    assert!((measured.samples_per_s.unwrap() - 1_600.0).abs() < 1e-6, "{measured:?}");
}

#[test]
fn without_a_supervisor_the_run_is_as_long_as_the_process_that_started_them() {
    let report = report(&[closed(11, 50, 40), parent()]);
    assert!((report.wall_s - 0.9).abs() < 1e-9, "{}", report.wall_s);
    assert_eq!((report.run.status, report.fits.len()), (Status::Finished, 1));
    assert!(report.trainers.is_none(), "it trains alone");
    closes(&report);
}

#[test]
fn trainings_one_after_another_do_not_add_up() {
    let report = report(&[parent(), closed(11, 0, 20), closed(12, 300, 30)]);
    let rows = report.trainers.as_deref().unwrap();
    assert_eq!(rows.iter().map(|row| row.side_by_side).collect::<Vec<_>>(), [false, true]);
    assert!((report.steps.unwrap().samples_per_s.unwrap() - 800.0).abs() < 1e-6);
}

#[test]
fn a_rank_that_trains_itself_is_what_the_run_is_about() {
    let mut own = child(0, 10);
    own.close();
    let own = being(own, |facts| facts.pid = 1);
    let report = report(&[own, closed(11, 0, 50)]);
    assert_eq!(report.steps.unwrap().count, 10);
    assert_eq!(report.trainers.unwrap().len(), 2);
}

#[test]
fn children_that_leave_without_a_word_ended_well_where_the_command_did() {
    let silent = |pid| {
        let mut script = Script::new();
        script.fit_of_steps(FitFacts::default());
        for _ in 0..40 {
            script.step(&[(StageId::FORWARD, 10 * MS)], 8).between_steps();
        }
        script.cut(Status::Killed);
        being(script, |facts| (facts.pid, facts.parent) = (pid, Some(1)))
    };
    let report = report(&[parent(), silent(11), silent(12), supervisor()]);
    assert!(report.trainers.as_ref().unwrap().iter().all(|row| row.status == Status::Finished));
    assert!(report.epochs.iter().all(|lap| lap.complete) && report.deaths.is_empty());
    let unaccounted = report.ledger.last().unwrap();
    assert!(unaccounted.seconds < 1e-9, "what follows is tear-down: {unaccounted:?}");
    closes(&report);
}

#[test]
fn a_trainer_that_is_killed_is_reported_as_one() {
    let mut script = child(60, 50);
    script.fit_of_steps(FitFacts::default()).step(&[(StageId::FORWARD, MS)], 8);
    script.begin(StageId::BACKWARD).pass(MS).cut(Status::Killed);
    let killed = being(script, |facts| (facts.pid, facts.parent) = (12, Some(1)));
    let report = report(&[parent(), closed(11, 50, 40), killed, supervisor()]);
    let [death] = &report.deaths[..] else { panic!("{:?}", report.deaths) };
    assert_eq!((death.part, death.pid, death.step), (Part::Trainer, 12, Some(1)));
}
