//! `laptime report` on recorded runs: the whole text, to the letter.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::process::Stdio;

use laptime::{assert_claimed, assert_closes, copied, fixtures, json, run, write_epochs};
use serde_json::Value;

fn shown(words: &str) -> String {
    let said = run(&fixtures(), &format!("report --dir . {words}"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    said.out
}

#[test]
fn a_finished_training() {
    insta::assert_snapshot!(shown("demo"));
}

#[test]
fn several_sizes_in_one_run_with_the_law_through_them() {
    insta::assert_snapshot!(shown("sizes"));
}

#[test]
fn a_killed_training_names_the_stage_it_died_in() {
    insta::assert_snapshot!(shown("killed"));
}

#[test]
fn a_failed_training_says_why() {
    insta::assert_snapshot!(shown("failed"));
}

#[test]
fn a_pytorch_training_has_its_workers_evaluation_and_checkpoints() {
    insta::assert_snapshot!(shown("pytorch"));
}

#[test]
fn a_keras_training_has_its_validation() {
    insta::assert_snapshot!(shown("keras"));
}

#[test]
fn two_ranks_have_a_row_each() {
    insta::assert_snapshot!(shown("two_ranks"));
}

#[test]
fn a_run_is_found_by_its_name_its_id_or_the_beginning_of_it_and_the_latest_without_one() {
    let folder = copied();
    let shown = |words: &str| run(folder.path(), &format!("report {words}")).out;
    let demo = shown("demo");
    assert!(demo.contains("run kept in .laptime/20261115T104746Z-f3ad63bb"), "{demo}");
    assert_eq!(shown("f3ad"), demo);
    assert_eq!(shown("20261115T104746Z-f3ad63bb"), demo);
    assert_eq!(shown(""), shown("two_ranks"));
    let several = run(folder.path(), "report 20261115T104749Z");
    assert_eq!((several.code, several.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(several.err, @r"
    error: could not report on `20261115T104749Z`
      because: `20261115T104749Z` could be 20261115T104749Z-f1363edf or
        20261115T104749Z-4e9f498d or 20261115T104749Z-f0dda030
      hint: give more of its id; `laptime runs` lists them
    ");
}

#[test]
fn every_recorded_run_closes_and_has_the_fields_users_rely_on() {
    for name in ["demo", "sizes", "killed", "failed", "pytorch", "keras", "two_ranks"] {
        let report = json(&run(&fixtures(), &format!("report --dir . --json {name}")));
        assert_eq!(report["schema"], "laptime.report/1");
        assert_closes(&report);
        assert_claimed(&report);
        let fields = [
            "run",
            "wall_s",
            "ledger",
            "device_ledger",
            "fits",
            "epochs",
            "steps",
            "workers",
            "memory",
            "transfer",
            "time_left",
            "overhead",
            "findings",
            "warnings",
        ];
        for field in fields {
            assert!(report.get(field).is_some(), "{name} has no {field}");
        }
        for epoch in report["epochs"].as_array().unwrap() {
            let sum: f64 = epoch["stages"].as_object().unwrap().values().map(|s| s.as_f64().unwrap()).sum();
            let wall = epoch["wall_s"].as_f64().unwrap();
            assert!((sum / wall - 1.0).abs() < 1e-3, "{name}: an epoch's stages have {sum} s of {wall} s");
        }
    }
}

#[test]
fn what_cannot_be_shown_says_why_and_what_to_type() {
    let refused = |words: &str| {
        let said = run(&fixtures(), words);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""));
        said.err
    };
    insta::assert_snapshot!(refused("report --dir . nothing"), @r"
    error: could not report on `nothing`
      because: no run is called `nothing`
      hint: `laptime runs` lists them
    ");
    insta::assert_snapshot!(refused("report --dir ./nowhere"), @r"
    error: could not report on the latest run
      because: no runs in ./nowhere
      hint: record one with `laptime demo`, or name the folder with --dir DIR
    ");
    insta::assert_snapshot!(refused("report --dir . --jsn"), @r"
    error: could not understand `laptime report --dir . --jsn`
      because: unknown option or argument `--jsn`
      hint: did you mean `--json`?
    ");
}

#[test]
fn what_a_run_measured_is_drawn_over_time() {
    let folder = tempfile::tempdir().unwrap();
    let draw = |run_name: &str, more: &str| {
        let place = folder.path().join(run_name);
        let words = format!("report --dir . {run_name} --svg {} {more}", place.display());
        (run(&fixtures(), &words), place)
    };
    let (said, place) = draw("demo", "");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.starts_with("demo") && said.err.starts_with("5 charts in "), "{}", said.err);
    let chart = |file: &str| std::fs::read_to_string(place.join(file)).unwrap();
    for part in ["<svg", "demo: accuracy over time", "validation accuracy"] {
        assert!(chart("accuracy-over-time.svg").contains(part), "no {part}");
    }
    assert!(chart("loss-over-time.svg").contains("demo: loss over time"));
    for file in ["laps.svg", "step.svg", "ledger.svg"] {
        assert!(chart(file).contains("<svg"), "{file}");
    }
    // Of several fits each has a line and a name.
    let (said, place) = draw("sizes", "--json");
    assert_eq!(json(&said)["schema"], "laptime.report/1");
    let losses = std::fs::read_to_string(place.join("loss-over-time.svg")).unwrap();
    assert!(losses.contains("fit 1") && losses.contains("fit 3"), "{losses}");
    assert!(!place.join("accuracy-over-time.svg").exists());
}

#[test]
fn a_run_without_laps_has_its_ledger_drawn_and_no_picture_of_laps() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "run --name quick -- true").code, Some(0));
    let said = run(folder.path(), "report --svg charts");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.starts_with("1 chart in charts"), "{}", said.err);
    assert!(folder.path().join("charts/ledger.svg").exists());
    let said = run(folder.path(), "report --svg laps.svg");
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert!(said.err.contains("no lap of it began"), "{}", said.err);
    assert!(!folder.path().join("laps.svg").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child =
        laptime::laptime(&fixtures(), "report --dir . sizes").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn colour_comes_only_when_asked_for_and_ascii_only_where_the_locale_has_no_more() {
    assert!(!shown("demo").contains('\u{1b}'));
    assert!(shown("demo --color always").contains('\u{1b}'));
    let ascii = laptime::laptime(&fixtures(), "report --dir . demo").env("LC_ALL", "C").output().unwrap();
    assert!(ascii.stdout.is_ascii(), "{}", String::from_utf8_lossy(&ascii.stdout));
}

#[test]
fn very_many_epochs_are_folded_unless_all_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    write_epochs(folder.path(), 12_000);
    let folded = json(&run(folder.path(), "report --dir . --json"));
    let every = json(&run(folder.path(), "report --dir . --json --epochs all"));
    let (rows, epochs) = (folded["epochs"].as_array().unwrap(), every["epochs"].as_array().unwrap());
    assert_eq!((epochs.len(), rows.len()), (12_000, 6_003));
    assert!(epochs.iter().all(|epoch| epoch["kind"] == "epoch" && epoch["count"] == 1));
    assert!(rows.iter().any(|row| row["kind"] == "folded" && row["count"] == 2));
    let sum = |laps: &[Value], field: &str| laps.iter().map(|lap| lap[field].as_f64().unwrap()).sum::<f64>();
    for field in ["count", "steps", "samples", "wall_s"] {
        assert!((sum(rows, field) / sum(epochs, field) - 1.0).abs() < 1e-12, "{field}");
    }
    assert_closes(&every);
    // All else is the same to the letter.
    let without = |document: &Value| {
        let mut rest = document.clone();
        rest.as_object_mut().unwrap().remove("epochs");
        rest
    };
    assert_eq!(without(&folded), without(&every));
    assert_eq!(folded["fits"][0]["epochs"], 12_000);
    insta::assert_snapshot!(run(folder.path(), "report --dir .").out);
    let listed = json(&run(folder.path(), "runs --dir . --json"));
    assert_eq!((&listed["runs"][0]["epochs"], &listed["runs"][0]["steps"]), (&12_000.into(), &12_000.into()));
}

#[test]
fn all_epochs_of_a_run_that_folds_none_are_the_plain_document() {
    let said = |words: &str| run(&fixtures(), &format!("report --dir . --json {words} sizes")).out;
    assert_eq!(said(""), said("--epochs all"));
    let refused = run(&fixtures(), "report --dir . --epochs all sizes");
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
}
