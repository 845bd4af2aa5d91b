//! Verdicts of whole runs: what limits the steps first, and what is said beside it.

use laptime_core::{
    FIRST_USER_STAGE, FitFacts, Gauge, Machine, ProcessFacts, Record, Role, RunMeta, Sample, StageId, Ticks,
};

use crate::script::Script;
use crate::{Digest, Finding, Report};

const MS: u64 = 1_000_000;
const COMPUTING: [(StageId, u64); 4] = [
    (StageId::DATA_WAIT, 2 * MS),
    (StageId::FORWARD, 28 * MS),
    (StageId::BACKWARD, 52 * MS),
    (StageId::OPTIMIZER, 18 * MS),
];
const WAITING: [(StageId, u64); 3] =
    [(StageId::DATA_WAIT, 60 * MS), (StageId::FORWARD, 15 * MS), (StageId::BACKWARD, 25 * MS)];

fn train(script: &mut Script, facts: FitFacts, steps: u64, step: &[(StageId, u64)]) {
    script.fit(facts).epoch();
    (0..steps).for_each(|_| {
        script.step(step, 32);
    });
    script.end_epoch().end_fit();
}

fn torch() -> FitFacts {
    FitFacts { framework: Some("torch".into()), ..FitFacts::default() }
}

fn trained(step: &[(StageId, u64)]) -> Report {
    let mut script = Script::new();
    train(&mut script, torch(), 60, step);
    script.close().report()
}

fn found<'a>(report: &'a Report, id: &str) -> &'a Finding {
    report.findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("{:?}", report.findings))
}

fn ids(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id).collect()
}

#[test]
fn start_up_never_hides_what_limits_the_steps() {
    let mut script = Script::new();
    script.stage(StageId::IMPORTS, 4_100 * MS).pass(1_000 * MS);
    train(&mut script, torch(), 30, &WAITING);
    let report = script.close().report();
    assert_eq!(ids(&report), ["data_bound", "start_up"]);
    assert_eq!(report.findings[1].text, "start-up took 63 % of the run (imports 4.10 s)");
    assert!(report.findings[0].verdict && !report.findings[1].verdict);
}

