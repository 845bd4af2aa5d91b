//! Event files for TensorBoard: who writes them, where, and what is refused. What is in them is read by
//! TensorBoard's own loader in python/tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use laptime::{event_files, fixtures, laptime, run, whole_records, write_epochs};

/// The event files below a folder, with the number of their records.
fn written(folder: &Path) -> Vec<(String, usize)> {
    let shown = |path: &Path| path.strip_prefix(folder).unwrap().display().to_string();
    let records = |path: &Path| whole_records(&fs::read(path).unwrap());
    event_files(folder).iter().map(|path| (shown(path), records(path))).collect()
}

fn export(run_name: &str, folder: &Path) -> laptime::Said {
    run(&fixtures(), &format!("report --dir . {run_name} --export tensorboard {}", folder.display()))
}

#[test]
fn every_fit_of_a_kept_run_is_a_folder_and_a_second_export_replaces_the_first() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let said = export("sizes", folder.path());
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
        assert!(said.out.starts_with("TensorBoard: 12 epochs in "), "{}", said.out);
        let expected = ["fit-1", "fit-2-rows-3000", "fit-3-rows-10000"]
            .map(|fit| (format!("sizes-f1363edf/{fit}/events.out.tfevents.laptime"), 1 + 4));
        assert_eq!(written(folder.path()), expected);
    }
}

#[test]
fn of_very_many_epochs_neighbours_share_a_point() {
    let folder = tempfile::tempdir().unwrap();
    write_epochs(folder.path(), 12_000);
    let said = run(folder.path(), "report --dir . --export tensorboard logs");
    assert!(said.out.starts_with("TensorBoard: 12,000 epochs in "), "{}", said.out);
    assert_eq!(written(&folder.path().join("logs"))[0].1, 1 + 6_003);
}

#[test]
fn the_whole_epochs_of_a_killed_run_are_there_and_a_run_without_any_says_so() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(export("killed", folder.path()).code, Some(0));
    assert_eq!(written(folder.path())[0].1, 1 + 3);
    let said = export("failed", folder.path());
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    insta::assert_snapshot!(said.err, @r"
    error: could not export run 20261115T104749Z-4e9f498d as tensorboard
      because: no epoch of it has ended
    ");
}

#[test]
fn what_cannot_be_exported_so_is_refused() {
    let refused = |words: &str| {
        let said = run(&fixtures(), words);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""));
        said.err
    };
    insta::assert_snapshot!(refused("report --dir . --export tensorbord x"), @r"
    error: could not export as `tensorbord`
      because: unknown format `tensorbord`; available: tensorboard, speedscope,
        collapsed, perfetto, prometheus, csv, parquet, md
      hint: did you mean `--export tensorboard`?
    ");
    assert!(refused("report --dir . --export tensorboard").contains("--export"));
    assert!(refused("report --dir . --export tensorboard x --json").contains("cannot be used with"));
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    // A file in the way stops root as well, unlike permissions.
    fs::write(folder.path().join("board"), "in the way").unwrap();
    for words in ["run --tensorboard board -- touch started", "train mlp --tensorboard board/below"] {
        let said = run(folder.path(), words);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
        assert!(said.err.contains("because: cannot write into the TensorBoard folder board"), "{}", said.err);
    }
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["board"], "nothing was started or written");
}

#[test]
fn a_command_without_epochs_leaves_the_folder_empty_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let said = run(folder.path(), "run --tensorboard board -- true");
    assert_eq!(said.code, Some(0));
    assert!(said.err.contains("TensorBoard: nothing in board, because no epoch ended"), "{}", said.err);
    assert_eq!(written(&folder.path().join("board")), []);
    let quiet = run(folder.path(), "run --quiet --tensorboard board -- true");
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""));
}

#[test]
fn a_training_under_run_and_train_itself_write_every_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_laptime");
    let train = "train mlp --rows 2000 --epochs 6";
    let said = run(folder.path(), &format!("{train} --tensorboard alone"));
    assert_eq!(
        (said.code, said.err.as_str()),
        (Some(0), "TensorBoard: 6 epochs in alone; tensorboard --logdir alone\n")
    );
    let said = run(folder.path(), &format!("run --tensorboard watched -- {program} {train}"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for name in ["alone", "watched"] {
        let written = written(&folder.path().join(name));
        assert_eq!(written.iter().map(|(_, records)| *records).collect::<Vec<_>>(), [1 + 6], "{name}");
    }
}

#[test]
fn a_folder_that_a_running_training_writes_is_not_exported_into() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = laptime(folder.path(), "train mlp --rows 20000 --epochs 100000 --tensorboard board")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while written(&folder.path().join("board")).iter().all(|(_, records)| *records < 2) {
        assert_eq!(child.try_wait().unwrap(), None);
    }
    let said = run(folder.path(), "report --export tensorboard board");
    child.kill().unwrap();
    let heard: Vec<String> =
        BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok).collect();
    child.wait().unwrap();
    assert_eq!(heard, [""; 0]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("because: another laptime writes its event file"), "{}", said.err);
    // Once it is over, the board takes the epochs that the kill left out.
    let before = written(&folder.path().join("board"))[0].1;
    assert_eq!(run(folder.path(), "report --export tensorboard board").code, Some(0));
    assert!(written(&folder.path().join("board"))[0].1 >= before);
}
