//! `laptime runs`: the list, and removing from it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::fs;
use std::path::Path;

use laptime::{copied, fixtures, json, run};

/// The recorded runs, oldest first.
const ALL: [&str; 7] = ["demo", "sizes", "failed", "killed", "pytorch", "keras", "two_ranks"];

fn names(folder: &Path) -> Vec<String> {
    let list = json(&run(folder, "runs --json"));
    assert_eq!(list["schema"], "laptime.runs/1");
    list["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_shows_every_run_newest_first() {
    insta::assert_snapshot!(run(&fixtures(), "runs --dir .").out);
}

#[test]
fn an_empty_folder_says_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let said = run(folder.path(), "runs");
    assert_eq!(said.code, Some(0));
    insta::assert_snapshot!(said.out, @r"
    no runs yet in .laptime
    hint: `laptime demo` trains a small model and keeps the first one
    ");
    assert!(!folder.path().join(".laptime").exists(), "looking makes nothing");
}

#[test]
fn runs_are_removed_by_name_or_all_that_failed_or_all() {
    let folder = copied();
    assert_eq!(names(folder.path()), ALL);
    let said = run(folder.path(), "runs remove sizes");
    assert_eq!(said.out, "removed 20261115T104749Z-f1363edf\n");
    assert_eq!(names(folder.path()), ["demo", "failed", "killed", "pytorch", "keras", "two_ranks"]);
    run(folder.path(), "runs remove --failed");
    assert_eq!(names(folder.path()), ["demo", "pytorch", "keras", "two_ranks"]);
    run(folder.path(), "runs remove keras two_ranks pytorch");
    let latest = fs::read_link(folder.path().join(".laptime/latest")).unwrap();
    assert_eq!(latest.to_str(), Some("20261115T104746Z-f3ad63bb"));
    run(folder.path(), "runs remove --all");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn one_unknown_name_removes_nothing() {
    let folder = copied();
    let said = run(folder.path(), "runs remove demo nothing");
    assert_eq!(said.code, Some(2));
    assert_eq!(names(folder.path()), ALL);
}

#[test]
fn names_are_never_paths() {
    let folder = copied();
    fs::create_dir(folder.path().join("precious")).unwrap();
    for name in ["../precious", "..", ".", "/", "latest"] {
        assert_eq!(run(folder.path(), &format!("runs remove {name}")).code, Some(2), "{name}");
    }
    assert!(folder.path().join("precious").exists());
    assert_eq!(names(folder.path()), ALL);
}
