//! `laptime data`: what it shows of real files, and everything that can go wrong with them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "terminals, and the kernel's counts for the processes under test")]

mod laptime;
#[path = "run/terminal.rs"]
#[allow(dead_code, reason = "keys are all that is needed here")]
mod terminal;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use laptime::{json, laptime, run, said};
use terminal::Terminal;

const NOBODY: u32 = 65_534;

/// A dataset of every kind that is small.
fn dataset() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let columnar = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/columnar");
    for name in ["mixed.parquet", "mixed.arrow", "arrays.npz"] {
        fs::copy(columnar.join(name), data.join(name)).unwrap();
    }
    fs::write(data.join("points.csv"), "x,y\n1,2\n3,\"4\"\n5,6\n").unwrap();
    fs::write(data.join("notes.txt"), "what this is\n").unwrap();
    folder
}

/// The text without the line of this machine's memory.
fn without_machine(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("memory")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_folder_of_many_formats_has_a_row_for_each() {
    let folder = dataset();
    let said = run(folder.path(), "data data");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(without_machine(&said.out));
}

#[test]
fn json_has_every_number_by_its_promised_name() {
    let folder = dataset();
    let document = json(&run(folder.path(), "data data/points.csv --epochs 3 --json"));
    assert_eq!(document["schema"], "laptime.dataset/1");
    assert_eq!(
        (&document["format"], &document["files"], &document["bytes"]),
        (&"csv".into(), &1.into(), &18.into())
    );
    let samples = &document["samples"];
    assert_eq!(
        (&samples["mean"], &samples["exact"], &samples["level"]),
        (&3.0.into(), &true.into(), &0.95.into())
    );
    assert_eq!(
        (&document["sample_bytes_stored"], &document["sample_bytes_decoded"]),
        (&6.0.into(), &8.0.into())
    );
    let epoch = &document["epoch_bytes"];
    assert_eq!((&epoch["files"], &epoch["storage"]), (&18.into(), &4096.into()));
    assert_eq!(epoch["host_to_device"]["mean"], 24.0);
    assert_eq!(document["least"]["device_bytes"], 72.0);
    assert!(document["link"].is_null() && document["transfer_s"].is_null());
    assert!(document["memory"]["available_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn a_disk_that_is_measured_gives_the_least_time_of_an_epoch() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shard.bin"), vec![7; 4 << 20]).unwrap();
    let document = json(&run(folder.path(), "data shard.bin --json"));
    let rate = document["link"]["bytes_per_s"]["mean"].as_f64().unwrap();
    let time = document["transfer_s"]["mean"].as_f64().unwrap();
    assert!((rate * time / f64::from(4 << 20) - 1.0).abs() < 1e-9);
    assert!(document["least"]["first_epoch_s"].as_f64().unwrap() <= time);
    assert!(document["samples"].is_null() && document["epoch_bytes"]["host_to_device"].is_null());
    let skipped = json(&run(folder.path(), "data shard.bin --no-disk --json"));
    assert!(skipped["link"].is_null());
}

#[test]
fn an_empty_folder_is_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let said = run(folder.path(), "data empty");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "empty: no data\nno files in it\n"));
}

#[test]
fn bad_input_is_refused_with_a_hint_and_nothing_is_written() {
    let folder = dataset();
    let lines = [
        "data",
        "data missing",
        "data data missing.csv",
        "data s3://bucket/key data",
        "data http://",
        "data --time data",
        "data --compare data",
        "data https://host/x --probe-bytes 0",
        "data data --epochs 0",
        "data data --dtype int7",
        "data data --size 0",
        "data data --size 1e9",
        "data data --sizes 3",
    ];
    let mut all = String::new();
    for words in lines {
        let said = run(folder.path(), words);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words}");
        assert!(said.err.lines().all(|line| line.chars().count() <= 80), "{}", said.err);
        all += &format!("$ laptime {words}\n{}\n", said.err);
    }
    insta::assert_snapshot!(all.trim_end());
    assert!(!folder.path().join(".laptime").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = dataset();
    let mut child = laptime(folder.path(), "data data --json").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn names_that_are_no_text_are_shown_in_text_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff\x1b[31m.npy");
    fs::write(folder.path().join(name), "no array").unwrap();
    let document = json(&run(folder.path(), "data . --json"));
    assert_eq!(document["troubles"][0]["path"], "./\u{fffd}\u{1b}[31m.npy");
    let said = run(folder.path(), "data .");
    assert_eq!(said.code, Some(0));
    assert!(said.out.contains("./\u{fffd}\\u{1b}[31m.npy is not NPY, despite its name"), "{}", said.out);
}

/// Runs the program as a user who may not read everything; root may.
fn run_as_nobody(folder: &Path, words: &str) -> laptime::Said {
    let mut command = laptime(folder, words);
    // A test that does not run as root is nobody special already.
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        // The program itself may lie where only root can look.
        let program = folder.join("laptime");
        fs::copy(env!("CARGO_BIN_EXE_laptime"), &program).unwrap();
        let mut as_nobody = Command::new(program);
        as_nobody.args(words.split_whitespace()).current_dir(folder).uid(NOBODY).gid(NOBODY);
        command = as_nobody;
    }
    said(command.output().unwrap())
}

