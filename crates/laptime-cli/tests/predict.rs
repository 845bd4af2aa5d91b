//! `laptime predict` on recorded runs, on small ones that are made here, and on commands that are hard to probe.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "signals to the process under test")]

mod laptime;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use laptime::{Said, fixtures, json, laptime, run, said};

fn train(folder: &Path, words: &str) {
    let said = run(folder, &format!("train mlp {words} --quiet"));
    assert_eq!(said.code, Some(0), "{}", said.err);
}

fn refused(said: &Said) -> &str {
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    &said.err
}

fn failed(said: &Said) -> &str {
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{}", said.err);
    &said.err
}

/// Predicts with a shell's script as the command.
fn probe(folder: &Path, options: &str, script: &str) -> Said {
    let mut command = laptime(folder, &format!("predict {options} --"));
    said(command.args(["sh", "-c", script]).output().unwrap())
}

/// The probes that are kept in a folder of runs.
fn probes(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join(".laptime/probes"));
    entries.map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

fn narrow(said: &Said) -> bool {
    said.out.lines().chain(said.err.lines()).all(|line| line.chars().count() <= 80)
}

/// The text without the time of day, which differs at every call.
fn without_clock(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match line.strip_prefix("done ").and_then(|rest| rest.split_once(", in ")) {
            Some((_, rest)) => out.push_str(&format!("done CLOCK, in {rest}\n")),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    out
}

/// A training that lasts long enough to be probed.
fn long_training() -> String {
    format!("{} train mlp --rows 20000 --batch 256 --epochs 200000 --quiet", env!("CARGO_BIN_EXE_laptime"))
}

#[test]
fn a_kept_run_says_how_long_it_would_take_again_and_with_other_settings() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "--rows 20000 --batch 256 --epochs 6");
    let said = run(folder.path(), "predict --from mlp");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.err);
    assert!(said.out.starts_with("from run ") && said.out.contains("\ndone "), "{}", said.out);
    assert!(narrow(&said), "{}", said.out);
    let once = json(&run(folder.path(), "predict --from latest --json"));
    assert_eq!((&once["schema"], &once["probe"]), (&"laptime.forecast/1".into(), &serde_json::Value::Null));
    assert!(once["finish_at"].as_str().unwrap().ends_with('Z'));
    let longer = json(&run(folder.path(), "predict --from mlp --epochs 6000 --json"));
    let mean = |found: &serde_json::Value| found["total_s"]["mean"].as_f64().unwrap();
    assert!(mean(&longer) > 20.0 * mean(&once), "{} {}", mean(&longer), mean(&once));
    let rows = json(&run(folder.path(), "predict --from mlp --epochs 6000 --rows 10x --json"));
    assert!(rows["change"]["ratio"]["mean"].as_f64().unwrap() > 5.0, "{rows}");
}

#[test]
fn a_deadline_that_cannot_be_met_says_how_many_epochs_fit_and_ends_with_3() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "--rows 20000 --batch 256 --epochs 6");
    let late = run(folder.path(), "predict --from mlp --epochs 1000000 --deadline 1m");
    assert_eq!((late.code, late.err.as_str()), (Some(3), ""), "{}", late.err);
    assert!(late.out.contains(" of 1,000,000 epochs fit before "), "{}", late.out);
    assert!(narrow(&late), "{}", late.out);
    let early = run(folder.path(), "predict --from mlp --deadline 5h");
    assert_eq!(early.code, Some(0), "{}", early.err);
    assert!(early.out.contains("all of it fits before "), "{}", early.out);
    let found = json(&run(folder.path(), "predict --from mlp --epochs 1000000 --deadline 1m --json"));
    assert_eq!(
        (&found["deadline"]["met"], &found["deadline"]["planned_epochs"]),
        (&false.into(), &1_000_000.into())
    );
}

#[test]
fn until_a_loss_the_epochs_are_those_that_the_losses_tell() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "--rows 4000 --batch 256 --epochs 12");
    let report = json(&run(folder.path(), "report mlp --json"));
    let reached = report["epochs"][5]["loss"].as_f64().unwrap();
    let known = run(folder.path(), &format!("predict --from mlp --until-loss {reached}"));
    assert_eq!((known.code, known.err.as_str()), (Some(0), ""), "{}", known.err);
    assert!(known.out.contains(&format!("a loss of at most {reached}: reached after ")), "{}", known.out);
    assert!(known.out.contains("by the losses so far") && narrow(&known), "{}", known.out);
    // Lower than it will ever be.
    let never = run(folder.path(), "predict --from mlp --until-loss 0");
    assert_eq!(never.code, Some(0), "{}", never.err);
    assert!(never.out.contains("a loss of at most 0: cannot tell: ") && narrow(&never), "{}", never.out);
}

