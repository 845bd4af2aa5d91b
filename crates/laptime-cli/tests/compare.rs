//! `laptime compare` on recorded runs and on small ones that are made here.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "a terminal of its own is made by the C library")]

mod laptime;

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::path::Path;

use laptime::{Said, copied, fixtures, json, run};

fn shown(words: &str) -> String {
    let said = run(&fixtures(), &format!("compare --dir . {words}"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    said.out
}

fn train(folder: &Path, words: &str) {
    let said = run(folder, &format!("train {words} --quiet"));
    assert_eq!(said.code, Some(0), "{}", said.err);
}

fn refused(said: &Said) -> &str {
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    &said.err
}

#[test]
fn unlike_runs_are_not_the_same_training() {
    insta::assert_snapshot!(shown("pytorch keras"));
}

#[test]
fn a_killed_run_and_one_of_several_fits() {
    insta::assert_snapshot!(shown("killed sizes"));
}

#[test]
fn runs_of_different_machines_are_never_called_faster() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "mlp --rows 2000 --epochs 4 --name here");
    train(folder.path(), "mlp --rows 2000 --epochs 4 --name there");
    for run in std::fs::read_dir(folder.path().join(".laptime")).unwrap().flatten() {
        let path = run.path().join("run.json");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let mut meta: serde_json::Value = serde_json::from_str(&text).unwrap();
        if meta["name"] == "there" && !run.file_type().unwrap().is_symlink() {
            meta["machine"]["cpu_model"] = "a CPU of another kind".into();
            std::fs::write(&path, meta.to_string()).unwrap();
        }
    }
    let said = run(folder.path(), "compare here there --fail-if-slower 5%");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    assert!(said.out.starts_with("cannot tell whether there is faster: different machines"), "{}", said.out);
    assert!(
        said.out.contains("warning: times of another machine cannot fail the limit of 5 %"),
        "{}",
        said.out
    );
    assert!(said.out.contains("note: a stored baseline is weak evidence"), "{}", said.out);
    let found = json(&run(folder.path(), "compare here there --json"));
    assert_eq!((&found["verdict"], &found["because"]), (&"cannot tell".into(), &"different_machines".into()));
}

#[test]
fn two_runs_of_one_training_are_the_same_training_and_have_the_fields_users_rely_on() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two", "three", "four"] {
        train(folder.path(), &format!("mlp --rows 5000 --epochs 4 --name {name}"));
    }
    for (words, runs) in [("one two", 1), ("one,two three,latest", 2)] {
        let found = json(&run(folder.path(), &format!("compare {words} --json")));
        assert_eq!(found["schema"], "laptime.compare/1");
        assert_ne!(found["verdict"], "not the same training", "{found}");
        assert_eq!((&found["same_training"], &found["timed"]), (&true.into(), &"step".into()));
        for side in ["a", "b"] {
            assert_eq!(found[side]["runs"].as_array().unwrap().len(), runs);
        }
        let ratio = |end: &str| found["ratio"][end].as_f64().unwrap();
        assert!(ratio("low") <= ratio("mean") && ratio("mean") <= ratio("high"));
        assert_eq!(found["between_runs_seen"], runs > 1);
        let share = |side: &str| -> f64 {
            found["stages"].as_array().unwrap().iter().map(|stage| stage[side].as_f64().unwrap()).sum()
        };
        assert!((share("a_share") - 1.0).abs() < 1e-6 && (share("b_share") - 1.0).abs() < 1e-6);
        assert_eq!(found["environment"].as_array().unwrap().len(), 0, "{}", found["environment"]);
    }
    let text = run(folder.path(), "compare one two").out;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("same training: samples an epoch, parameters"), "{text}");
    assert!(text.contains("changed: nothing that was recorded"), "{text}");
}

#[test]
fn another_width_is_another_training_and_fails_the_condition() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "mlp --rows 2000 --epochs 3 --name narrow --width 16");
    train(folder.path(), "mlp --rows 2000 --epochs 3 --name wide --width 32");
    let said = run(folder.path(), "compare narrow wide --fail-if-slower 5%");
    assert_eq!(said.code, Some(3), "{}", said.out);
    assert!(
        said.out.starts_with("wide is not the same training as narrow: parameters 193 → 385"),
        "{}",
        said.out
    );
    assert!(said.out.contains("width 16 → 32"), "{}", said.out);
}

#[test]
fn a_side_that_is_much_slower_fails_the_condition_and_the_other_way_it_passes() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str, id: &str, step_ns: u64| {
        laptime::write_steps(&folder.path().join(".laptime"), name, id, step_ns);
    };
    log("base", "20261116T000000Z-00000001", 20_000_000);
    log("slow", "20261116T000001Z-00000002", 24_000_000);
    let slow = run(folder.path(), "compare base slow --fail-if-slower 5%");
    assert_eq!((slow.code, slow.err.as_str()), (Some(3), ""), "{}", slow.out);
    assert!(slow.out.starts_with("slow is 1.20× slower (95 %:"), "{}", slow.out);
    assert!(slow.out.contains("failed: slower by more than 5 %"), "{}", slow.out);
    assert_eq!(run(folder.path(), "compare base slow --fail-if-slower 30%").code, Some(0));
    assert_eq!(run(folder.path(), "compare base slow").code, Some(0));
    let fast = run(folder.path(), "compare slow base --fail-if-slower 5%");
    assert_eq!(fast.code, Some(0));
    assert!(fast.out.starts_with("base is 1.20× faster (95 %:"), "{}", fast.out);
    let gate = &json(&run(folder.path(), "compare base slow --fail-if-slower 5% --json"))["gate"];
    assert_eq!((gate["met"].as_bool(), gate["fail_if_slower"].as_f64()), (Some(false), Some(0.05)));
    let same = run(folder.path(), "compare base slow --same-within 30%").out;
    assert!(same.starts_with("slow takes the same time as base within 30 %"), "{same}");
}

