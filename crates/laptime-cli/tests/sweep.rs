//! `laptime sweep` as a user meets it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use laptime::{Said, json, said};
use serde_json::Value;

/// A command line whose last argument is a script of the shell.
fn sweep(folder: &Path, words: &str, script: &str) -> Command {
    let mut command = laptime::laptime(folder, "sweep");
    command.args(words.split_whitespace()).args(["--", "sh", "-c", script]);
    command
}

fn done(mut command: Command) -> Said {
    said(command.output().unwrap())
}

fn only_sweep(folder: &Path) -> PathBuf {
    let mut sweeps = fs::read_dir(folder.join(".laptime/sweeps")).unwrap();
    let found = sweeps.next().unwrap().unwrap().path();
    assert!(sweeps.next().is_none());
    found
}

/// What is on disk; nothing while it is not there yet.
fn state(folder: &Path) -> Option<Value> {
    let sweep = fs::read_dir(folder.join(".laptime/sweeps")).ok()?.next()?.ok()?.path();
    serde_json::from_slice(&fs::read(sweep.join("sweep.json")).ok()?).ok()
}

fn order(folder: &Path) -> Vec<u64> {
    let state = state(folder).unwrap();
    state["repeats"].as_array().unwrap().iter().map(|repeat| repeat["point"].as_u64().unwrap()).collect()
}

/// Numbers and ids that differ from run to run, and what a busy machine adds, made equal.
fn redacted() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{8}T\d{6}Z-[0-9a-f]{8}", "<id>");
    settings.add_filter(r"\b[0-9a-f]{8}\b", "<id>");
    settings.add_filter(r"(?s)\n\n[^\n]*(depend|fastest|time =).*?\n\nx=2:", "\n\nx=2:");
    settings.add_filter(r"\d+ of \d+ repeats were tainted[^\n]*\n(  [^\n]*\n)*", "");
    settings.add_filter(r"\btainted\b", "ok");
    settings.add_filter(r" +\d+(\.\d+)? (us|ms|s)\b", " <time>");
    settings.add_filter(r" +\d+ repeats", " <n> repeats");
    settings.add_filter(r" +[<\d.]+ %", " <n> %");
    settings.add_filter(r" +\d+(\.\d+)? ×", " <n> ×");
    settings.add_filter(r"× +\d+  ok", "× <n>  ok");
    settings.add_filter(r" {2,}", "  ");
    settings.bind_to_scope()
}

#[test]
fn crashes_and_hangs_are_rows_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let script = "case {x} in 2) echo 'cannot allocate' >&2; exit 3;; 4) sleep 1000 & sleep 1000;; \
                  5) kill -SEGV $$;; esac";
    let said = done(sweep(folder.path(), "-q -p x=1..10+1 --timeout 3s --repeats 2 --seed 5", script));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let _redacted = redacted();
    insta::assert_snapshot!(said.out);
}

#[test]
fn what_does_not_fit_together_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        "-p batch=32,64 -p rows=1,2 -- laptime train mlp --batch {batch}",
        "-p batch= -- laptime train mlp --batch {batch}",
        "-p batch=16..512*1 -- laptime train mlp --batch {batch}",
        "-p batch=512..16*2 -- laptime train mlp --batch {batch}",
        "-p batch=1..8+0 -- laptime train mlp --batch {batch}",
        "-p batch=1..8 -- laptime train mlp --batch {batch}",
        "-p batch=32 -- laptime train mlp --batch {bacth}",
        "-p batch=32 -- laptime train mlp --batch {batch} --rows {rows}",
        "-p batch=32 -p batch=64 -- laptime train mlp --batch {batch}",
        "-p batch=32 -- no-such-command {batch}",
        "-p x=1..100+1 -p y=1..100+1 -- echo {x} {y}",
        "-p x=1..1000+1 -p y=1..1000+1 --budget 5m -- echo {x} {y}",
        "-p opt=sgd,adma -- laptime train mlp --optimizer {opt}",
        "-p batch=32",
        "-- laptime train mlp",
        "-p batch=32 --budget soon -- echo {batch}",
        "--resume",
        "--resume -p batch=32",
    ];
    let mut all = String::new();
    for line in lines {
        let said = laptime::run(folder.path(), &format!("sweep {line}"));
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{line}: {}", said.err);
        all += &format!("$ laptime sweep {line}\n{}\n", said.err);
    }
    assert!(!folder.path().join(".laptime").exists());
    insta::assert_snapshot!(all);
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if is_there() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} did not come");
}