#[test]
fn recorded_runs_are_predicted_from_in_80_columns() {
    // Grades of other tests have no say here.
    let data = tempfile::tempdir().unwrap();
    let mut texts = String::new();
    for name in ["demo", "keras", "pytorch", "sizes"] {
        let mut command = laptime(&fixtures(), &format!("predict --dir . --from {name}"));
        let said = said(command.env("LAPTIME_DATA_DIR", data.path()).output().unwrap());
        assert!(narrow(&said), "{name}: {}{}", said.out, said.err);
        texts.push_str(&format!("{name}: {:?}\n{}{}\n", said.code, without_clock(&said.out), said.err));
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn bad_input_is_refused_with_a_hint_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut texts = String::new();
    for words in [
        "predict",
        "predict --from nowhere",
        "predict --epochs 3 --steps 5 -- true",
        "predict --epochs 0 -- true",
        "predict --until-loss x -- true",
        "predict --until-loss 0.1 --epochs 3 -- true",
        "predict --deadline 25:00 -- true",
        "predict --deadline soon -- true",
        "predict --rows x -- true",
        "predict --from a -- true",
        "predict --grades --epochs 3",
        "predict --seconds 0 -- true",
        "run --deadline 6:5 -- true",
    ] {
        let said = run(folder.path(), words);
        texts.push_str(&format!("$ laptime {words}\n{}\n", refused(&said)));
        assert!(narrow(&said), "{}", said.err);
    }
    assert_eq!(run(folder.path(), "predict -- no-such-command").code, Some(127));
    assert!(!folder.path().join(".laptime").exists());
    insta::assert_snapshot!(texts);
}

#[test]
fn a_probe_predicts_the_whole_is_kept_apart_from_the_runs_and_leaves_no_scratch_folder() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "echo weights > $LAPTIME_PROBE/model.pt; echo $LAPTIME_PROBE > place
        touch log.csv
        printf '%s\\n' $PWD/log.csv /dev/null $PWD/log.csv $PWD/gone.tmp > $LAPTIME_PROBE/opened.txt
        exec {}",
        long_training()
    );
    let said = probe(folder.path(), "--seconds 4 --json", &script);
    let found = json(&said);
    assert_eq!((said.code, &found["schema"]), (Some(0), &"laptime.forecast/1".into()), "{}", said.err);
    assert!(said.err.starts_with("probing for 4 s: "), "{}", said.err);
    assert_eq!((&found["probe"]["ended"], &found["left_s"]), (&false.into(), &serde_json::Value::Null));
    let opened = fs::canonicalize(folder.path()).unwrap().join("log.csv");
    assert_eq!(found["probe"]["opened"], serde_json::json!([opened]));
    assert_eq!(found["basis"]["epochs"], 200_000);
    assert!(found["total_s"]["mean"].as_f64().unwrap() > 20.0, "{found}");
    let scratch = fs::read_to_string(folder.path().join("place")).unwrap();
    assert!(!Path::new(scratch.trim()).exists(), "{scratch}");
    let [kept] = probes(folder.path()).try_into().unwrap();
    let state: serde_json::Value =
        serde_json::from_slice(&fs::read(kept.join("probe.json")).unwrap()).unwrap();
    assert_eq!(state["total_s"], found["total_s"]);
    assert!(run(folder.path(), "runs").out.contains("no run"), "a probe is none of the user's runs");
}

#[test]
fn a_command_that_ends_within_the_probe_says_what_it_took() {
    let folder = tempfile::tempdir().unwrap();
    let said = probe(
        folder.path(),
        "",
        &format!(
            "exec {} train mlp --rows 20000 --batch 256 --epochs 20 --quiet",
            env!("CARGO_BIN_EXE_laptime")
        ),
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.starts_with("the command ended by itself after "), "{}", said.out);
    assert!(narrow(&said), "{}", said.out);
}

