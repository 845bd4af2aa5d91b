//! Runs that were watched from outside: their wall time, status and ledger are what the supervisor saw.

use laptime_core::{
    Closing, FitFacts, Gauge, ProcessFacts, Record, Role, RunMeta, Sample, StageId, Status, Ticks,
};

use crate::script::Script;
use crate::{Digest, Report};

const S: u64 = 1_000_000_000;

/// A supervisor's log from `started` to its end, which it saw when there is a status.
fn watched(started: u64, ended: u64, status: Option<Status>) -> Vec<Record> {
    let facts = ProcessFacts {
        role: Role::Supervisor,
        ns_per_tick: 1.0,
        started: Ticks(started),
        ..ProcessFacts::default()
    };
    let sample = |at: u64, cpu: u64| {
        let readings = vec![
            (Gauge::CpuUserNs, cpu),
            (Gauge::CpuSystemNs, 0),
            (Gauge::PeakResidentBytes, 4096 + cpu),
            (Gauge::StorageReadBytes, cpu),
        ];
        Record::Sample(Sample { at: Ticks(at), readings })
    };
    let mut records = vec![Record::Process(facts), sample(started, 0), sample(ended, 2 * S)];
    records.push(match status {
        Some(status) => {
            let message = (status != Status::Finished).then(|| "ended with exit code 3".to_owned());
            Record::Closed {
                at: Ticks(ended),
                closing: Closing { status, message, spans: 0, span_cost_ns: 0.0 },
            }
        }
        None => Record::Ended { status: Status::Killed },
    });
    records
}

/// Folds several logs as they come while a run is followed: in turns.
fn report(logs: &[&[Record]]) -> Report {
    let mut digest = Digest::new(RunMeta { ranks: 1, ..RunMeta::default() });
    let longest = logs.iter().map(|log| log.len()).max().unwrap();
    for at in 0..longest {
        for (number, log) in logs.iter().enumerate() {
            if let Some(record) = log.get(at) {
                digest.take_from(number, record);
            }
        }
    }
    digest.report()
}

fn seconds(report: &Report, stage: &str) -> f64 {
    report.ledger.iter().filter(|row| row.stage == stage).map(|row| row.seconds).sum()
}

fn closes(report: &Report) {
    let sum: f64 = report.ledger.iter().map(|row| row.seconds).sum();
    assert!((sum - report.wall_s).abs() < 1e-9, "{sum} against {}", report.wall_s);
}

/// A trainer that starts at 1000 ns and trains for a second.
fn trainer() -> Script {
    let mut script = Script::new();
    script.pass(S).fit(FitFacts::default()).epoch();
    for _ in 0..20 {
        script.step(&[(StageId::FORWARD, S / 20)], 8);
    }
    script.end_epoch().end_fit();
    script
}

#[test]
fn a_command_that_recorded_nothing_is_all_unaccounted() {
    let report = report(&[&watched(S, 4 * S, Some(Status::Failed))]);
    assert_eq!((report.run.status, report.wall_s), (Status::Failed, 3.0));
    assert_eq!(report.run.message.as_deref(), Some("ended with exit code 3"));
    assert_eq!(seconds(&report, "unaccounted"), 3.0);
    assert_eq!(report.ledger.len(), 1);
    assert_eq!(report.findings[0].id, "nothing_recorded");
    assert_eq!(report.machine.cpu_s, Some(2.0));
    assert_eq!(report.memory.peak_rss_bytes, Some(4096 + 2 * S));
    assert_eq!(report.transfer.storage_read_bytes, Some(2 * S));
}

#[test]
fn a_trainers_ledger_is_widened_to_the_commands_start_and_its_reaping() {
    let mut script = trainer();
    script.close();
    let report = report(&[&script.records, &watched(0, 5 * S, Some(Status::Finished))]);
    assert_eq!((report.run.status, report.wall_s), (Status::Finished, 5.0));
    assert!((seconds(&report, "start_up") - (1.0 + 1e-6)).abs() < 1e-9);
    assert_eq!(seconds(&report, "forward"), 1.0);
    assert!((seconds(&report, "tear_down") - (3.0 - 1e-6)).abs() < 1e-9);
    closes(&report);
    assert_eq!(report.machine.cpu_s, Some(2.0));
}

#[test]
fn the_exit_code_decides_over_a_trainer_that_left_without_a_word() {
    let mut script = trainer();
    script.cut(Status::Killed);
    let left = report(&[&script.records, &watched(0, 3 * S, Some(Status::Finished))]);
    assert_eq!(left.run.status, Status::Finished);
    assert!(left.open_stages.is_empty());
    closes(&left);
    let killed = report(&[&script.records, &watched(0, 3 * S, Some(Status::Killed))]);
    assert_eq!(killed.run.status, Status::Killed);
    assert_eq!(killed.open_stages.len(), 1);
}

#[test]
fn a_supervisor_that_was_killed_leaves_the_word_to_the_trainer() {
    let mut script = trainer();
    script.close();
    let report = report(&[&script.records, &watched(0, S, None)]);
    assert_eq!(report.run.status, Status::Finished);
    assert!((report.wall_s - (2.0 + 1e-6)).abs() < 1e-9);
    closes(&report);
}

#[test]
fn the_trainer_with_the_most_steps_of_the_lowest_rank_is_the_runs() {
    let mut script = trainer();
    script.close();
    let mut idle = Script::new();
    idle.pass(9 * S).close();
    let report = report(&[&idle.records, &script.records, &watched(0, 5 * S, Some(Status::Finished))]);
    assert_eq!(report.steps.unwrap().count, 20);
}

#[test]
fn a_process_beside_the_one_that_trains_is_a_worker_with_a_ledger_of_its_own() {
    let mut trainer = Script::new();
    trainer.pass(S).close();
    let mut worker = Script::new();
    worker.stage(StageId::OTHER, 2 * S).close();
    for record in &mut worker.records {
        if let Record::Process(facts) = record {
            facts.parent = Some(42);
        }
    }
    let report = report(&[&worker.records, &trainer.records]);
    assert!((report.wall_s - 1.0).abs() < 1e-9, "the run is about the process that trains");
    let [worker] = &report.workers.unwrap()[..] else { panic!("one worker") };
    assert_eq!(worker.ledger[0].stage, "<other>");
    assert!((worker.ledger[0].seconds - 2.0).abs() < 1e-9);
}
