//! Runs the built `laptime` in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use laptime_core::{
    Anchor, Closing, Event, FitFacts, LaneState, ProcessFacts, Record, RunMeta, StageId, StageTotal, Status,
    Ticks,
};
use laptime_store::{LogWriter, RealDisk};

/// The program, with nothing from the environment that changes what it does.
pub(crate) fn laptime(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_laptime"));
    command.args(words.split_whitespace()).current_dir(folder);
    // Where this machine's forecasts are graded is the user's own.
    command.env("LAPTIME_DATA_DIR", env!("CARGO_TARGET_TMPDIR"));
    for variable in ["LAPTIME_DIR", "SLURM_JOB_END_TIME", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(variable);
    }
    command
}

/// What a finished command said.
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

/// Runs the program to its end.
#[allow(dead_code, reason = "not every test file has nothing to set")]
pub(crate) fn run(folder: &Path, words: &str) -> Said {
    said(laptime(folder, words).output().unwrap())
}

pub(crate) fn said(output: Output) -> Said {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// The report of a command that was given `--json`.
#[allow(dead_code, reason = "not every test file reads JSON")]
pub(crate) fn json(said: &Said) -> serde_json::Value {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}\n{}\n{}", said.out, said.err))
}

/// The recorded runs that tests share.
#[allow(dead_code, reason = "not every test file uses them")]
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs").canonicalize().unwrap()
}

/// A copy of the recorded runs where runs are kept, each in a folder named by its id.
#[allow(dead_code, reason = "not every test file changes them")]
pub(crate) fn copied() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for run in std::fs::read_dir(fixtures()).unwrap().flatten() {
        let text = std::fs::read(run.path().join("run.json")).unwrap();
        let id = serde_json::from_slice::<RunMeta>(&text).unwrap().id;
        let to = folder.path().join(".laptime").join(id);
        std::fs::create_dir_all(&to).unwrap();
        for file in std::fs::read_dir(run.path()).unwrap().flatten() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    folder
}

/// The ledger adds up to the wall time.
#[allow(dead_code, reason = "not every test file has a ledger")]
pub(crate) fn assert_closes(report: &serde_json::Value) {
    let wall = report["wall_s"].as_f64().unwrap();
    let rows = report["ledger"].as_array().unwrap();
    let seconds = |row: &serde_json::Value| row["seconds"].as_f64().unwrap();
    let sum: f64 = rows.iter().map(seconds).sum();
    assert!((sum / wall - 1.0).abs() < 1e-3, "the ledger has {sum} s of {wall} s");
}

/// Nearly all of the time is claimed by a stage.
#[allow(dead_code, reason = "not every test file has a ledger")]
pub(crate) fn assert_claimed(report: &serde_json::Value) {
    let unaccounted = unaccounted(report);
    assert!(unaccounted < MOST_UNACCOUNTED, "{unaccounted} of the time is unaccounted");
}

/// The share of the time that no stage may claim.
#[allow(dead_code, reason = "not every test file has a ledger")]
pub(crate) const MOST_UNACCOUNTED: f64 = 0.05;

/// The share of the time that no stage claims.
#[allow(dead_code, reason = "not every test file has a ledger")]
pub(crate) fn unaccounted(report: &serde_json::Value) -> f64 {
    let share = |row: &serde_json::Value| row["share"].as_f64().unwrap();
    let rows = report["ledger"].as_array().unwrap();
    rows.iter().filter(|row| row["stage"] == "unaccounted").map(share).sum()
}

/// Every event file below a folder, in order.
#[allow(dead_code, reason = "not every test file writes event files")]
pub(crate) fn event_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { event_files(&path) } else { vec![path] })
        .filter(|path| path.to_string_lossy().contains("tfevents"))
        .collect();
    found.sort();
    found
}

/// How many whole records an event file has.
#[allow(dead_code, reason = "not every test file writes event files")]
pub(crate) fn whole_records(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut records = 0;
    while let Some(length) = rest.first_chunk::<8>() {
        let whole = usize::try_from(u64::from_le_bytes(*length)).unwrap() + 16;
        let Some((_, after)) = rest.split_at_checked(whole) else { break };
        rest = after;
        records += 1;
    }
    records
}

