//! Scripted profiles: whose samples they are, which function comes first, and what damage costs.

use laptime_core::{
    CallNode, LaneState, ProcessFacts, ProfileCost, ProfileFacts, ProfileRecord, Record, RunMeta,
    SampledFunction, SampledProcess, SampledThread, Sighting, StageId, Ticks, Track,
};

use crate::Digest;
use crate::report::{ProfilePart, ProfileReport, SampledPart};

/// A run of a training process and a loader worker, and an empty profile of both.
fn run() -> Digest {
    let mut digest = Digest::new(RunMeta::default());
    let trainer = ProcessFacts { pid: 10, pid_start: 1, ns_per_tick: 1.0, ..ProcessFacts::default() };
    let worker = ProcessFacts { pid: 11, parent: Some(10), worker: Some(0), ..trainer.clone() };
    for (log, facts) in [trainer, worker].into_iter().enumerate() {
        let worker = facts.parent.is_some();
        digest.take_from(log, &Record::Process(facts));
        let thread = Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(1) };
        digest.take_from(log, &thread);
        if worker {
            digest.take_from(log, &Record::Stage { stage: StageId(32), name: "fetch".into() });
        }
        let state = LaneState { at: Ticks(1_000), ..LaneState::default() };
        digest.take_from(log, &Record::State(state));
    }
    record(&mut digest, &ProfileRecord::Began(ProfileFacts { rank: 0, rate_hz: 97.0 }));
    for (process, pid) in [(0, 10), (1, 11)] {
        let runtime = "Python 3.12".to_owned();
        record(&mut digest, &ProfileRecord::Process(SampledProcess { process, pid, pid_start: 1, runtime }));
        let thread = SampledThread { thread: process, process, tid: pid, lane: Some(0) };
        record(&mut digest, &ProfileRecord::Thread(thread));
    }
    // A second thread of the training, and the first one before it recorded.
    for (thread, tid) in [(2, 99), (3, 10)] {
        record(&mut digest, &ProfileRecord::Thread(SampledThread { thread, process: 0, tid, lane: None }));
    }
    digest
}

fn record(digest: &mut Digest, record: &ProfileRecord) {
    digest.take_profile(0, record);
}

/// Functions `names`, each called by the one before it.
fn stack(digest: &mut Digest, names: &[&str]) {
    for (number, name) in (0_u32..).zip(names) {
        let (name, file) = ((*name).to_owned(), "train.py".to_owned());
        let line = 10 * (number + 1);
        record(digest, &ProfileRecord::Function(SampledFunction { function: number, name, file, line }));
        let node = CallNode { node: number, caller: number.checked_sub(1), function: number };
        record(digest, &ProfileRecord::Node(node));
    }
}

fn see(digest: &mut Digest, thread: u32, stage: Option<StageId>, node: u32, samples: u64) {
    let seen = Sighting { thread, stage, waiting: node == 1, node, samples, micros: samples * 10_000 };
    record(digest, &ProfileRecord::Seen(seen));
}

fn profile(digest: &Digest) -> ProfileReport {
    digest.report().profile.unwrap()
}

#[test]
fn without_a_profile_there_is_none_in_the_report() {
    assert_eq!(Digest::new(RunMeta::default()).report().profile, None);
}

#[test]
fn samples_belong_to_their_stage_and_the_function_that_takes_most_itself_is_first() {
    let mut digest = run();
    stack(&mut digest, &["<module>", "load", "decode"]);
    see(&mut digest, 0, Some(StageId::DATA_WAIT), 2, 30);
    see(&mut digest, 0, Some(StageId::DATA_WAIT), 1, 10);
    see(&mut digest, 0, Some(StageId::FORWARD), 0, 60);
    record(
        &mut digest,
        &ProfileRecord::Cost(ProfileCost { wall_ns: 1_000, cpu_ns: 10, ..Default::default() }),
    );
    let profile = profile(&digest);
    assert_eq!(profile.cost.unwrap().share, 0.01);
    let [training] = &profile.parts[..] else { panic!("{profile:?}") };
    assert_eq!((training.part, training.samples), (SampledPart::Training, 100));
    let stages: Vec<_> = training.stages.iter().map(|stage| stage.stage.as_deref()).collect();
    assert_eq!(stages, [Some("forward"), Some("data_wait")]);
    let wait = &training.stages[1];
    assert_eq!((wait.share.mean, wait.samples), (0.4, 40));
    let [decode, load, module] = &wait.functions[..] else { panic!("{wait:?}") };
    assert_eq!((decode.name.as_str(), decode.own.mean, decode.waiting), ("decode", 0.75, 0.0));
    assert_eq!((load.own.mean, load.total.mean, load.waiting), (0.25, 1.0, 1.0));
    assert_eq!((module.own.mean, module.total.mean, module.line), (0.0, 1.0, 10));
    assert!(decode.own.low > 0.55 && decode.own.low < 0.75 && decode.own.high < 0.9, "{decode:?}");
}

