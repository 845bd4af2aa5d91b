//! Training goes on whatever happens to the folder or the process, and the report says what is missing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking and may say what it skipped"
)]

mod laptime;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use laptime::{assert_claimed, assert_closes, json, laptime, run, said};

/// Enough epochs that something can happen in between, few enough to end in seconds; steps long enough that a busy
/// machine does not keep the flusher from them.
const TRAINING: &str = "train cnn --rows 4000 --epochs 12 --json";

fn assert_trained(report: &serde_json::Value) {
    assert_eq!(report["run"]["status"], "finished");
    assert_eq!(report["epochs"].as_array().unwrap().len(), 12);
    assert_closes(report);
}

fn not_written(report: &serde_json::Value) -> String {
    let warnings = report["warnings"].as_array().unwrap();
    let because = |warning: &serde_json::Value| warning["trouble"]["because"].as_str().map(str::to_owned);
    warnings.iter().find_map(because).unwrap_or_else(|| panic!("no warning in {warnings:?}"))
}

#[test]
fn a_folder_that_cannot_be_written_costs_the_kept_run_and_one_line() {
    let folder = tempfile::tempdir().unwrap();
    // A file in the way stops root as well, unlike permissions.
    fs::write(folder.path().join(".laptime"), "in the way").unwrap();
    let said = run(folder.path(), TRAINING);
    assert_eq!(said.code, Some(0));
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.starts_with("warning: this run will not be kept: "), "{}", said.err);
    let report = json(&said);
    assert_trained(&report);
    assert!(!not_written(&report).is_empty());
}

/// Runs shell lines where a small file system can be mounted; `None` where the system forbids that.
fn with_own_mounts(folder: &Path, lines: &str) -> Option<laptime::Said> {
    let mut shell = Command::new("unshare");
    let program = env!("CARGO_BIN_EXE_laptime");
    shell.args(["--map-root-user", "--mount", "sh", "-ec", lines, "sh", program]).current_dir(folder);
    let allowed = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        println!("not tested: this system allows no mounts");
        return None;
    }
    Some(said(shell.output().unwrap()))
}

#[test]
fn a_full_disk_costs_the_rest_of_the_log_and_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let lines =
        format!("mkdir runs && mount -t tmpfs -o size=48k none runs && exec \"$1\" {TRAINING} --dir runs");
    let Some(said) = with_own_mounts(folder.path(), &lines) else { return };
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    let report = json(&said);
    assert_trained(&report);
    assert!(not_written(&report).contains("No space left"), "{}", not_written(&report));
}

#[test]
fn a_disk_that_fills_under_the_board_costs_its_later_points_and_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let lines = format!(
        "mkdir board && mount -t tmpfs -o size=4k none board && \"$1\" {TRAINING} --tensorboard board && \
         cp -r board kept"
    );
    let Some(said) = with_own_mounts(folder.path(), &lines) else { return };
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.starts_with("warning: could not write for TensorBoard into board: "), "{}", said.err);
    assert!(said.err.contains("No space left"), "{}", said.err);
    assert_trained(&json(&said));
    let files = laptime::event_files(&folder.path().join("kept"));
    let records = laptime::whole_records(&fs::read(&files[0]).unwrap());
    assert!((2..13).contains(&records), "{records} records");
}

#[test]
fn a_read_only_disk_costs_the_kept_run_and_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let lines = format!("mkdir runs && mount -t tmpfs -o ro none runs && exec \"$1\" {TRAINING} --dir runs");
    let Some(said) = with_own_mounts(folder.path(), &lines) else { return };
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.contains("Read-only file system"), "{}", said.err);
    assert_trained(&json(&said));
}

fn start(folder: &Path, words: &str) -> Child {
    laptime(folder, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The run's folder, once its log is there.
fn wait_for_log(folder: &Path) -> std::path::PathBuf {
    loop {
        let runs = fs::read_dir(folder.join(".laptime")).into_iter().flatten().flatten();
        let with_log = |run: &std::path::PathBuf| run.join("rank-00000.000001.ltlog").exists();
        if let Some(run) = runs.map(|entry| entry.path()).find(with_log) {
            return run;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_folder_deleted_under_the_training_is_reported_and_nothing_is_missing_from_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), TRAINING);
    wait_for_log(folder.path());
    // The recorder may bring its log back while the folder is being emptied.
    while fs::remove_dir_all(folder.path().join(".laptime")).is_err() {}
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    let report = json(&said);
    assert_trained(&report);
    assert!(not_written(&report).contains("removed"), "{}", not_written(&report));
}

#[test]
fn a_killed_training_is_reported_to_its_last_moment() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "train cnn --rows 2000 --epochs 1000");
    let run_folder = wait_for_log(folder.path());
    // Wait until epochs have ended, by the reports of a run that is still growing; long enough that a single
    // pause by the system between two stages is a small share.
    let running = loop {
        let report = json(&run(folder.path(), "report --json"));
        if report["epochs"].as_array().unwrap().len() > 15 {
            break report;
        }
    };
    assert_eq!(running["run"]["status"], "running");
    assert_eq!(run(folder.path(), "runs remove --all").code, Some(1), "a running run stays");
    child.kill().unwrap();
    child.wait().unwrap();
    let report = json(&run(folder.path(), "report --json"));
    assert_eq!(report["run"]["status"], "killed");
    assert!(!report["open_stages"].as_array().unwrap().is_empty());
    assert_closes(&report);
    assert_claimed(&report);
    assert_eq!(json(&run(folder.path(), "report --json")), report, "a second look sees the same");
    assert!(run_folder.join("rank-00000.000002.ltlog").exists(), "the ring was salvaged into the log");
}

#[test]
fn ctrl_c_stops_after_the_step_and_reports_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), "train mlp --rows 50000 --epochs 1000 --json");
    wait_for_log(folder.path());
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.err);
    let report = json(&said);
    assert_eq!(
        (&report["run"]["status"], &report["run"]["message"]),
        (&"killed".into(), &"interrupted".into())
    );
    assert_closes(&report);
}

#[test]
fn standard_error_stays_silent_when_all_is_well_and_nobody_watches() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "train mlp --rows 2000");
    let said: Vec<String> =
        BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok).collect();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(said, [""; 0]);
}