/// A sweep that has come to its third point and waits there until the file `go` comes.
///
/// It also ends when the folder goes: nobody ends the command of a sweep that was killed outright.
fn stuck(folder: &Path) -> Child {
    let script = "test {x} != 3 || test -e go || \
                  { touch waiting; while test -e waiting -a ! -e go; do sleep 0.1; done; }";
    let words = "-p x=1..5+1 --repeats 2 --precision 90% --seed 11";
    let mut command = sweep(folder, words, script);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the third point", || folder.join("waiting").exists());
    child
}

fn send(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

#[test]
fn ctrl_c_keeps_what_is_done_and_resume_goes_on_in_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let child = stuck(folder.path());
    send(&child, "-INT");
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.err);
    assert!(said.out.contains("interrupted") && said.out.contains("not run"), "{}", said.out);
    let before = order(folder.path());
    fs::write(folder.path().join("go"), "").unwrap();
    let resumed = laptime::run(folder.path(), "sweep --resume --json");
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert_eq!(json(&resumed)["sweep"]["status"], "finished");
    let after = order(folder.path());
    assert_eq!(after[..before.len()], before);
    // The first round has every point once, as if nothing had happened in between.
    let mut first: Vec<u64> = after[..5].to_vec();
    first.sort_unstable();
    assert_eq!(first, [0, 1, 2, 3, 4]);
    let runs = fs::read_dir(only_sweep(folder.path()).join("runs")).unwrap().flatten();
    let kept = runs.filter(|entry| entry.file_type().unwrap().is_dir()).count();
    assert_eq!(kept, after.len(), "the repeat that was cut short left no run");
}

#[test]
fn a_sweep_that_was_killed_outright_goes_on_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = stuck(folder.path());
    let made = order(folder.path()).len();
    let busy = laptime::run(folder.path(), "sweep --resume");
    assert_eq!(busy.code, Some(2), "{}", busy.err);
    assert!(busy.err.contains("another process"), "{}", busy.err);
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(folder.path().join("go"), "").unwrap();
    let resumed = laptime::run(folder.path(), "sweep -q --resume");
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert!(order(folder.path()).len() > made);
}

#[test]
fn a_training_gives_steps_epochs_and_samples_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let words = "sweep -p rows=200,400 -p batch=20,50 --repeats 2 --json -- \
                 laptime train linear --rows {rows} --batch {batch} --epochs 3";
    let said = laptime::run(folder.path(), words);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.lines().count() >= 8, "a line for every repeat:\n{}", said.err);
    let document = json(&said);
    assert_eq!(document["schema"], "laptime.sweep/1");
    assert_eq!(document["parameters"][0]["values"], serde_json::json!([200, 400]));
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        assert_eq!((&point["status"], &point["epochs"]), (&"finished".into(), &3.into()));
        let steps = point["values"]["rows"].as_u64().unwrap() / point["values"]["batch"].as_u64().unwrap();
        assert_eq!(point["steps"].as_u64(), Some(steps * 3));
        for measure in ["step_s", "epoch_s", "samples_per_s", "wall_s"] {
            let (low, high) = (&point[measure]["low"], &point[measure]["high"]);
            assert!(low.as_f64().unwrap() <= high.as_f64().unwrap(), "{measure}: {point}");
        }
        assert!(point["loss"].as_f64().is_some() && point["relative"].as_f64().unwrap() >= 1.0);
    }
    assert_eq!(document["best"]["by"], "samples_per_s");
    let laws = document["laws"].as_array().unwrap();
    assert!(laws.iter().any(|law| law["x"] == "rows" && law["y"] == "step_s"), "{laws:?}");
    let csv = laptime::run(folder.path(), "report sweep --csv").out;
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.starts_with("rows,batch,status,"), "{csv}");
    let markdown = laptime::run(folder.path(), "report sweep --md").out;
    assert!(markdown.starts_with("| rows | batch | step |"), "{markdown}");
    let drawn = laptime::run(folder.path(), "report sweep --svg charts");
    assert_eq!(drawn.code, Some(0), "{}", drawn.err);
    let mut files: Vec<String> = fs::read_dir(folder.path().join("charts"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let expected = [
        "epoch-time-by-rows.svg",
        "loss-against-time.svg",
        "loss-over-time.svg",
        "step-time-by-batch.svg",
        "step-time-by-rows.svg",
    ];
    assert_eq!(files, expected);
    let chart = fs::read_to_string(folder.path().join("charts/step-time-by-batch.svg")).unwrap();
    assert!(chart.starts_with("<svg") && chart.contains("step time by batch"), "{chart}");
}

#[test]
fn a_sweep_is_shown_again_and_no_run_is_taken_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let first = done(sweep(folder.path(), "-q -p word=one,two --repeats 2", "true {word}"));
    let id = only_sweep(folder.path()).file_name().unwrap().to_str().unwrap().to_owned();
    let short = id.split('-').nth(1).unwrap();
    for wanted in [short, id.as_str(), "sweep"] {
        assert_eq!(laptime::run(folder.path(), &format!("report {wanted}")).out, first.out);
    }
    assert!(laptime::run(folder.path(), "runs").out.contains("no runs yet"));
    assert_eq!(laptime::run(folder.path(), "report").code, Some(2), "without a word it is about runs");
    let trained = laptime::run(folder.path(), "train linear --name sweep --epochs 1");
    assert_eq!(trained.code, Some(0), "{}", trained.err);
    let named = laptime::run(folder.path(), "report sweep");
    assert!(named.out.contains("1 epoch"), "a run of that name comes first:\n{}", named.out);
    let refused = laptime::run(folder.path(), "report --csv");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--csv and --md show sweeps"), "{}", refused.err);
}

