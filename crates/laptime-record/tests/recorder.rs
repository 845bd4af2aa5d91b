//! A whole recorder in this process: threads, fits, forks, missing folders.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use laptime_core::{Event, Gauge, LaneState, Record, StageId, Status, Ticks, Track, TrackKind, Trouble};
use laptime_record::{
    BatchLog, FitFacts, Metric, Options, Recorder, count, enter_stage, measured, now, stage, stage_id,
};
use laptime_store::{LogName, RunReader, Unsaved};

/// A process has one recorder at a time, so these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options(root: &Path) -> Options {
    Options { root: Some(root.to_owned()), ..Options::default() }
}

fn read(run: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    RunReader::open(run).unwrap().poll(&mut |_, record| records.push(record)).unwrap();
    records
}

fn read_from_memory(unsaved: Unsaved) -> Vec<Record> {
    let mut records = Vec::new();
    let mut reader =
        RunReader::in_memory(laptime_core::RunMeta::default()).with_unsaved(LogName::Rank(0), unsaved);
    reader.poll(&mut |_, record| records.push(record)).unwrap();
    records
}

fn spans(records: &[Record]) -> BTreeMap<StageId, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        if let Record::Event { event: Event::Span { stage, .. }, .. } = record {
            *counts.entry(*stage).or_default() += 1;
        }
    }
    counts
}

fn train(recorder: &Recorder, epochs: u32) {
    let mut fit = recorder.fit(FitFacts { label: "test".into(), ..FitFacts::default() });
    for _ in 0..epochs {
        let epoch = fit.epoch();
        for batch in epoch.batches(0..10_u32, |_| 32) {
            let _forward = stage!("forward");
            epoch.loss(f64::from(batch));
        }
        drop(epoch);
        let _evaluate = stage!("evaluate");
        measured(Metric::ValidationLoss, 0.5);
    }
}

/// Own time of a stage as the log's last state of lane 0 has it.
fn own(records: &[Record], stage: StageId) -> u64 {
    let mut states = records.iter().filter_map(|record| match record {
        Record::State(state) if state.lane == 0 => Some(state),
        _ => None,
    });
    let totals = states.next_back().map(|state| state.totals.clone()).unwrap_or_default();
    totals.iter().find(|total| total.stage == stage).map_or(0, |total| total.own.0)
}

#[test]
fn imports_before_and_after_the_recorders_start_are_separate_from_start_up() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let program = laptime_record::ProgramStart::now();
    let began = *program.anchor();
    let ns = || laptime_record::anchor().monotonic_ns;
    let spin = |length: u64| {
        let until = ns() + length;
        while ns() < until {}
    };
    spin(2_000_000);
    let (start, end) = (ns() - 1_000_000, ns());
    for number in 0..30 {
        // Most are too short to be worth a name, and one overlaps another.
        assert!(laptime_record::imported(format!("short{number}"), start + number, start + number + 1));
    }
    assert!(laptime_record::imported("long".into(), start, end));
    assert!(laptime_record::imported("of another time".into(), 1, 2));
    let recorder = Recorder::start(&Options { began: Some(program), ..options(folder.path()) });
    laptime_record::import_begins();
    let start = ns();
    {
        let _stage = stage!("in an import");
        spin(300_000);
    }
    spin(200_000);
    assert!(laptime_record::imported("late".into(), start, ns()));
    train(&recorder, 1);
    assert!(!laptime_record::imported("in a fit".into(), start, ns()));
    let records = read(&recorder.finish(Status::Finished, None).run.unwrap());
    let names: Vec<&str> = records
        .iter()
        .filter_map(
            |record| if let Record::Import { name, .. } = record { Some(name.as_str()) } else { None },
        )
        .collect();
    assert_eq!((names.len(), names[0]), (20, "long"));
    let rate = laptime_core::Timebase::between(&began, &laptime_record::anchor()).unwrap();
    let seconds = |stage| rate.seconds(Ticks(own(&records, stage)));
    let imports = seconds(StageId::IMPORTS);
    assert!((0.0012..0.0016).contains(&imports), "{imports}");
    assert!(seconds(StageId::START_UP) >= 0.000_9, "{}", seconds(StageId::START_UP));
    assert!(seconds(stage_id("in an import")) >= 0.000_3);
}