#[test]
fn commands_that_crash_never_step_or_just_end_are_stated_plainly() {
    let folder = tempfile::tempdir().unwrap();
    let crashed = probe(folder.path(), "", "echo 'ValueError: no data' >&2; exit 4");
    let err = failed(&crashed);
    assert!(err.contains("could not probe `sh -c"), "{err}");
    assert!(err.contains("it failed: exit code 4: ValueError: no data"), "{err}");
    assert!(err.contains("hint: laptime run -- sh -c"), "{err}");
    let ended = probe(folder.path(), "", "true");
    let err = failed(&ended);
    assert!(err.contains("no training step was seen") && err.contains("it ended by itself after"), "{err}");
    let idle = probe(folder.path(), "--seconds 1", "echo waiting for the lock >&2; sleep 60");
    let err = failed(&idle);
    assert!(err.contains("it was probed for 1 s; the last it said was: waiting for the lock"), "{err}");
    assert!(err.contains("--seconds 1m"), "{err}");
    assert!([crashed, ended, idle].iter().all(narrow));
}

#[test]
fn a_probe_is_ended_as_by_ctrl_c_and_one_that_ignores_that_is_killed_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    // A shell that starts one process after the other may lose a signal between two of them.
    let polite = "trap 'echo yes > interrupted; exit 0' INT; sleep 60 & wait";
    // Also where a shell started laptime in the background, with interrupts ignored.
    let mut command = laptime(folder.path(), "predict --seconds 1 -- sh -c");
    command.arg(polite);
    // SAFETY: a call that is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        });
    }
    failed(&said(command.output().unwrap()));
    assert!(folder.path().join("interrupted").exists());
    let deaf = "trap '' INT TERM; sh -c 'while :; do sleep 0.1; done' & echo $! > child; wait; \
                while :; do sleep 0.1; done";
    failed(&probe(folder.path(), "--seconds 1", deaf));
    let child: i32 = fs::read_to_string(folder.path().join("child")).unwrap().trim().parse().unwrap();
    // Where nobody reaps orphans, one that has ended stays as a zombie.
    let state = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "the child outlived the probe: {state}");
}

#[test]
fn ctrl_c_ends_a_probe_with_130_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = laptime(folder.path(), "predict --");
    command.args(["sh", "-c", "touch began; exec sleep 60"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !folder.path().join("began").exists() {
        thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: the child is not reaped yet, so the pid is its own.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(probes(folder.path()).is_empty());
}

#[test]
fn a_run_warns_of_its_deadline_and_grades_its_forecasts() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let none = run(folder.path(), "predict --grades");
    assert_eq!(none.code, Some(0), "{}", none.err);
    let soon = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 5;
    // Steps of the same length for about 15 s, however fast the machine.
    let mut command = laptime(folder.path(), "run -- ");
    let training = ["train", "mlp", "--rows", "200000", "--batch", "512", "--epochs"];
    command.arg(env!("CARGO_BIN_EXE_laptime")).args(training);
    let epochs = epochs_of_15_s(folder.path());
    command.arg(epochs.to_string()).arg("--quiet");
    command.env("SLURM_JOB_END_TIME", soon.to_string()).env("LAPTIME_DATA_DIR", &data);
    let said = said(command.output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(
        said.err.matches("laptime: warning: this will not be done by the job's end").count(),
        1,
        "{}",
        said.err
    );
    assert!(said.err.contains(&format!("of {} epochs fit", grouped(epochs))), "{}", said.err);
    assert!(said.err.contains("\npredicted ") && said.err.contains(", took "), "{}", said.err);
    assert!(said.err.contains(" was missed by "), "{}", said.err);
    assert!(narrow(&said), "{}", said.err);
    let graded = |words: &str| {
        laptime::said(laptime(folder.path(), words).env("LAPTIME_DATA_DIR", &data).output().unwrap())
    };
    let found = json(&graded("predict --grades --json"));
    assert_eq!(found["schema"], "laptime.grades/1");
    assert!(!found["marks"].as_array().unwrap().is_empty());
    assert!(graded("predict --grades").out.contains("median error"));
}

fn epochs_of_15_s(folder: &Path) -> u64 {
    train(folder, "--rows 200000 --batch 512 --epochs 10");
    let report = json(&run(folder, "report mlp --json"));
    let each = report["fits"][0]["wall_s"].as_f64().unwrap() / 10.0;
    (15.0 / each).ceil() as u64
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}