#[test]
fn what_laptime_itself_does_counts_for_whoever_called_it() {
    let mut digest = run();
    stack(&mut digest, &["<module>", "train", "hook", "forward"]);
    let ours = SampledFunction {
        function: 2,
        name: "hook".into(),
        file: "/env/lib/python3.12/site-packages/laptime/torch.py".into(),
        line: 7,
    };
    record(&mut digest, &ProfileRecord::Function(ours));
    see(&mut digest, 0, Some(StageId::FORWARD), 2, 10);
    see(&mut digest, 0, Some(StageId::FORWARD), 3, 30);
    let profile = profile(&digest);
    let functions = &profile.parts[0].stages[0].functions;
    let found: Vec<_> = functions.iter().map(|one| (one.name.as_str(), one.samples)).collect();
    assert_eq!(found, [("forward", 30), ("train", 10), ("<module>", 0)]);
    let files =
        ["/run/.laptime/x/hook-00000/sitecustomize.py", "/src/laptime/python/laptime/_hook/sitecustomize.py"];
    for file in files {
        stack(&mut digest, &["<module>"]);
        let start = SampledFunction { function: 0, name: "<module>".into(), file: file.into(), line: 1 };
        record(&mut digest, &ProfileRecord::Function(start));
        let profile = digest.report().profile.unwrap();
        assert!(profile.parts[0].stages[0].functions.iter().all(|one| one.file != file), "{file}");
    }
    // A project that happens to be called so is not ours.
    let theirs = SampledFunction { file: "/home/me/laptime/train.py".into(), ..SampledFunction::default() };
    record(&mut digest, &ProfileRecord::Function(SampledFunction { name: "mine".into(), ..theirs }));
    let profile = digest.report().profile.unwrap();
    assert!(profile.parts[0].stages[0].functions.iter().any(|one| one.name == "mine"));
}

#[test]
fn workers_other_threads_and_the_time_before_recording_are_kept_apart() {
    let mut digest = run();
    stack(&mut digest, &["<module>"]);
    see(&mut digest, 0, Some(StageId::FORWARD), 0, 1);
    see(&mut digest, 1, Some(StageId(32)), 0, 2);
    see(&mut digest, 1, Some(StageId::UNACCOUNTED), 0, 1);
    see(&mut digest, 2, None, 0, 3);
    see(&mut digest, 3, None, 0, 4);
    let found: Vec<_> = profile(&digest).parts.iter().map(|part| (part.part, names(part))).collect();
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            (SampledPart::Training, named(&["start_up", "forward"])),
            (SampledPart::LoaderWorkers, named(&["fetch", "idle"])),
            (SampledPart::Others, named(&["none"])),
        ]
    );
}

fn names(part: &ProfilePart) -> Vec<String> {
    part.stages.iter().map(|stage| stage.stage.clone().unwrap_or_else(|| "none".into())).collect()
}

#[test]
fn a_comprehension_is_part_of_the_function_it_stands_in_and_recursion_counts_once() {
    let mut digest = run();
    stack(&mut digest, &["hot", "hot.<locals>.<listcomp>", "hot.<locals>.<listcomp>.<locals>.<genexpr>"]);
    for node in 0..3 {
        see(&mut digest, 0, Some(StageId::LOSS), node, 5);
    }
    let functions = profile(&digest).parts[0].stages[0].functions.clone();
    let [hot] = &functions[..] else { panic!("{functions:?}") };
    assert_eq!((hot.name.as_str(), hot.line, hot.samples), ("hot", 10, 15));
    assert_eq!((hot.own.mean, hot.total.mean), (1.0, 1.0));
}

#[test]
fn ranks_that_one_command_started_are_kept_apart() {
    let mut digest = run();
    let facts = ProcessFacts { pid: 12, pid_start: 1, rank: 1, ..ProcessFacts::default() };
    digest.take_from(2, &Record::Process(facts));
    digest.take_from(2, &Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(1) });
    let process = SampledProcess { process: 2, pid: 12, pid_start: 1, runtime: "Python 3.12".into() };
    record(&mut digest, &ProfileRecord::Process(process));
    let thread = SampledThread { thread: 4, process: 2, tid: 12, lane: Some(0) };
    record(&mut digest, &ProfileRecord::Thread(thread));
    stack(&mut digest, &["<module>"]);
    see(&mut digest, 0, Some(StageId::FORWARD), 0, 1);
    see(&mut digest, 4, Some(StageId::BACKWARD), 0, 1);
    let found: Vec<_> = profile(&digest).parts.iter().map(|part| (part.part, part.rank)).collect();
    assert_eq!(found, [(SampledPart::Training, 0), (SampledPart::Training, 1)]);
}

#[test]
fn a_command_that_recorded_nothing_is_shown_by_its_first_thread() {
    let mut digest = Digest::new(RunMeta::default());
    let process = SampledProcess { process: 0, pid: 10, pid_start: 1, runtime: "Python 3.12".into() };
    record(&mut digest, &ProfileRecord::Process(process));
    record(&mut digest, &ProfileRecord::Thread(SampledThread { thread: 0, process: 0, tid: 10, lane: None }));
    stack(&mut digest, &["<module>"]);
    see(&mut digest, 0, None, 0, 1);
    let part = &profile(&digest).parts[0];
    assert_eq!((part.part, names(part)), (SampledPart::Training, vec!["none".to_owned()]));
}

#[test]
fn what_a_damaged_profile_lost_or_made_up_costs_no_more_than_itself() {
    let mut digest = run();
    stack(&mut digest, &["<module>", "step"]);
    // Calls that lead in circles, unknown functions, threads, nodes, and numbers that overflow.
    record(&mut digest, &ProfileRecord::Node(CallNode { node: 5, caller: Some(6), function: 0 }));
    record(&mut digest, &ProfileRecord::Node(CallNode { node: 6, caller: Some(5), function: 77 }));
    see(&mut digest, 0, Some(StageId(4000)), 6, 1);
    see(&mut digest, 55, None, 1, 1);
    let most = Sighting { thread: 0, samples: u64::MAX, micros: u64::MAX, ..Sighting::default() };
    record(&mut digest, &ProfileRecord::Seen(most));
    record(&mut digest, &ProfileRecord::Seen(most));
    let profile = profile(&digest);
    let shares = profile.parts.iter().flat_map(|part| &part.stages).map(|stage| stage.share);
    assert!(shares.into_iter().all(|share| (0.0..=1.0).contains(&share.mean)), "{profile:?}");
}
