//! `laptime pack`: what it shows of real sources, and everything that can go wrong with them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use laptime::{json, laptime, run, said};
use laptime_load::pack::Pack;

const CSV: &str = "a,b,price\n1,2,3\n4,5,6\n7,8,9\n";

fn folder_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

/// The text without what a machine is fast at.
fn without_times(text: &str) -> String {
    let timed = |line: &str| {
        if line.starts_with("time ") { "time        [TIME]".to_owned() } else { line.to_owned() }
    };
    let lines: Vec<String> = text.lines().map(timed).collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    lines.join("\n")
}

/// What is left in a folder, hidden files too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The smallest JPEG that begins like one; what is not decoded is not looked into.
const JPEG: &[u8] = b"\xff\xd8\xff\xe0 pixels";

#[test]
fn a_csv_file_becomes_a_pack_that_says_what_to_type_next() {
    let folder = folder_with(&[("train.csv", CSV.as_bytes())]);
    let said = run(folder.path(), "pack train.csv");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(without_times(&said.out));
    assert_eq!(names(folder.path()), ["train.csv", "train.pack"]);
    let pack = Pack::open(folder.path().join("train.pack")).unwrap();
    assert_eq!(
        (pack.rows(), pack.schema().columns[0].feature_names.as_slice()),
        (3, &["a".into(), "b".into()][..])
    );
}

#[test]
fn json_has_every_number_by_its_promised_name() {
    let folder = folder_with(&[("train.csv", CSV.as_bytes())]);
    let document =
        json(&run(folder.path(), "pack train.csv -o out.pack --target a --target-type int64 --json"));
    assert_eq!(document["schema"], "laptime.pack/1");
    assert_eq!(
        (&document["pack"], &document["rows"], &document["resumed_rows"]),
        (&"out.pack".into(), &3.into(), &0.into())
    );
    assert_eq!(document["columns"][1]["dtype"], "int64");
    assert_eq!(document["columns"][0]["feature_names"], serde_json::json!(["b", "price"]));
    let checked = json(&run(folder.path(), "pack --verify out.pack --json"));
    assert_eq!((&checked["intact"], &checked["rows"]), (&true.into(), &3.into()));
}