/// Writes a finished run of so many epochs of one step into a folder of runs.
#[allow(dead_code, reason = "not every test file needs such a run")]
pub(crate) fn write_epochs(root: &Path, epochs: u32) {
    let id = "20261116T000000Z-0badcafe";
    let meta = RunMeta { id: id.into(), name: "many".into(), ..RunMeta::default() };
    std::fs::create_dir_all(root.join(id)).unwrap();
    std::fs::write(root.join(id).join("run.json"), serde_json::to_vec(&meta).unwrap()).unwrap();
    std::os::unix::fs::symlink(id, root.join("latest")).unwrap();
    let mut writer = LogWriter::new(Box::new(RealDisk), &root.join(id), 0);
    writer.put(&Record::Process(ProcessFacts { ns_per_tick: 1.0, ..ProcessFacts::default() }));
    writer.put(&Record::Anchor(Anchor { real_ns: 1_790_000_000_000_000_000, ..Anchor::default() }));
    writer.put(&Record::Fit {
        fit: 0,
        facts: Box::new(FitFacts { epochs: Some(epochs.into()), ..FitFacts::default() }),
    });
    let (mut now, mut events) = (0, vec![Event::FitBegin { fit: 0, at: Ticks(0) }]);
    let total = |now, count| Event::Total(StageTotal { stage: StageId::FORWARD, own: Ticks(now), count });
    for epoch in 0..epochs {
        events.extend([total(now, epoch.into()), Event::EpochBegin { epoch, at: Ticks(now) }]);
        let start = Ticks(now);
        now += 1_000_000 + u64::from(epoch % 7) * 1_000;
        let loss = Some(1.0 / f64::from(epoch + 1));
        events.push(Event::Step { start, end: Ticks(now), samples: 32, loss });
        events.extend([total(now, u64::from(epoch) + 1), Event::EpochEnd { epoch, at: Ticks(now) }]);
    }
    events.push(Event::FitEnd { fit: 0, at: Ticks(now) });
    writer.put_events(0, 0, &events);
    let totals = vec![StageTotal { stage: StageId::FORWARD, own: Ticks(now), count: epochs.into() }];
    writer.put(&Record::State(LaneState { at: Ticks(now), totals, ..LaneState::default() }));
    let closing = Closing { status: Status::Finished, message: None, spans: 0, span_cost_ns: 0.0 };
    writer.put(&Record::Closed { at: Ticks(now), closing });
    writer.flush(&Anchor::default());
}

/// Writes a finished run of one epoch of 400 steps of the same length into a folder of runs.
#[allow(dead_code, reason = "not every test file needs such a run")]
pub(crate) fn write_steps(root: &Path, name: &str, id: &str, step_ns: u64) {
    let meta = RunMeta { id: id.into(), name: name.into(), ranks: 1, ..RunMeta::default() };
    std::fs::create_dir_all(root.join(id)).unwrap();
    std::fs::write(root.join(id).join("run.json"), serde_json::to_vec(&meta).unwrap()).unwrap();
    let mut writer = LogWriter::new(Box::new(RealDisk), &root.join(id), 0);
    writer.put(&Record::Process(ProcessFacts { ns_per_tick: 1.0, ..ProcessFacts::default() }));
    writer.put(&Record::Fit { fit: 0, facts: Box::new(FitFacts { batch: Some(32), ..FitFacts::default() }) });
    let total = |now, count| Event::Total(StageTotal { stage: StageId::FORWARD, own: Ticks(now), count });
    let mut events = vec![
        Event::FitBegin { fit: 0, at: Ticks(0) },
        total(0, 0),
        Event::EpochBegin { epoch: 0, at: Ticks(0) },
    ];
    let steps = 400;
    for step in 0..steps {
        let (start, end) = (Ticks(step * step_ns), Ticks((step + 1) * step_ns));
        events.push(Event::Step { start, end, samples: 32, loss: Some(1.0 / (1.0 + step as f64)) });
    }
    let end = steps * step_ns;
    events.extend([total(end, steps), Event::EpochEnd { epoch: 0, at: Ticks(end) }]);
    events.push(Event::FitEnd { fit: 0, at: Ticks(end) });
    writer.put_events(0, 0, &events);
    let totals = vec![StageTotal { stage: StageId::FORWARD, own: Ticks(end), count: steps }];
    writer.put(&Record::State(LaneState { at: Ticks(end), totals, ..LaneState::default() }));
    let closing = Closing { status: Status::Finished, message: None, spans: 0, span_cost_ns: 0.0 };
    writer.put(&Record::Closed { at: Ticks(end), closing });
    writer.flush(&Anchor::default());
}