#[test]
fn a_hook_that_is_off_is_on_record_whenever_that_is_known() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    laptime_record::hook_off("torch.save", "it is gone");
    let recorder = Recorder::start(&options(folder.path()));
    laptime_record::hook_off("torch.load", "it is gone too");
    let records = read(&recorder.finish(Status::Finished, None).run.unwrap());
    let hooks: Vec<&str> = records
        .iter()
        .filter_map(|record| match record {
            Record::Trouble(Trouble::HookOff { hook, .. }) => Some(hook.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(hooks, ["torch.save", "torch.load"]);
}

#[test]
fn a_training_is_on_disk_with_all_its_marks_and_its_ledger_closes() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    train(&recorder, 3);
    let finished = recorder.finish(Status::Finished, None);
    assert!(finished.unsaved.is_none());
    let records = read(&finished.run.unwrap());
    let events = |wanted: fn(&Event) -> bool| {
        records.iter().filter(|record| matches!(record, Record::Event { event, .. } if wanted(event))).count()
    };
    assert_eq!(events(|event| matches!(event, Event::EpochEnd { .. })), 3);
    assert_eq!(events(|event| matches!(event, Event::Step { samples: 32, loss: Some(_), .. })), 30);
    assert_eq!(events(|event| matches!(event, Event::FitBegin { .. } | Event::FitEnd { .. })), 2);
    assert_eq!(events(|event| matches!(event, Event::Measured { .. })), 3);
    // Eleven waits an epoch: the last one finds that there is nothing left.
    assert_eq!(spans(&records)[&StageId::DATA_WAIT], 33);
    assert_eq!(spans(&records)[&StageId::FORWARD], 30);
    assert!(matches!(records.last(), Some(Record::Closed { .. })));
    ledger_closes(&records);
}

fn ledger_closes(records: &[Record]) {
    let started = records.iter().find_map(|record| match record {
        Record::Process(facts) => Some(facts.started),
        _ => None,
    });
    let state: &LaneState = records
        .iter()
        .filter_map(|record| match record {
            Record::State(state) if state.lane == 0 => Some(state),
            _ => None,
        })
        .next_back()
        .unwrap();
    let booked: u64 = state.totals.iter().map(|total| total.own.0).sum();
    let open: u64 = state.open.iter().map(|open| state.at.since(open.start).since(open.children).0).sum();
    assert_eq!(state.open.len(), 1, "only the background is open");
    assert_eq!(booked + open, state.at.since(started.unwrap()).0);
}

#[test]
fn threads_come_and_go_and_every_span_is_counted_once() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    // More threads than lanes in the ring, in three waves, so that lanes are used again.
    for _ in 0..3 {
        let threads: Vec<_> = (0..20)
            .map(|_| {
                std::thread::spawn(|| {
                    for _ in 0..1000 {
                        let _work = stage!("thread work");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    let records = read(&recorder.finish(Status::Finished, None).run.unwrap());
    assert_eq!(spans(&records)[&stage_id("thread work")], 60_000);
    let names = records.iter().filter(|record| matches!(record, Record::Track { .. })).count();
    assert_eq!(names, 61);
}

#[test]
fn a_stage_named_in_mid_run_has_its_name_before_its_first_span() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    drop(enter_stage(stage_id("late \u{1f3c1} name")));
    let records = read(&recorder.finish(Status::Finished, None).run.unwrap());
    let named = records
        .iter()
        .position(|record| matches!(record, Record::Stage { name, .. } if name.starts_with("late")));
    let used = records.iter().position(|record| matches!(record, Record::Event { .. }));
    assert!(named.unwrap() < used.unwrap());
}

#[test]
fn without_a_recorder_everything_is_idle() {
    let _turn = turn();
    let _nothing = stage!("nothing");
    count(laptime_core::Counter::BatchBytes, 1);
    measured(Metric::Loss, 1.0);
}

#[test]
fn a_second_recorder_is_idle_and_the_first_goes_on() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let first = Recorder::start(&options(folder.path()));
    let second = Recorder::start(&options(folder.path()));
    train(&second, 1);
    assert!(second.finish(Status::Finished, None).run.is_none());
    train(&first, 1);
    let records = read(&first.finish(Status::Finished, None).run.unwrap());
    assert!(matches!(records.last(), Some(Record::Closed { .. })));
}

#[test]
fn a_recorder_that_is_dropped_tells_of_a_failure() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    let run = recorder.run().unwrap().to_owned();
    drop(recorder);
    let failed = |record: &Record| matches!(record, Record::Closed { closing, .. } if closing.status == Status::Failed);
    assert!(read(&run).iter().any(failed));
}

#[test]
fn a_folder_that_cannot_be_made_costs_the_files_and_nothing_else() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    // A file stands where the folder should be: this stops root too, unlike permissions.
    let root = folder.path().join("file");
    fs::write(&root, "in the way").unwrap();
    let recorder = Recorder::start(&options(&root));
    train(&recorder, 2);
    let finished = recorder.finish(Status::Finished, None);
    assert!(finished.run.is_none());
    let records = read_from_memory(finished.unsaved.unwrap());
    assert!(records.iter().any(|record| matches!(record, Record::Trouble(Trouble::LogNotWritten { .. }))));
    assert_eq!(spans(&records)[&StageId::FORWARD], 20);
    ledger_closes(&records);
}

#[test]
fn a_folder_removed_under_the_recorder_comes_back_from_memory() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    train(&recorder, 1);
    // The flusher may be putting its log back meanwhile.
    while fs::remove_dir_all(recorder.run().unwrap()).is_err() {}
    train(&recorder, 1);
    let finished = recorder.finish(Status::Finished, None);
    let records = read_from_memory(finished.unsaved.unwrap());
    assert_eq!(spans(&records)[&StageId::FORWARD], 20);
    assert!(records.iter().any(|record| matches!(record, Record::Trouble(_))));
}

#[test]
fn the_run_is_the_users_alone_and_latest_points_to_it() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    let run = recorder.finish(Status::Finished, None).run.unwrap();
    assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o700);
    let latest = fs::read_link(folder.path().join("latest")).unwrap();
    assert_eq!(folder.path().join(latest), run);
}