#[test]
fn evaluation_and_checkpoints_come_after_the_steps_with_their_share() {
    let mut script = Script::new();
    script.fit(torch()).epoch();
    (0..20).for_each(|_| {
        script.step(&COMPUTING, 32);
    });
    script.end_epoch();
    (0..4).for_each(|_| {
        script.stage(StageId::EVALUATE, 500 * MS);
    });
    let report = script.stage(StageId::CHECKPOINT, 3_000 * MS).end_fit().close().report();
    let texts: Vec<&str> = report.findings.iter().map(|finding| finding.text.as_str()).collect();
    let expected = [
        "computing is the limit: backward takes 52 % of each step, forward 28 %; waiting for data 2.0 %",
        "saving checkpoints took 43 % of the run (3.00 s)",
        "evaluation took 29 % of the run (4 times, 500 ms each)",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn evaluation_in_the_middle_of_a_pass_is_no_part_of_a_step() {
    let mut script = Script::new();
    script.fit(torch()).epoch();
    for _ in 0..20 {
        script.step(&COMPUTING, 32).stage(StageId::EVALUATE, 300 * MS);
    }
    let report = script.end_epoch().end_fit().close().report();
    assert!(report.findings[0].text.contains("backward takes 52 % of each step"), "{:?}", report.findings);
    assert_eq!(report.step_share("data_wait"), Some(0.02));
}

#[test]
fn a_stage_without_time_is_zero_and_never_below_it() {
    let report = trained(&[(StageId::FORWARD, 90 * MS), (StageId::BACKWARD, 10 * MS)]);
    let expected =
        "computing is the limit: forward takes 90 % of each step, backward 10 %; waiting for data 0 %";
    assert_eq!(report.findings[0].text, expected);
}

#[test]
fn batches_made_in_the_loop_are_the_limit_and_not_waiting_for_data() {
    let made = [(StageId::PREPARE, 78 * MS), (StageId::FORWARD, 12 * MS), (StageId::BACKWARD, 10 * MS)];
    let report = trained(&made);
    let expected = "preparing batches in the loop is the limit: 78 % of each step; the model could run 4.5× \
                    faster if batches were ready; prepare them ahead in DataLoader workers";
    assert_eq!((report.findings[0].id, report.findings[0].text.as_str()), ("prepare_bound", expected));
    let both = [(StageId::DATA_WAIT, 30 * MS), (StageId::PREPARE, 20 * MS), (StageId::FORWARD, 50 * MS)];
    let text = &trained(&both).findings[0].text;
    let expected = "data loading is the limit: 30 % of each step waits for data, 20 % prepares batches in the \
                    loop; the model could run 2.0× faster if batches were ready";
    assert_eq!(text, expected);
    let some = [(StageId::PREPARE, 12 * MS), (StageId::FORWARD, 88 * MS)];
    let text = &trained(&some).findings[0].text;
    assert!(text.ends_with("waiting for data 0 %, preparing batches 12 %"), "{text}");
}

#[test]
fn a_gain_without_an_upper_end_is_said_to_be_at_least() {
    let mut script = Script::new();
    script.fit(torch()).epoch();
    for step in 0..48_u64 {
        // A loader that stalls for a second every sixteenth step.
        let wait = if step % 16 == 0 { 3_000 } else { 40 };
        script.step(&[(StageId::DATA_WAIT, wait * MS), (StageId::FORWARD, 16 * MS)], 8);
    }
    let text = script.end_epoch().end_fit().close().report().findings[0].text.clone();
    assert!(text.contains("faster if batches were ready (95 %: at least "), "{text}");
    assert!(!text.contains("100"), "{text}");
    let text =
        trained(&[(StageId::DATA_WAIT, 9_990 * MS), (StageId::FORWARD, 10 * MS)]).findings[0].text.clone();
    assert!(text.contains("the model could run more than 100× faster"), "{text}");
}

#[test]
fn garbage_collection_and_callbacks_are_found_from_their_share_on() {
    let step = |garbage: u64, calls: u64| {
        [
            (StageId::FORWARD, (100 - garbage - calls) * MS),
            (StageId::GARBAGE_COLLECTION, garbage * MS),
            (StageId::CALLBACKS, calls * MS),
        ]
    };
    let report = trained(&step(12, 22));
    let expected = "garbage collection takes 12 % of each step: gc.freeze() after start-up, or gc.disable() and \
                    gc.collect() between epochs";
    assert_eq!(found(&report, "garbage_collection").text, expected);
    let expected = "callbacks take 22 % of each step: call them less often, or leave some out";
    assert_eq!(found(&report, "callbacks").text, expected);
    assert_eq!(ids(&trained(&step(4, 14))), ["compute_bound"]);
}

#[test]
fn a_stage_of_the_user_that_takes_most_of_a_step_is_the_limit() {
    let augment = StageId(FIRST_USER_STAGE);
    let mut script = Script::new();
    script.records.push(Record::Stage { stage: augment, name: "augment".into() });
    train(&mut script, torch(), 20, &[(augment, 62 * MS), (StageId::FORWARD, 38 * MS)]);
    let report = script.close().report();
    assert_eq!(report.findings[0].text, "augment is the limit: 62 % of each step");
}

fn sized(rows: u64) -> FitFacts {
    FitFacts { label: "mlp".into(), rows: Some(rows), batch: Some(32), ..torch() }
}

#[test]
fn one_verdict_that_is_true_of_all_fits_says_so_with_the_range() {
    let mut script = Script::new();
    train(&mut script, sized(1_000), 20, &COMPUTING);
    train(&mut script, sized(2_000), 20, &[(StageId::FORWARD, 30 * MS), (StageId::BACKWARD, 70 * MS)]);
    let report = script.close().report();
    let expected = "both fits: computing is the limit: backward takes 52–70 % of each step, forward 28–30 %; \
                    waiting for data 0–2.0 %";
    assert_eq!(report.findings[0].text, expected);
    assert_eq!((report.findings[0].fit, report.findings[0].verdict), (None, true));
}

#[test]
fn fits_with_different_limits_have_a_verdict_each_that_names_the_fit() {
    let mut script = Script::new();
    train(&mut script, sized(1_000), 20, &COMPUTING);
    train(&mut script, sized(2_000), 20, &WAITING);
    train(&mut script, sized(3_000), 3, &WAITING);
    let report = script.close().report();
    let verdicts: Vec<&Finding> = report.findings.iter().filter(|finding| finding.verdict).collect();
    assert_eq!(verdicts.iter().map(|one| one.fit).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert!(verdicts[0].text.starts_with("fit 1 (1,000 rows): computing is the limit: "), "{verdicts:?}");
    assert!(verdicts[1].text.starts_with("fit 2 (2,000 rows): data loading is the limit: "), "{verdicts:?}");
}

#[test]
fn fits_that_only_together_have_steps_enough_are_judged_together() {
    let mut script = Script::new();
    (1..=4).for_each(|size| train(&mut script, sized(size), 3, &COMPUTING));
    let report = script.close().report();
    assert!(
        report.findings[0].text.starts_with("all 4 fits together: computing is the limit"),
        "{:?}",
        ids(&report)
    );
    train(&mut script, sized(9), 20, &COMPUTING);
    let report = script.close().report();
    let expected = "1 of 5 fits (the others have fewer than 10 steps): computing is the limit";
    assert!(report.findings[0].text.starts_with(expected), "{:?}", report.findings);
}

#[test]
fn a_fit_with_steps_but_no_laps_is_judged_by_all_of_it() {
    let mut script = Script::new();
    script.fit(torch());
    (0..20).for_each(|_| {
        script.step(&COMPUTING, 32);
    });
    let mut report = script.end_fit().close().report();
    let text = &report.findings[0].text;
    assert!(text.starts_with("computing is the limit: backward takes 52 % of each step"), "{text}");
    report.epochs.clear();
    assert_eq!(report.step_share("forward"), Some(0.28));
}

/// What a supervisor's probes read each second of a run: CPU time of the tree and its waits, busy time of the
/// machine, pressure; all in milliseconds a second.
#[derive(Clone, Copy, Default)]
struct Watched {
    cpu: u64,
    wait: Option<u64>,
    busy: u64,
    pressure: u64,
    throttles: Option<u64>,
    clock: Option<(u64, u64)>,
}

/// A minute of steps that compute, watched from outside.
fn watched(watched: Watched, meta: RunMeta) -> Report {
    watched_steps(&COMPUTING, watched, meta)
}

fn watched_steps(step: &[(StageId, u64)], watched: Watched, meta: RunMeta) -> Report {
    let mut script = Script::new();
    script.pass(2_000 * MS);
    train(&mut script, torch(), 600, step);
    script.close();
    let facts = ProcessFacts { role: Role::Supervisor, ns_per_tick: 1.0, ..ProcessFacts::default() };
    let mut log = vec![Record::Process(facts)];
    for second in 0..=62 {
        // Nothing waits while it starts up.
        let trained = second.max(2) - 2;
        let mut readings = vec![
            (Gauge::CpuUserNs, (second.min(2) * 1_000 + trained * watched.cpu) * MS),
            (Gauge::CpuSystemNs, 0),
            (Gauge::MachineBusyNs, second * watched.busy * MS),
            (Gauge::CpuPressureNs, trained * watched.pressure * MS),
            (Gauge::MachineCpus, 2),
        ];
        readings.extend(watched.wait.map(|wait| (Gauge::CpuWaitNs, trained * wait * MS)));
        readings.extend(watched.throttles.map(|times| (Gauge::HeatThrottles, 3 + trained * times)));
        let clock = watched.clock.map(|(first, later)| if second < 6 { first } else { later });
        readings.extend(clock.map(|mhz| (Gauge::CpuClockKhz, mhz * 1_000)));
        log.push(Record::Sample(Sample { at: Ticks(second * 1_000 * MS), readings }));
    }
    let machine = Machine { cpus: 2, ..Machine::default() };
    let mut digest = Digest::new(RunMeta { machine, ranks: 1, ..meta });
    script.records.iter().for_each(|record| digest.take_from(0, record));
    log.iter().for_each(|record| digest.take_from(1, record));
    digest.report()
}

#[test]
fn more_busy_threads_than_cpus_are_the_verdict_with_the_threads_to_try() {
    let crowd = Watched { cpu: 1_980, wait: Some(2_020), busy: 2_000, pressure: 950, ..Watched::default() };
    let report = watched(crowd, RunMeta::default());
    let expected = "contention is the limit: 4 busy threads on 2 CPUs wait for one 50 % of the time they could \
                    run (CPU pressure 95 %); try OMP_NUM_THREADS=2; computing takes 98 % of each step";
    assert_eq!((report.findings[0].id, report.findings[0].text.as_str()), ("contended", expected));
    assert_eq!(report.findings.iter().filter(|finding| finding.verdict).count(), 1);
}

#[test]
fn other_programs_on_the_same_cpus_are_named_and_leave_fewer_threads_to_try() {
    let shared = Watched { cpu: 1_000, wait: Some(1_000), busy: 2_000, pressure: 900, ..Watched::default() };
    let text = watched(shared, RunMeta::default()).findings[0].text.clone();
    let expected = "contention is the limit: 2 busy threads on 2 CPUs, of which other programs keep 1.0 busy, \
                    wait for one 50 % of the time they could run (CPU pressure 90 %); try OMP_NUM_THREADS=1; \
                    computing takes 98 % of each step";
    assert_eq!(text, expected);
    let alone = Watched { cpu: 700, wait: Some(300), ..shared };
    let text = watched(alone, RunMeta::default()).findings[0].text.clone();
    assert!(text.contains("1 busy thread on 2 CPUs") && text.contains(" busy, waits for one 30 %"), "{text}");
    assert!(!text.contains("OMP_NUM_THREADS"), "{text}");
}

#[test]
fn threads_that_hardly_wait_leave_the_verdict_to_the_steps() {
    let quiet = Watched { cpu: 1_900, wait: Some(60), busy: 2_000, pressure: 300, ..Watched::default() };
    assert_eq!(ids(&watched(quiet, RunMeta::default())), ["compute_bound"]);
    let gpu = Watched { cpu: 900, wait: Some(900), busy: 2_000, pressure: 900, ..Watched::default() };
    let meta = RunMeta { device: Some("cuda:0".into()), ..RunMeta::default() };
    assert_eq!(ids(&watched(gpu, meta)), ["cannot_tell"]);
}

#[test]
fn contention_beside_slow_loading_is_one_more_thing_to_know() {
    let crowd = Watched { cpu: 1_980, wait: Some(2_020), busy: 2_000, pressure: 950, ..Watched::default() };
    let report = watched_steps(&WAITING, crowd, RunMeta::default());
    assert_eq!(ids(&report), ["data_bound", "contended"]);
    assert!(report.findings[1].text.starts_with("the CPUs are contended, too: 4 busy threads on 2 CPUs"));
    assert!(!report.findings[1].verdict);
}

#[test]
fn where_waits_are_not_known_few_cpus_of_those_asked_for_are_the_sign() {
    let crowd = Watched { cpu: 500, busy: 2_000, pressure: 700, ..Watched::default() };
    let report = watched(crowd, RunMeta { threads: Some(2), ..RunMeta::default() });
    let text = &report.findings[0].text;
    assert!(text.contains("the training got 0.5 of the 2.0 CPUs it asked for"), "{text}");
    assert!(text.contains("try OMP_NUM_THREADS=1"), "{text}");
}

#[test]
fn heat_and_a_clock_that_fell_are_found_where_the_system_tells() {
    let fine = Watched { cpu: 1_900, wait: Some(10), busy: 1_900, ..Watched::default() };
    let hot = Watched { throttles: Some(2), clock: Some((4_200, 2_100)), ..fine };
    let report = watched(hot, RunMeta::default());
    assert_eq!(ids(&report), ["compute_bound", "heat"]);
    let expected = "heat slowed the CPUs down 120 times, clock 2.30 GHz of 4.20 GHz at its peak; the same steps are \
                    faster on a cooler machine";
    assert_eq!(report.findings[1].text, expected);
    let slow = watched(Watched { throttles: None, ..hot }, RunMeta::default());
    let expected = "the clock of the CPUs fell from 4.20 GHz to 2.30 GHz in the mean: a power limit, or heat";
    assert_eq!(found(&slow, "clock_fell").text, expected);
    let steady = Watched { throttles: Some(0), clock: Some((4_200, 4_000)), ..fine };
    assert_eq!(ids(&watched(steady, RunMeta::default())), ["compute_bound"]);
}
