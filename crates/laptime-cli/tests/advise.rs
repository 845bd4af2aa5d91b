//! `laptime advise` on recorded runs and on small ones that are made here.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::path::Path;

use laptime::{Said, fixtures, json, run};

fn train(folder: &Path, words: &str) {
    let said = run(folder, &format!("train mlp {words} --quiet"));
    assert_eq!(said.code, Some(0), "{}", said.err);
}

fn refused(said: &Said) -> &str {
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    &said.err
}

#[test]
fn without_any_run_the_machine_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let said = run(folder.path(), "advise");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.starts_with("no run yet, so this is about the machine"), "{}", said.out);
    assert!(said.out.contains("checked and fine: "), "{}", said.out);
    let found = json(&run(folder.path(), "advise --json"));
    assert_eq!(found["schema"], "laptime.machine_advice/1");
    assert!(found["cpus"].as_f64().is_some_and(|cpus| cpus > 0.0));
    assert!(!folder.path().join(".laptime").exists(), "looking leaves nothing behind");
}

#[test]
fn the_machine_is_looked_at_when_asked_for_although_there_are_runs() {
    let said = run(&fixtures(), "advise --dir . --machine");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(!said.out.contains("no run yet"), "{}", said.out);
    assert!(refused(&run(&fixtures(), "advise --dir . pytorch --machine")).contains("--machine"));
}

#[test]
fn checkpoints_that_take_most_of_the_time_are_the_first_item() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "--rows 200 --epochs 6 --checkpoint-every 1");
    let said = run(folder.path(), "advise");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.starts_with("1  save checkpoints less often"), "{}", said.out);
    let found = json(&run(folder.path(), "advise --json"));
    assert_eq!(
        (&found["schema"], &found["items"][0]["id"]),
        (&"laptime.advice/1".into(), &"checkpoint".into())
    );
    let speedup = &found["items"][0]["speedup"];
    assert!(speedup["low"].as_f64() > Some(1.0) && speedup["high"].as_f64() > speedup["low"].as_f64());
}

#[test]
fn an_item_that_laptime_cannot_change_is_proved_by_a_second_command() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "--rows 200 --epochs 6 --checkpoint-every 1");
    let err = run(folder.path(), "advise --prove checkpoint");
    let err = refused(&err);
    assert!(err.contains("could not prove `checkpoint` by itself") && err.contains("--changed"), "{err}");
}

#[test]
fn an_unknown_run_and_an_unknown_item_are_refused_with_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "--rows 200 --epochs 6 --checkpoint-every 1");
    assert!(refused(&run(folder.path(), "advise nowhere")).contains("could not advise on `nowhere`"));
    let said = run(folder.path(), "advise --prove sideways");
    let err = refused(&said);
    assert!(err.contains("could not prove `sideways`") && err.contains("1 (checkpoint)"), "{err}");
}

#[test]
fn an_open_quote_in_the_changed_command_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), "--rows 200 --epochs 6 --checkpoint-every 1");
    let said = run(folder.path(), "advise --prove checkpoint --changed 'laptime");
    assert!(refused(&said).contains("quote"), "{}", said.err);
}

#[test]
fn every_recorded_run_can_be_advised_on() {
    for entry in std::fs::read_dir(fixtures()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().join("run.json").exists() {
            let said = run(&fixtures(), &format!("advise --dir . {name}"));
            assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{name}");
            assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{name}: {}", said.out);
        }
    }
}