#[test]
fn what_is_there_is_replaced_only_when_asked() {
    let folder = folder_with(&[("train.csv", CSV.as_bytes())]);
    assert_eq!(run(folder.path(), "pack train.csv").code, Some(0));
    let refused = run(folder.path(), "pack train.csv");
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(refused.err, @r"
    error: could not pack train.csv
      because: there is already something at train.pack
      hint: --force replaces it; -o NAME.pack writes another one
    ");
    fs::write(folder.path().join("train.csv"), "1,2\n").unwrap();
    assert_eq!(run(folder.path(), "pack train.csv --force").code, Some(0));
    assert_eq!(Pack::open(folder.path().join("train.pack")).unwrap().rows(), 1);
    assert_eq!(names(folder.path()), ["train.csv", "train.pack"]);
}

#[test]
fn only_a_pack_is_ever_replaced_and_a_slash_after_its_name_changes_nothing() {
    let folder = folder_with(&[("train.csv", CSV.as_bytes()), ("photos/cat/1.jpg", JPEG)]);
    for target in ["photos", "photos/", ".", "train.csv", "photos/cat/.."] {
        let refused = run(folder.path(), &format!("pack train.csv --force -o {target}"));
        assert_eq!(refused.code, Some(2), "{target}: {}", refused.err);
        assert!(refused.err.contains("something that is no pack"), "{}", refused.err);
    }
    assert_eq!(names(folder.path()), ["photos", "train.csv"]);
    assert_eq!(fs::read(folder.path().join("photos/cat/1.jpg")).unwrap(), JPEG);
    for _ in 0..2 {
        assert_eq!(run(folder.path(), "pack train.csv --force -o train.pack/").code, Some(0));
        assert_eq!(Pack::open(folder.path().join("train.pack")).unwrap().rows(), 3);
        assert_eq!(names(folder.path()), ["photos", "train.csv", "train.pack"]);
    }
}

#[test]
fn options_that_say_nothing_about_verifying_are_refused() {
    let folder = folder_with(&[("train.csv", CSV.as_bytes())]);
    assert_eq!(run(folder.path(), "pack train.csv").code, Some(0));
    for option in [
        "--decode",
        "--target a",
        "--target-type int64",
        "--allow-nan",
        "--map a.py:b",
        "--threads 2",
        "--force",
    ] {
        assert_eq!(
            run(folder.path(), &format!("pack --verify train.pack {option}")).code,
            Some(2),
            "{option}"
        );
    }
}

#[test]
fn more_shards_than_may_be_open_at_once_are_packed() {
    let shard = |row: usize| {
        let (name, body) = (format!("{row:04}.cls"), row.to_string());
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
        header[156] = b'0';
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header.extend(body.as_bytes());
        header.resize(1024, 0);
        header
    };
    let folder = folder_with(&[]);
    for row in 0..100 {
        fs::write(folder.path().join(format!("s-{row:03}.tar")), shard(row)).unwrap();
    }
    let mut command = laptime(folder.path(), "");
    let program = command.get_program().to_owned();
    command = std::process::Command::new("sh");
    command
        .current_dir(folder.path())
        .arg("-c")
        .arg("ulimit -n 32; exec \"$0\" pack s-*.tar -o s.pack")
        .arg(program);
    let ended = said(command.output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(Pack::open(folder.path().join("s.pack")).unwrap().rows(), 100);
}

#[test]
fn arrays_images_and_shards_are_packed_with_their_labels() {
    let npy = |code: &str, shape: &str, data: &[u8]| {
        let header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}\n");
        [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
    };
    let (x, y) = (npy("<f4", "(2, 3)", &[0; 24]), npy("<i8", "(2,)", &[1; 16]));
    let folder = folder_with(&[
        ("x.npy", &x),
        ("y.npy", &y),
        ("images/cat/1.jpg", JPEG),
        ("images/dog/2.jpg", JPEG),
        ("images/dog/3.PNG", b"\x89PNG\r\n\x1a\n pixels"),
        ("images/dog/notes.txt", b"wolf?"),
    ]);
    insta::assert_snapshot!(without_times(&run(folder.path(), "pack x.npy").out));
    insta::assert_snapshot!(without_times(&run(folder.path(), "pack images").out));
    let pack = Pack::open(folder.path().join("images.pack")).unwrap();
    assert_eq!(pack.schema().columns[1].feature_names, ["cat", "dog"]);
}

#[test]
fn bad_sources_are_refused_with_a_hint_and_nothing_is_left() {
    let folder = folder_with(&[
        ("text.csv", b"a,b\n1,2\n3,x\n"),
        ("ragged.csv", b"a,b\n1,2\n3\n"),
        ("label.csv", b"a,b\n1,2\n3,\n"),
        ("nan.csv", b"a,b\nnan,2\n"),
        ("header.csv", b"a,b\n"),
        ("notes.txt", b"hi"),
        ("empty/.hidden", b""),
        ("images/cat/1.jpg", b"no image"),
        ("mixed/cat/1.jpg", JPEG),
        ("mixed/2.jpg", JPEG),
        ("broken.npz", b"PK\x03\x04"),
        ("broken.tar", &[7; 512]),
        ("photos/1.jpg", JPEG),
        ("data.py", b""),
        ("train.csv", CSV.as_bytes()),
    ]);
    let before = names(folder.path());
    let lines = [
        "pack",
        "pack missing.csv",
        "pack text.csv",
        "pack ragged.csv",
        "pack label.csv",
        "pack nan.csv",
        "pack header.csv",
        "pack notes.txt",
        "pack empty",
        "pack images",
        "pack mixed",
        "pack broken.npz",
        "pack broken.tar",
        "pack photos --decode --size 32",
        "pack photos --target a",
        "pack train.csv --decode",
        "pack train.csv --size 3",
        "pack train.csv --target rooms",
        "pack train.csv --map prep",
        "pack train.csv text.csv",
        "pack data.py",
        "pack --verify missing.pack",
        "pack --verify images",
    ];
    let mut all = String::new();
    for line in lines {
        let said = run(folder.path(), line);
        assert!(said.code == Some(1) || said.code == Some(2), "{line}: {:?}", said.code);
        assert!(
            said.out.is_empty() && said.err.lines().all(|line| line.chars().count() <= 80),
            "{}",
            said.err
        );
        all += &format!("$ laptime {line}\n{}\n", said.err);
    }
    assert_eq!(names(folder.path()), before);
    insta::assert_snapshot!(all);
}

#[test]
fn damage_is_named_by_file_batch_and_samples() {
    let folder = folder_with(&[("train.csv", CSV.as_bytes())]);
    run(folder.path(), "pack train.csv");
    let intact = run(folder.path(), "pack --verify train.pack");
    assert_eq!(intact.code, Some(0));
    assert!(intact.out.starts_with("train.pack: intact, 3 samples, 1.3 KiB checked in "), "{}", intact.out);
    let part = folder.path().join("train.pack/part-00000.arrow");
    fs::set_permissions(&part, fs::Permissions::from_mode(0o644)).unwrap();
    let mut bytes = fs::read(&part).unwrap();
    let seven = 7.0_f32.to_le_bytes();
    let place = bytes.windows(4).position(|window| window == seven).unwrap();
    bytes[place] ^= 1;
    fs::write(&part, bytes).unwrap();
    let damaged = run(folder.path(), "pack --verify train.pack");
    assert_eq!((damaged.code, damaged.out.as_str()), (Some(1), ""));
    insta::assert_snapshot!(damaged.err, @r"
    error: could not verify train.pack
      because: damaged: record batch 0, samples 0 to 2: train.pack/part-00000.arrow
      hint: pack the source again, or copy the pack again if it was copied
    ");
    let document = said(laptime(folder.path(), "pack --verify train.pack --json").output().unwrap());
    assert_eq!((document.code, &json(&document)["intact"]), (Some(1), &false.into()));
}

#[test]
fn a_model_trains_on_a_pack_as_on_its_source() {
    let rows: String = (0..400).map(|row| format!("{},{},{}\n", row % 7, row % 5, row % 2)).collect();
    let folder = folder_with(&[("train.csv", rows.as_bytes())]);
    assert_eq!(run(folder.path(), "pack train.csv").code, Some(0));
    let losses = |data: &str| -> Vec<String> {
        let report =
            json(&run(folder.path(), &format!("train mlp --epochs 2 --seed 3 --data {data} --json")));
        let epochs = report["epochs"].as_array().unwrap();
        epochs.iter().map(|epoch| epoch["loss"].to_string()).collect()
    };
    let of_csv = losses("train.csv");
    assert_eq!(of_csv.len(), 2);
    assert!(!of_csv.contains(&"null".to_owned()), "{of_csv:?}");
    assert_eq!(of_csv, losses("train.pack"));
}
