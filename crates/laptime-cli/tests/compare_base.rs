//! `laptime compare --base`: a command in a git revision against the working tree, in a repository made here.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "a signal is sent to the program")]

mod laptime;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use laptime::{Said, json, said};

/// Counts to the number in `work.txt`; without a process of its own, so that it is timed and nothing else.
const SCRIPT: &str = "read n < ${1:-work.txt}\nexec awk -v n=$n 'BEGIN { for (i = 0; i < n; i++) x += i }'\n";
/// Takes about 60 ms, four times as much a quarter of a second.
const WORK: u32 = 2_000_000;

/// A repository whose `main` counts so far.
fn repository(work: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("inner")).unwrap();
    fs::write(at("run.sh"), SCRIPT).unwrap();
    fs::write(at("inner/run.sh"), SCRIPT).unwrap();
    fs::write(at("work.txt"), format!("{work}\n")).unwrap();
    fs::write(at("inner/work.txt"), format!("{work}\n")).unwrap();
    fs::write(at(".gitignore"), "data/\n.laptime/\n").unwrap();
    git(folder.path(), "init --quiet --initial-branch main");
    git(folder.path(), "add --all");
    git(folder.path(), "-c user.name=a -c user.email=a@b commit --quiet --message first");
    folder
}

fn git(folder: &Path, words: &str) -> String {
    let output = Command::new("git").args(words.split(' ')).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The program, with a folder of its own for temporary files.
fn compare_command(folder: &Path, words: &str) -> Command {
    let mut command = laptime::laptime(folder, &format!("compare {words}"));
    command.env("TMPDIR", temporary(folder)).stdin(Stdio::null());
    command
}

fn temporary(folder: &Path) -> PathBuf {
    let temporary =
        std::env::temp_dir().join(format!("{}-tmp", folder.file_name().unwrap().to_str().unwrap()));
    fs::create_dir_all(&temporary).unwrap();
    temporary
}

/// Runs it; nothing is left of the temporary folder, and the repository is as it was.
fn compare(folder: &Path, words: &str) -> Said {
    let index = || fs::read(folder.join(".git/index")).ok();
    let state = || (index(), fs::read(folder.join(".git/HEAD")).ok(), fs::read(folder.join("work.txt")).ok());
    let before = state();
    let said = said(compare_command(folder, words).output().unwrap());
    assert_eq!(before, state());
    assert_empty(&temporary(folder));
    said
}

fn assert_empty(temporary: &Path) {
    let left: Vec<_> = fs::read_dir(temporary).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    fs::remove_dir(temporary).unwrap();
}

fn refused(said: &Said) -> &str {
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    &said.err
}

#[test]
fn a_tree_much_slower_fails_and_the_trial_is_kept() {
    let folder = repository(WORK);
    fs::write(folder.path().join("work.txt"), format!("{}\n", 4 * WORK)).unwrap();
    let said = compare(folder.path(), "--base main --fail-if-slower 5% -- sh run.sh");
    assert_eq!(said.code, Some(3), "{}\n{}", said.out, said.err);
    assert!(said.out.starts_with("this tree is "), "{}", said.out);
    assert!(said.out.contains("× slower (95 %:"), "{}", said.out);
    assert!(said.out.contains("failed: slower by "), "{}", said.out);
    assert!(said.out.contains(", limit 5 %"), "{}", said.out);
    assert!(said.out.contains(" pairs in turns: main "), "{}", said.out);
    assert!(said.out.contains("main against itself "), "{}", said.out);
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    assert!(said.err.contains("this tree has changes that are not committed"), "{}", said.err);
    assert!(said.err.contains("pair 1: main "), "{}", said.err);
    let trials: Vec<_> = fs::read_dir(folder.path().join(".laptime/trials")).unwrap().flatten().collect();
    let kept = fs::read_to_string(trials[0].path().join("trial.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!((&kept["a"]["name"], &kept["measure"]), (&"main".into(), &"total".into()));
    assert!(kept["pairs"].as_array().unwrap().len() >= 5 && kept["aa_s"].is_array(), "{kept}");
}

#[test]
fn a_tree_much_faster_passes_with_the_fields_programs_rely_on() {
    let folder = repository(4 * WORK);
    fs::write(folder.path().join("work.txt"), format!("{WORK}\n")).unwrap();
    git(folder.path(), "-c user.name=a -c user.email=a@b commit --quiet --all --message second");
    let said = compare(folder.path(), "--base HEAD~1 --fail-if-slower 5% --quiet --json -- sh run.sh");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    let found = json(&said);
    assert_eq!(found["schema"], "laptime.compare/1");
    assert_eq!((&found["timed"], &found["a"]["name"]), (&"run".into(), &"HEAD~1".into()));
    let gate = &found["gate"];
    assert_eq!((&gate["met"], &gate["warns"]), (&true.into(), &false.into()));
    let pairs = &found["pairs"];
    let count = pairs["count"].as_u64().unwrap();
    assert_eq!((&pairs["measure"], &pairs["decided"]), (&"total".into(), &true.into()));
    for side in ["a_s", "b_s"] {
        assert_eq!(pairs[side].as_array().unwrap().len() as u64, count);
    }
    assert!(found["aa"]["ratio"].as_f64().unwrap() > 0.0);
    assert!(found["ratio"]["mean"].as_f64().unwrap() < 1.0);
}

#[test]
fn markdown_has_the_answer_a_table_and_the_details_folded() {
    let folder = repository(WORK);
    fs::write(folder.path().join("work.txt"), format!("{}\n", 4 * WORK)).unwrap();
    let said = compare(folder.path(), "--base main --fail-if-slower 5% --md --quiet -- sh run.sh");
    assert_eq!(said.code, Some(3), "{}", said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("### laptime: this tree is "), "{}", said.out);
    assert!(lines[2].starts_with("**failed: slower by "), "{}", said.out);
    assert_eq!(lines[4], "| time | main | this tree | ratio (95 %) |");
    assert!(lines[6].starts_with("| whole command, mean of "), "{}", said.out);
    assert!(
        said.out.contains("<details><summary>") && said.out.trim_end().ends_with("</details>"),
        "{}",
        said.out
    );
}

#[test]
fn what_git_does_not_keep_is_linked_and_nothing_else_of_the_tree_is_seen() {
    let folder = repository(WORK);
    fs::create_dir_all(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/rows.csv"), "1\n").unwrap();
    fs::write(folder.path().join("inner/untracked.txt"), "2\n").unwrap();
    fs::write(folder.path().join("here.sh"), "").unwrap();
    git(folder.path(), "add here.sh");
    // Whether a file that git does not keep is there, and one that only this tree has is not.
    let script = "test -f data/rows.csv && test -f inner/untracked.txt && test ! -e .git -o -d .git && pwd >> data/seen.txt";
    fs::write(folder.path().join("data/look.sh"), script).unwrap();
    let said = compare(folder.path(), "--base main --pairs 2 --quiet -- sh data/look.sh");
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
    let seen = fs::read_to_string(folder.path().join("data/seen.txt")).unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (here, there): (Vec<&str>, Vec<&str>) = seen.lines().partition(|line| Path::new(line) == top);
    assert_eq!((here.len(), there.len()), (2, 4), "{seen}");
    assert!(there.iter().all(|line| line.contains("laptime-base-")), "{seen}");
    assert!(said.out.contains("2 pairs in turns"), "{}", said.out);
}

#[test]
fn a_command_in_a_folder_of_the_tree_runs_in_that_folder_of_the_revision() {
    let folder = repository(WORK);
    let inner = folder.path().join("inner");
    fs::write(inner.join("work.txt"), format!("{}\n", 4 * WORK)).unwrap();
    let said = compare(&inner, "--base main --fail-if-slower 5% --quiet -- sh run.sh work.txt");
    assert_eq!(said.code, Some(3), "{}\n{}", said.out, said.err);
    fs::create_dir(folder.path().join("new")).unwrap();
    let said = compare(&folder.path().join("new"), "--base main -- sh ../run.sh");
    assert!(refused(&said).contains("because: main has no folder new"), "{}", said.err);
}

#[test]
fn what_cannot_be_run_in_turns_says_why_and_what_to_type() {
    let folder = repository(WORK);
    let compare = |words: &str| compare(folder.path(), words);
    insta::assert_snapshot!(refused(&compare("--base nowhere -- sh run.sh")), @r"
    error: could not compare with `nowhere`
      because: git knows no revision `nowhere`
      hint: `git branch --all` lists branches; a shallow checkout needs `git fetch
        --unshallow`
    ");
    insta::assert_snapshot!(refused(&compare("--base main")), @r"
    error: could not compare
      because: --base needs a command to run, and there is none after `--`
      hint: laptime compare --base main -- python train.py
    ");
    insta::assert_snapshot!(refused(&compare("--base main sh run.sh")), @r"
    error: could not compare
      because: --base runs a command after `--`; kept runs are compared without
        --base
      hint: laptime compare --base main -- sh run.sh
    ");
    insta::assert_snapshot!(refused(&compare("-- sh run.sh")), @r"
    error: could not compare
      because: a command is compared with what it was in a revision, and --base is
        missing
      hint: laptime compare --base main -- python train.py
    ");
    insta::assert_snapshot!(refused(&compare("")), @r"
    error: could not compare
      because: A and B are missing, or --base with a command
      hint: laptime compare --help
    ");
    let own = folder.path().canonicalize().unwrap().join("run.sh");
    let said = compare(&format!("--base main -- sh {}", own.display()));
    assert!(refused(&said).contains("is the file of this tree, also for the"), "{}", said.err);
    let said = compare("--base main -- no-such-program");
    assert_eq!(said.code, Some(127), "{}", said.err);
}

#[test]
fn a_folder_without_a_repository_and_a_machine_without_git_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("work.txt"), "1\n").unwrap();
    let said = compare(folder.path(), "--base main -- sh -c true");
    assert!(refused(&said).contains("because: this folder is in no git repository"), "{}", said.err);
    let mut command = compare_command(folder.path(), "--base main -- sh -c true");
    let said = laptime::said(command.env("PATH", folder.path()).output().unwrap());
    assert!(said.err.contains("no such command in PATH: git"), "{}", said.err);
    assert_empty(&temporary(folder.path()));
}

#[test]
fn a_command_that_fails_on_one_side_is_named_with_its_last_line() {
    let folder = repository(WORK);
    fs::write(folder.path().join("run.sh"), "echo it broke >&2; exit 7\n").unwrap();
    let said = compare(folder.path(), "--base main --quiet -- sh run.sh");
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert!(said.err.starts_with("error: could not time `sh run.sh` in this tree"), "{}", said.err);
    assert!(said.err.contains("because: exit code 7: it broke"), "{}", said.err);
    let said = compare(folder.path(), "--base main --quiet --stage forward -- awk BEGIN{}");
    assert!(said.err.contains("error: could not time `awk 'BEGIN{}'` in `main`"), "{}", said.err);
    assert!(said.err.contains("because: its run has no steps, so no stage `forward`"), "{}", said.err);
}

#[test]
fn a_request_to_end_leaves_nothing_behind() {
    let folder = repository(WORK);
    fs::write(folder.path().join("data.sh"), "").unwrap();
    fs::create_dir_all(folder.path().join("data")).unwrap();
    // Says that it runs, and then waits for its end.
    fs::write(folder.path().join("data/wait.sh"), "echo > data/began.txt\nexec sleep 600\n").unwrap();
    let mut child = compare_command(folder.path(), "--base main --quiet -- sh data/wait.sh")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !folder.path().join("data/began.txt").exists() {
        std::thread::yield_now();
    }
    // SAFETY: the child is not waited for yet, so the number is its own.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_empty(&temporary(folder.path()));
}