#[test]
#[expect(unsafe_code, reason = "fork is what is tested")]
fn a_forked_child_records_nothing_and_does_not_hang() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    for _ in 0..50 {
        // SAFETY: the child only records, which touches no lock once recording is off, and leaves at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            for _ in 0..100 {
                let _work = stage!("forward");
            }
            // SAFETY: ends the child without running the parent's destructors.
            unsafe { libc::_exit(7) };
        }
        let mut status = 0;
        // SAFETY: waits for the child just made.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(libc::WEXITSTATUS(status), 7);
    }
    train(&recorder, 1);
    let records = read(&recorder.finish(Status::Finished, None).run.unwrap());
    assert_eq!(spans(&records)[&StageId::FORWARD], 10);
}

#[test]
fn a_reader_sees_what_was_recorded_before_it_is_drained() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    let mut reader = RunReader::open(recorder.run().unwrap()).unwrap();
    let mut live = Vec::new();
    let _open = stage!("optimizer");
    for _ in 0..30 {
        train(&recorder, 1);
        reader.poll(&mut |_, record| live.push(record)).unwrap();
    }
    let open = live.iter().rev().find_map(|record| match record {
        Record::State(state) if state.lane == 0 => {
            Some(state.open.iter().map(|open| open.stage).collect::<Vec<_>>())
        }
        _ => None,
    });
    assert!(open.unwrap().contains(&StageId::OPTIMIZER));
    assert_eq!(spans(&live)[&StageId::FORWARD], 300, "each span once, from ring or log");
    drop(_open);
    recorder.finish(Status::Finished, None);
    reader.poll(&mut |_, record| live.push(record)).unwrap();
    assert!(reader.is_closed());
    assert_eq!(spans(&live)[&StageId::FORWARD], 300);
}

fn marks_of(records: &[Record]) -> Vec<(&'static str, u64)> {
    let mark = |record: &Record| match record {
        Record::Event { event: Event::FitBegin { at, .. }, .. } => Some(("fit", at.0)),
        Record::Event { event: Event::EpochBegin { at, .. }, .. } => Some(("epoch", at.0)),
        Record::Event { event: Event::EpochEnd { at, .. }, .. } => Some(("epoch end", at.0)),
        Record::Event { event: Event::FitEnd { at, .. }, .. } => Some(("fit end", at.0)),
        _ => None,
    };
    records.iter().filter_map(mark).collect()
}