#[test]
fn what_may_not_be_read_is_reported_and_the_rest_is_counted() {
    let folder = dataset();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(folder.path(), 0o755);
    let secret = folder.path().join("data/secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("a.csv"), "1,2\n").unwrap();
    fs::write(folder.path().join("data/locked.npy"), "x").unwrap();
    open(&secret, 0);
    open(&folder.path().join("data/locked.npy"), 0);
    let said = run_as_nobody(folder.path(), "data data --no-disk");
    open(&secret, 0o755);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("2 problems:"), "{}", said.out);
    assert!(said.out.contains("data/secret cannot be read: Permission denied"), "{}", said.out);
    assert!(said.out.contains("data/locked.npy cannot be read: Permission denied"), "{}", said.out);
    open(&secret, 0);
    let alone = run_as_nobody(folder.path(), "data data/secret");
    open(&secret, 0o755);
    assert_eq!(alone.code, Some(1), "{}", alone.out);
    assert!(
        alone.err.starts_with("error: could not read the data in data/secret\n  because: "),
        "{}",
        alone.err
    );
}

#[test]
fn ctrl_c_shows_what_is_known_so_far() {
    let folder = tempfile::tempdir().unwrap();
    // A sparse file takes no room and seconds to count.
    fs::File::create(folder.path().join("long.csv")).unwrap().set_len(1 << 40).unwrap();
    let command = &mut laptime(folder.path(), "data long.csv --exact --json");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    // Once it reads the file, its handler stands.
    while !fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut open| {
        open.any(|file| {
            file.is_ok_and(|file| fs::read_link(file.path()).is_ok_and(|to| to.ends_with("long.csv")))
        })
    }) {
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.err);
    let document = json(&said);
    assert_eq!((&document["complete"], &document["files"]), (&false.into(), &1.into()));
    assert_eq!(document["bytes"], 1_u64 << 40);
    assert!(document["samples"].is_null());
}

/// The program on a terminal of that many columns.
fn on_terminal(folder: &Path, words: &str, columns: u32) -> Terminal {
    let mut shell = Command::new("sh");
    let line = format!("stty cols {columns} rows 24; exec \"$0\" {words}");
    shell.args(["-c", &line, env!("CARGO_BIN_EXE_laptime")]).current_dir(folder).env("TERM", "xterm");
    Terminal::start(shell)
}

#[test]
fn a_long_look_shows_how_far_it_is_and_ends_at_ctrl_c_with_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    fs::File::create(folder.path().join("long.csv")).unwrap().set_len(1 << 40).unwrap();
    let mut terminal = on_terminal(folder.path(), "data long.csv --exact", 80);
    terminal.hear("looking: 1 file, 1.0 TiB");
    terminal.say("\x03");
    terminal.hear("stopped early: what is known so far");
    terminal.hear("unknown: stopped before");
    assert_eq!(terminal.end().code(), Some(130));
}

#[test]
fn a_narrow_terminal_leaves_out_columns_and_says_so() {
    let folder = dataset();
    let mut terminal = on_terminal(folder.path(), "data data --no-disk", 44);
    terminal.hear("not shown at this width: to device");
    assert_eq!(terminal.end().code(), Some(0));
}

/// The most memory that any child of this process took, by the kernel's own count.
fn peak_bytes_of_children() -> u64 {
    // SAFETY: all-zero is a valid `rusage`, which `getrusage` fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_maxrss).unwrap() << 10
}

#[test]
fn hostile_files_take_little_memory() {
    let folder = dataset();
    let data = folder.path().join("data");
    // Descriptions that claim to be as large as the file, in files that are large but hold nothing.
    let mut parquet = fs::File::create(data.join("claims.parquet")).unwrap();
    std::io::Write::write_all(&mut parquet, b"PAR1").unwrap();
    parquet.set_len(2 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&parquet, b"\xf0\xff\xff\x7fPAR1", (2 << 30) - 8).unwrap();
    let arrow = fs::File::create(data.join("claims.arrow")).unwrap();
    arrow.set_len(2 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&arrow, b"\xff\xff\xff\xff\0\0\0\x7f", 0).unwrap();
    let npy = fs::File::create(data.join("claims.npy")).unwrap();
    npy.set_len(2 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&npy, b"\x93NUMPY\x02\0\0\0\0\x7f", 0).unwrap();
    let document = json(&run(folder.path(), "data data --no-disk --json"));
    assert_eq!(document["trouble_count"], 3, "{}", document["troubles"]);
    let peak = peak_bytes_of_children();
    assert!((1 << 20..=256 << 20).contains(&peak), "{peak} bytes");
}
