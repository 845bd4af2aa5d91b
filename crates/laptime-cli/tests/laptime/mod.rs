//! Runs the built `laptime` in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program, with nothing from the environment that changes what it does.
pub(crate) fn laptime(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_laptime"));
    command.args(words.split_whitespace()).current_dir(folder);
    for variable in ["LAPTIME_DIR", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"] {
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
    let rows = report["ledger"].as_array().unwrap();
    let share = |row: &serde_json::Value| row["share"].as_f64().unwrap();
    let unaccounted: f64 = rows.iter().filter(|row| row["stage"] == "unaccounted").map(share).sum();
    assert!(unaccounted < 0.05, "{unaccounted} of the time is unaccounted");
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