#[test]
fn marks_recorded_late_keep_their_time_and_their_order_and_the_ledger_closes() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    assert!(laptime_record::start(&options(folder.path())));
    let before = now().0;
    let pass = laptime_record::mark();
    let after = now().0;
    laptime_record::enter(StageId::FORWARD);
    laptime_record::exit(StageId::FORWARD);
    laptime_record::fit_begin(FitFacts::default(), Some(pass));
    assert_eq!(laptime_record::epoch_begin(Some(pass)), Some(0));
    let end = laptime_record::mark();
    laptime_record::enter(StageId::FORWARD);
    laptime_record::exit(StageId::FORWARD);
    laptime_record::book_since(end, StageId::EVALUATE);
    laptime_record::epoch_end(Some(end));
    // A mark from before the newest one counts as that one.
    laptime_record::epoch_begin(Some(pass));
    let run = laptime_record::finish(Status::Finished, None).unwrap().run.unwrap();
    let records = read(&run);
    let marks = marks_of(&records);
    let names: Vec<_> = marks.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["fit", "epoch", "epoch end", "epoch", "epoch end", "fit end"]);
    assert!(marks.is_sorted_by_key(|(_, at)| *at));
    assert!((before..=after).contains(&marks[0].1) && marks[0].1 == marks[1].1);
    assert_eq!(marks[2].1, marks[3].1);
    ledger_closes(&records);
}

#[test]
fn a_panic_turns_recording_off_and_the_report_says_so() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    // In a process of its own: what breaks stays broken.
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "breaks_off_in_a_process_of_its_own"])
        .env("LAPTIME_DIR", folder.path())
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    let run = fs::read_dir(folder.path()).unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap();
    let records = read(&run.path());
    let broke = |record: &Record| matches!(record, Record::Trouble(Trouble::RecorderBroke { because }) if because == "on purpose");
    assert!(records.iter().any(broke));
    assert_eq!(spans(&records)[&StageId::FORWARD], 1);
    assert!(matches!(records.last(), Some(Record::Closed { .. })));
}

#[test]
#[ignore = "run by the test above"]
fn breaks_off_in_a_process_of_its_own() {
    assert!(laptime_record::start(&Options::default()));
    let work = || {
        laptime_record::enter(StageId::FORWARD);
        laptime_record::exit(StageId::FORWARD);
    };
    work();
    assert_eq!(laptime_record::guarded(7, || panic!("on purpose")), 7);
    assert!(!laptime_record::is_active());
    work();
    laptime_record::finish(Status::Finished, None).unwrap();
    assert!(!laptime_record::start(&Options::default()));
}

#[test]
fn an_armed_recorder_counts_from_its_arming_not_from_the_process_start() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    // About 200 ms of CPU time, however busy the machine is.
    for _ in 0..8_000_000 {
        std::hint::black_box(std::time::Instant::now());
    }
    laptime_record::arm(options(folder.path()));
    laptime_record::enter(StageId::FORWARD);
    laptime_record::exit(StageId::FORWARD);
    let run = laptime_record::finish(Status::Finished, None).unwrap().run.unwrap();
    let samples: Vec<u64> = read(&run).iter().filter_map(cpu_ns).collect();
    assert!(samples[0] > 50_000_000, "the first reading is what was used before");
    assert!(samples[samples.len() - 1] - samples[0] < 50_000_000);
}

fn cpu_ns(record: &Record) -> Option<u64> {
    let Record::Sample(sample) = record else { return None };
    let of = |wanted: Gauge| sample.readings.iter().find(|(gauge, _)| *gauge == wanted).map(|(_, ns)| *ns);
    Some(of(Gauge::CpuUserNs)? + of(Gauge::CpuSystemNs)?)
}

/// Logs of a run: the rank's own, and those of processes that joined.
fn logs(run: &Path) -> (Vec<Record>, Vec<Vec<Record>>) {
    let mut logs: BTreeMap<LogName, Vec<Record>> = BTreeMap::new();
    RunReader::open(run).unwrap().poll(&mut |log, record| logs.entry(log).or_default().push(record)).unwrap();
    let own = logs.remove(&LogName::Rank(0)).unwrap();
    (own, logs.into_values().collect())
}

#[test]
#[expect(unsafe_code, reason = "fork is what is tested")]
fn a_forked_child_of_a_session_joins_the_run_with_its_first_record_and_leaves_the_parents_ring_alone() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    assert!(laptime_record::start(&options(folder.path())));
    laptime_record::enter(StageId::FORWARD);
    for recording in [true, false, true] {
        // SAFETY: the child records, which is what is tested, and leaves at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // Begun before the fork, by the parent: not this process' to end.
            laptime_record::exit(StageId::FORWARD);
            if recording {
                laptime_record::enter(StageId::LOSS);
                laptime_record::exit(StageId::LOSS);
                laptime_record::finish(Status::Finished, None);
            }
            // SAFETY: ends the child without running the parent's destructors.
            unsafe { libc::_exit(7) };
        }
        let mut status = 0;
        // SAFETY: waits for the child just made.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(libc::WEXITSTATUS(status), 7);
    }
    laptime_record::exit(StageId::FORWARD);
    let run = laptime_record::finish(Status::Finished, None).unwrap().run.unwrap();
    let (own, joined) = logs(&run);
    assert_eq!(spans(&own), BTreeMap::from([(StageId::FORWARD, 1)]));
    assert_eq!(joined.len(), 2);
    for log in joined {
        assert_eq!(spans(&log), BTreeMap::from([(StageId::LOSS, 1)]));
        assert!(matches!(&log[0], Record::Process(facts) if facts.parent == Some(std::process::id())));
        assert!(matches!(log.last(), Some(Record::Closed { .. })));
    }
}