#[test]
fn a_sweep_of_which_nothing_works_fails_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let said = done(sweep(folder.path(), "-q -p x=1,2", "echo no such file >&2; exit {x}"));
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("no point of sweep") && said.err.contains("no such file"), "{}", said.err);
}

#[test]
fn what_a_repeat_leaves_behind_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let script = "sleep 1000 & echo $! >> left{x}";
    let said = done(sweep(folder.path(), "-q -p x=1 --repeats 1", script));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for pid in fs::read_to_string(folder.path().join("left1")).unwrap().lines() {
        assert!(has_ended(pid), "{pid} still runs");
    }
}

#[test]
fn a_sweep_killed_with_9_leaves_nothing_of_its_repeat_running() {
    let folder = tempfile::tempdir().unwrap();
    // Its own process, a child in another session, and a child of that.
    let script = "setsid sh -c 'sleep 1000 & echo $! >> started; wait' & echo $! >> started; \
                  sleep 1000 & echo $! >> started; echo $$ >> started; wait; : {x}";
    let mut command = sweep(folder.path(), "-q -p x=1 --repeats 1", script);
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = || -> Vec<String> {
        let pids = fs::read_to_string(folder.path().join("started")).unwrap_or_default();
        pids.lines().map(str::to_owned).collect()
    };
    until("the repeat has started everything", 60, || started().len() == 4);
    running.kill().unwrap();
    running.wait().unwrap();
    until("nothing of it runs any more", 2, || started().iter().all(|pid| has_ended(pid)));
}

fn has_ended(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

/// Waits for something that takes moments, and fails when it takes so many seconds.
fn until(what: &str, limit_secs: u64, is_so: impl Fn() -> bool) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(limit_secs), "not within {limit_secs} s: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn training_to_a_loss_is_compared_by_the_time_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let words = "sweep -q -p lr=0.05,1e-9 --repeats 2 --target loss=0.05 --json -- \
                 laptime train linear --lr {lr} --epochs 200";
    let document = json(&laptime::run(folder.path(), words));
    assert_eq!(document["target"], serde_json::json!({"metric": "loss", "value": 0.05}));
    let (quick, never) = (&document["points"][0], &document["points"][1]);
    assert_eq!(quick["to_target"]["reached"], quick["to_target"]["tried"], "{quick}");
    assert!(quick["to_target"]["epochs"]["mean"].as_f64().unwrap() > 1.0);
    assert_eq!(never["to_target"]["reached"], 0);
    assert!(never["to_target"]["not_within_s"].as_f64().unwrap() > 0.0);
    assert_eq!((&document["compared_by"], &document["best"]["point"]), (&"time_to_target".into(), &0.into()));
    let text = laptime::run(folder.path(), "report sweep").out;
    assert!(text.contains("to loss 0.05") && text.contains("not in "), "{text}");
}