#[test]
fn three_steps_are_too_few() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        train(folder.path(), &format!("mlp --rows 96 --batch 32 --epochs 1 --name {name}"));
    }
    let said = run(folder.path(), "compare one two");
    assert_eq!(said.code, Some(0));
    let first = "cannot tell whether two is faster: too few steps (one 3 steps, two 3 steps)";
    assert!(said.out.starts_with(first), "{}", said.out);
    assert!(said.out.contains("next: at least 21 more steps a side are needed"), "{}", said.out);
}

#[test]
fn what_cannot_be_compared_says_why_and_what_to_type() {
    let compare = |words: &str| run(&fixtures(), &format!("compare --dir . {words}"));
    insta::assert_snapshot!(refused(&compare("demo nothing")), @r"
    error: could not compare `nothing`
      because: no run is called `nothing`
      hint: `laptime runs` lists them
    ");
    insta::assert_snapshot!(refused(&compare("demo demo")), @r"
    error: could not compare a run with itself
      because: both sides are run demo
      hint: `laptime runs` lists them
    ");
    insta::assert_snapshot!(refused(&compare("demo,sizes,demo keras")), @r"
    error: could not compare a run with itself
      because: run demo is named twice
      hint: `laptime runs` lists them
    ");
    insta::assert_snapshot!(refused(&compare("demo")), @r"
    error: could not compare
      because: B is missing
      hint: laptime compare --help
    ");
    insta::assert_snapshot!(refused(&compare("demo, keras")), @r"
    error: could not compare `demo,`
      because: a name is missing beside a comma
      hint: laptime compare --help
    ");
    insta::assert_snapshot!(refused(&compare("demo keras --fail-if-slower five")), @r"
    error: could not understand `laptime compare --dir . demo keras --fail-if-slower
      five`
      because: invalid value `five` for --fail-if-slower: expected a share between 0
        and 1, such as 3% or 0.03
      hint: laptime compare --help
    ");
    insta::assert_snapshot!(refused(&run(&fixtures(), "compare --dir ./nowhere a b")), @r"
    error: could not compare `a`
      because: no runs in ./nowhere
      hint: record one with `laptime demo`, or name the folder with --dir DIR
    ");
    let several = run(copied().path(), "compare 20261115T104749Z demo");
    insta::assert_snapshot!(refused(&several), @r"
    error: could not compare `20261115T104749Z`
      because: `20261115T104749Z` could be 20261115T104749Z-f1363edf or
        20261115T104749Z-4e9f498d or 20261115T104749Z-f0dda030
      hint: give more of its id; `laptime runs` lists them
    ");
}

#[test]
fn commands_that_record_nothing_are_compared_as_a_whole_and_need_several_runs() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seconds) in [("s1", "0.05"), ("s2", "0.05"), ("l1", "0.8"), ("l2", "0.8")] {
        assert_eq!(
            run(folder.path(), &format!("run --quiet --name {name} -- sleep {seconds}")).code,
            Some(0)
        );
    }
    let one = json(&run(folder.path(), "compare s1 l1 --json"));
    assert_eq!((&one["timed"], &one["because"]), (&"run".into(), &"one_run_a_side".into()));
    let two = json(&run(folder.path(), "compare s1,s2 l1,l2 --json"));
    assert!(two["ratio"]["mean"].as_f64().unwrap() > 2.0, "{}", two["ratio"]);
    let text = run(folder.path(), "compare s1 l1").out;
    assert!(text.contains("whether it is the same training is not known"), "{text}");
    assert!(text.contains("changed: command 0.05 → 0.8"), "{text}");
}

/// What a terminal so wide shows.
fn on_terminal(folder: &Path, words: &str, width: u16) -> String {
    let (mut ours, mut theirs) = (0, 0);
    let mut size = libc::winsize { ws_row: 50, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    let null = std::ptr::null_mut();
    // SAFETY: live pointers for two descriptors and the size; the rest may be null.
    let made = unsafe {
        libc::openpty(&raw mut ours, &raw mut theirs, null, std::ptr::null_mut(), (&raw mut size).cast())
    };
    assert_eq!(made, 0);
    // SAFETY: both descriptors were just opened and belong to nobody else.
    let (mut screen, theirs) = unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) };
    let mut command = laptime::laptime(folder, words);
    let mut child = command.stdout(theirs).spawn().unwrap();
    // Our copy of the other end is closed, so that reading ends with the child.
    drop(command);
    let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = screen.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..read]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap()
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let text = on_terminal(&fixtures(), "compare --dir . --color never pytorch keras", 44);
    assert!(text.starts_with("keras is not the same training as pytorch:"), "{text}");
    assert!(text.lines().all(|line| line.trim_end().chars().count() <= 44), "{text}");
}