#[test]
fn a_track_has_its_own_spans_and_overlapping_work_counts_once() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    let device = Track { kind: TrackKind::Device, name: "cuda:0".into() };
    let mut log = recorder.track(&device);
    let began = now();
    let at = |ticks: u64| Ticks(began.0 + ticks);
    log.span(StageId::FORWARD, at(0), at(100));
    log.span(StageId::BACKWARD, at(50), at(300));
    log.span(StageId::OPTIMIZER, at(60), at(70));
    drop(log);
    let records = read(&recorder.finish(Status::Finished, None).run.unwrap());
    let lane = records.iter().find_map(|record| match record {
        Record::Track { lane, track, .. } if *track == device => Some(*lane),
        _ => None,
    });
    let own = |stage| {
        let mut states = records.iter().filter_map(|record| match record {
            Record::State(state) if Some(state.lane) == lane => Some(state),
            _ => None,
        });
        let totals = states.next_back().unwrap().totals.iter().find(|total| total.stage == stage);
        totals.map(|total| (total.own.0, total.count))
    };
    assert_eq!(own(StageId::FORWARD), Some((100, 1)));
    assert_eq!(own(StageId::BACKWARD), Some((200, 1)));
    assert_eq!(own(StageId::OPTIMIZER), None, "other streams were busy all that time");
}

#[test]
fn a_track_that_outlives_its_recorder_is_silent() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    let mut log = recorder.track(&Track { kind: TrackKind::Device, name: "cuda:0".into() });
    let run = recorder.finish(Status::Finished, None).run.unwrap();
    let again = Recorder::start(&options(folder.path()));
    log.span(StageId::FORWARD, Ticks(0), now());
    drop(log);
    drop(enter_stage(stage_id("after")));
    let next = again.finish(Status::Finished, None).run.unwrap();
    assert_eq!(spans(&read(&run)).get(&StageId::FORWARD), None);
    assert_eq!(spans(&read(&next)).get(&StageId::FORWARD), None);
}

/// A pass over two batches of a library that runs the loop itself.
fn pass_of_a_library() {
    let mut log = BatchLog::default();
    for samples in [8, 4] {
        log.request();
        log.arrived(samples);
    }
    log.request();
    log.ran_out();
}

#[test]
fn the_passes_of_a_library_are_epochs_of_the_fit_that_is_open() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    let fit = recorder.fit(FitFacts { label: "of a library".into(), ..FitFacts::default() });
    for _ in 0..2 {
        pass_of_a_library();
        let _evaluate = stage!("evaluate");
        pass_of_a_library();
    }
    drop(fit);
    let records = read(&recorder.finish(Status::Finished, None).run.unwrap());
    assert_eq!(mark_names(&records), ["fit", "epoch", "epoch end", "epoch", "epoch end", "fit end"]);
    let samples = |record: &Record| match record {
        Record::Event { event: Event::Step { samples, .. }, .. } => Some(*samples),
        _ => None,
    };
    assert_eq!(records.iter().filter_map(samples).collect::<Vec<_>>(), [8, 4, 8, 4]);
}

#[test]
fn a_fit_ends_where_another_begins() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&options(folder.path()));
    let mut first = recorder.fit(FitFacts::default());
    let mut second = recorder.fit(FitFacts::default());
    drop(first.epoch());
    drop(second.epoch());
    drop(first);
    drop(second.epoch());
    drop(second);
    let records = read(&recorder.finish(Status::Finished, None).run.unwrap());
    let second = ["fit", "epoch", "epoch end", "epoch", "epoch end", "fit end"];
    assert_eq!(mark_names(&records), [&["fit", "fit end"][..], &second].concat());
}

/// The names of the marks, in their order.
fn mark_names(records: &[Record]) -> Vec<&'static str> {
    marks_of(records).into_iter().map(|(name, _)| name).collect()
}
