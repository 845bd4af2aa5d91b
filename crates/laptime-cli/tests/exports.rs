//! `laptime report --export`: what is written where, and what is said of it. Python's tests have the real readers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::fs;

use laptime::{Said, copied, run, write_epochs};

const EVERY_FORMAT: [&str; 5] = ["perfetto", "prometheus", "csv", "parquet", "md"];

fn refused(said: &Said, code: i32) -> &str {
    assert_eq!((said.code, said.out.as_str()), (Some(code), ""));
    &said.err
}

#[test]
fn a_file_is_named_and_a_dash_is_standard_output() {
    let folder = copied();
    for format in EVERY_FORMAT {
        let said = run(folder.path(), &format!("report demo --export {format} out"));
        assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{}", said.err);
        assert_eq!(said.err, format!("{format} of run 20261115T104746Z-f3ad63bb written to out\n"));
        assert!(fs::metadata(folder.path().join("out")).unwrap().len() > 100, "{format}");
    }
    let said = run(folder.path(), "report demo --export prometheus -");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.starts_with("# HELP laptime_run_info "), "{}", said.out);
}

#[test]
fn every_recorded_run_can_be_written_in_every_format() {
    let folder = copied();
    for run_name in ["sizes", "killed", "failed", "pytorch", "keras", "two_ranks"] {
        for format in EVERY_FORMAT {
            let said = run(folder.path(), &format!("report {run_name} --export {format} out"));
            assert_eq!(said.code, Some(0), "{run_name} {format}: {}", said.err);
        }
    }
}

#[test]
fn every_epoch_is_a_row_also_where_a_report_folds_them() {
    let folder = tempfile::tempdir().unwrap();
    write_epochs(folder.path(), 12_345);
    let said = run(folder.path(), "report --dir . --export csv -");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(said.out.lines().count(), 1 + 12_345);
    assert!(said.out.lines().skip(1).all(|line| line.contains(",epoch,")), "{}", said.out);
}

#[test]
fn a_run_that_is_over_is_reported_on_instead_of_followed() {
    let folder = copied();
    let said = run(folder.path(), "report demo --live");
    assert_eq!(said.code, Some(0));
    assert_eq!(said.err, "run 20261115T104746Z-f3ad63bb is not running: this is its report\n");
    assert_eq!(said.out, run(folder.path(), "report demo").out);
}

#[test]
fn what_cannot_be_written_is_said_and_leaves_nothing_behind() {
    let folder = copied();
    let said = |words: &str| run(folder.path(), &format!("report demo {words}"));
    insta::assert_snapshot!(refused(&said("--export perfeto out"), 2), @r"
    error: could not export as `perfeto`
      because: unknown format `perfeto`; available: tensorboard, speedscope,
        collapsed, perfetto, prometheus, csv, parquet, md
      hint: did you mean `--export perfetto`?
    ");
    insta::assert_snapshot!(refused(&said("--export perfetto out --table steps"), 2), @r"
    error: could not export as `perfetto`
      because: only `--export csv` and `--export parquet` write tables
    ");
    insta::assert_snapshot!(refused(&said("--export csv missing/out"), 1), @r"
    error: could not export run 20261115T104746Z-f3ad63bb as csv
      because: No such file or directory (os error 2): missing/out
    ");
    insta::assert_snapshot!(refused(&said("--live --export csv out"), 2), @r"
    error: could not understand `laptime report demo --live --export csv out`
      because: --live cannot be used with --export
      hint: laptime report --help
    ");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
