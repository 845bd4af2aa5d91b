//! Runs of several processes that were killed: who is said to have died, and where.

use laptime_core::{Closing, FitFacts, ProcessFacts, Record, Role, RunMeta, StageId, Status, Ticks};

use crate::script::Script;
use crate::{Death, Digest, Part, Report};

const MS: u64 = 1_000_000;

/// Changes what the process of a script says of itself.
fn being(mut script: Script, change: impl Fn(&mut ProcessFacts)) -> Vec<Record> {
    for record in &mut script.records {
        if let Record::Process(facts) = record {
            change(facts);
        }
    }
    script.records
}

/// A trainer in the backward pass of the third step of its second epoch.
fn trainer(rank: u32) -> Vec<Record> {
    let mut script = Script::new();
    script.fit(FitFacts::default());
    for steps in [4, 2] {
        script.epoch();
        (0..steps).for_each(|_| {
            script.step(&[(StageId::FORWARD, MS)], 8);
        });
        if steps == 4 {
            script.end_epoch();
        }
    }
    script.begin(StageId::BACKWARD).pass(3 * MS).cut(Status::Killed);
    being(script, |facts| (facts.rank, facts.pid) = (rank, 100 + rank))
}

/// A loader's worker inside the transform of a fetch, or idle.
fn worker(number: Option<u32>, busy: bool) -> Vec<Record> {
    let mut script = Script::new();
    for (id, name) in [(32, "fetch"), (33, "collate"), (34, "transform")] {
        script.records.push(Record::Stage { stage: StageId(id), name: name.into() });
    }
    script.stage(StageId(32), MS);
    if busy {
        script.begin(StageId(32)).pass(MS).begin(StageId(34)).pass(MS);
    }
    script.cut(Status::Killed);
    being(script, |facts| (facts.parent, facts.worker, facts.pid) = (Some(100), number, 200))
}

fn supervisor(status: Option<Status>) -> Vec<Record> {
    let facts = ProcessFacts { role: Role::Supervisor, ns_per_tick: 1.0, ..ProcessFacts::default() };
    let at = Ticks(100 * MS);
    let end = match status {
        Some(status) => {
            Record::Closed { at, closing: Closing { status, message: None, spans: 0, span_cost_ns: 0.0 } }
        }
        None => Record::Ended { status: Status::Killed },
    };
    vec![Record::Process(facts), end]
}

fn report(logs: &[Vec<Record>]) -> Report {
    let mut digest = Digest::new(RunMeta::default());
    for (number, log) in logs.iter().enumerate() {
        log.iter().for_each(|record| digest.take_from(number, record));
    }
    digest.report()
}

fn stages(death: &Death) -> Vec<&str> {
    death.open_stages.iter().map(|open| open.stage.as_str()).collect()
}

#[test]
fn of_a_killed_tree_every_process_tells_where_it_was() {
    for status in [Some(Status::Killed), None] {
        let logs = [worker(Some(1), true), trainer(0), worker(Some(0), false), supervisor(status)];
        let report = report(&logs);
        let [rank, idle, busy] = &report.deaths[..] else { panic!("{:?}", report.deaths) };
        assert_eq!((rank.part, rank.rank, rank.pid), (Part::Rank, 0, 100));
        assert_eq!((rank.fit, rank.epoch, rank.step), (Some(0), Some(1), Some(2)));
        assert_eq!(stages(rank), ["backward"]);
        assert_eq!((busy.part, busy.worker, busy.fit), (Part::LoaderWorker, Some(1), None));
        assert_eq!(stages(busy), ["fetch", "transform"]);
        assert!((busy.open_stages[0].open_s - 0.002).abs() < 1e-9);
        assert_eq!((idle.worker, stages(idle)), (Some(0), vec!["idle"]));
    }
}

#[test]
fn a_worker_that_did_not_tell_its_number_is_known_by_what_it_does() {
    let report = report(&[trainer(0), worker(None, true)]);
    assert_eq!((report.deaths[1].part, report.deaths[1].worker), (Part::LoaderWorker, None));
}

#[test]
fn every_rank_that_died_is_reported() {
    let report = report(&[trainer(1), trainer(0), supervisor(Some(Status::Failed))]);
    assert_eq!(report.deaths.iter().map(|death| death.rank).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn in_a_run_that_ended_well_only_a_helper_that_was_at_work_died() {
    let logs = |busy| [trainer(0), worker(None, busy), supervisor(Some(Status::Finished))];
    assert!(report(&logs(false)).deaths.is_empty());
    let busy = report(&logs(true));
    assert_eq!(busy.deaths.iter().map(|death| death.part).collect::<Vec<_>>(), [Part::LoaderWorker]);
    assert!(busy.open_stages.is_empty());
}

#[test]
fn after_the_pass_there_is_no_step_to_die_in() {
    let mut script = Script::new();
    script.fit(FitFacts::default()).epoch().step(&[(StageId::FORWARD, MS)], 1).end_epoch();
    script.begin(StageId::EVALUATE).pass(MS).cut(Status::Killed);
    let death = &script.report().deaths[0];
    assert_eq!((death.epoch, death.step, stages(death)), (Some(0), None, vec!["evaluate"]));
}
