//! `laptime train` and `laptime demo`: whole trainings, and everything that can be typed wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use laptime::{assert_claimed, assert_closes, json, run};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn every_model_trains_closes_its_ledger_and_learns() {
    for (words, epochs) in [("linear", 10), ("mlp --epochs 3", 3), ("cnn --epochs 2 --validate 0.2", 2)] {
        let folder = folder();
        let report = json(&run(folder.path(), &format!("train {words} --json")));
        assert_closes(&report);
        assert_claimed(&report);
        assert_eq!(report["run"]["status"], "finished");
        assert_eq!(report["run"]["engine"], "burn 0.22.1 flex");
        assert_eq!(report["run"]["threads"], 1);
        let all = report["epochs"].as_array().unwrap();
        assert_eq!(all.len(), epochs, "{words}");
        let loss = |at: usize| all[at]["loss"].as_f64().unwrap();
        assert!(loss(epochs - 1) < loss(0), "{words} does not learn");
    }
}

#[test]
fn the_demo_shows_its_report_and_the_report_shows_it_again() {
    let folder = folder();
    let demo = run(folder.path(), "demo");
    assert_eq!(demo.code, Some(0), "{}", demo.err);
    for part in ["demo · finished · 8 epochs", "= wall time", "verdict: ", "run kept in .laptime/", "val acc"]
    {
        assert!(demo.out.contains(part), "no {part:?} in\n{}", demo.out);
    }
    assert_eq!(run(folder.path(), "report").out, demo.out);
    assert!(demo.out.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn several_sizes_train_in_one_run() {
    let folder = folder();
    let report = json(&run(folder.path(), "train mlp --rows 500,1000,2000 --epochs 3 --json"));
    let rows: Vec<_> =
        report["fits"].as_array().unwrap().iter().map(|fit| fit["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [500, 1000, 2000]);
    assert_eq!(report["law"]["x"], "rows");
    assert!(report["law"]["slope"]["mean"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_file_is_read_split_and_trained_on() {
    let folder = folder();
    let mut text = String::from("a,b,y\n");
    for row in 0..500 {
        let (a, b) = (f64::from(row % 17) / 17.0, f64::from(row % 23) / 23.0);
        text += &format!("{a},{b},{}\n", a - 2.0 * b);
    }
    fs::write(folder.path().join("points.csv"), &text).unwrap();
    let report = json(&run(folder.path(), "train mlp --data points.csv --validate 0.2 --epochs 4 --json"));
    assert_eq!(report["fits"][0]["rows"], 400);
    assert_eq!(report["fits"][0]["settings"]["features"], "2");
    assert!(report["transfer"]["file_read_bytes"].as_u64().unwrap() >= text.len() as u64);
    assert!(report["epochs"][3]["metrics"]["validation_loss"].as_f64().is_some());
}

/// What was typed wrong, and what is said. Nothing may be written.
#[test]
fn bad_input_is_refused_with_a_hint_and_nothing_is_written() {
    let folder = folder();
    fs::write(folder.path().join("text.csv"), "a,b\n1,2\n3,x\n").unwrap();
    fs::write(folder.path().join("empty.csv"), "").unwrap();
    let typed = [
        "train mpl",
        "train",
        "train mlp --rows 0",
        "train mlp --rows -5",
        "train mlp --rows 10 --batch 32",
        "train mlp --batch 0",
        "train mlp --epochs 0",
        "train mlp --lr nan",
        "train mlp --validate 1",
        "train mlp --optimizer adm",
        "train cnn --kernel 40",
        "train cnn --data text.csv",
        "train mlp --data text.csv",
        "train mlp --data empty.csv",
        "train mlp --data missing.csv",
        "train mlp --data text.txt",
        "train mlp --rows 1e99",
        "trian mlp",
        "train mlp --epoch 3",
    ];
    let mut all = String::new();
    for words in typed {
        let said = run(folder.path(), words);
        assert_eq!(said.code, Some(2), "{words}: {}", said.err);
        assert_eq!(said.out, "", "{words}");
        assert!(said.err.lines().all(|line| line.chars().count() <= 80), "{}", said.err);
        all += &format!("$ laptime {words}\n{}\n", said.err);
    }
    insta::assert_snapshot!(all);
    assert!(!folder.path().join(".laptime").exists());
}

#[test]
fn a_loss_that_is_no_number_ends_the_training_and_keeps_the_run_as_failed() {
    let folder = folder();
    let said = run(folder.path(), "train mlp --lr 1e20");
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("because: the loss became"), "{}", said.err);
    assert!(said.err.contains("kept: the run as failed, in .laptime/"), "{}", said.err);
    let report = json(&run(folder.path(), "report --json"));
    assert_eq!(report["run"]["status"], "failed");
    assert_closes(&report);
}

/// Larger than what is read into memory, so the bad row is met in mid-training.
fn write_large_csv(path: &Path, rows: u32, bad_row: u32) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for row in 0..rows {
        let text = if row == bad_row { "oops,1\n" } else { "1,2\n" };
        file.write_all(text.as_bytes()).unwrap();
    }
}

#[test]
fn a_bad_row_in_mid_training_ends_it_and_keeps_the_run_as_failed() {
    let folder = folder();
    let rows = 9_000_000;
    write_large_csv(&folder.path().join("large.csv"), rows, rows - 1_000_000);
    let said = run(folder.path(), "train linear --data large.csv --batch 65536 --epochs 1");
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("`oops` is not a number"), "{}", said.err);
    assert!(said.err.contains("line 8000001"), "{}", said.err);
    let report = json(&run(folder.path(), "report --json"));
    assert_eq!(report["run"]["status"], "failed");
    assert_eq!(report["epochs"][0]["complete"], false);
    let peak = report["memory"]["peak_rss_bytes"].as_u64().unwrap();
    assert!(peak < 150 << 20, "a streamed file took {peak} bytes of memory");
    assert_closes(&report);
}
