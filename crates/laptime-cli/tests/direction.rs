//! The arrows between crates and between their modules, executable: who may name whom.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use modules::{cycles, graph};

/// What each crate may depend on; anything else fails.
const ALLOWED: [(&str, &[&str]); 12] = [
    ("laptime-core", &[]),
    ("laptime-store", &["laptime-core"]),
    ("laptime-record", &["laptime-core", "laptime-store"]),
    ("laptime-analyse", &["laptime-core"]),
    ("laptime-profile", &["laptime-core", "laptime-store"]),
    ("laptime-launch", &["laptime-core", "laptime-profile", "laptime-record", "laptime-store"]),
    ("laptime-load", &["laptime-core", "laptime-record"]),
    ("laptime-data", &["laptime-core", "laptime-load"]),
    ("laptime-train", &["laptime-core", "laptime-load", "laptime-record"]),
    (
        "laptime-cli",
        &[
            "laptime-analyse",
            "laptime-core",
            "laptime-data",
            "laptime-launch",
            "laptime-load",
            "laptime-profile",
            "laptime-record",
            "laptime-store",
            "laptime-train",
        ],
    ),
    (
        "laptime-py",
        &[
            "laptime-analyse",
            "laptime-cli",
            "laptime-core",
            "laptime-launch",
            "laptime-load",
            "laptime-record",
            "laptime-store",
        ],
    ),
    ("laptime", &["laptime-core", "laptime-load", "laptime-record"]),
];

/// All that the recorder may bring into other people's processes, however indirectly; our own crates aside.
const IN_THE_RECORDED_PROCESS: [&str; 17] = [
    "bitflags",
    "cfg-if",
    "crc32c",
    "getrandom",
    "itoa",
    "jiff",
    "jiff-core",
    "libc",
    "linux-raw-sys",
    "memchr",
    "memmap2",
    "rustix",
    "serde",
    "serde_core",
    "serde_json",
    "thiserror",
    "zmij",
];

/// What reading data for a training brings besides.
const WITH_THE_LOADER: [&str; 13] = [
    "csv",
    "csv-core",
    "ppv-lite86",
    "rand",
    "rand_chacha",
    "rand_core",
    "ryu",
    "simd-adler32",
    "zerocopy",
    "zune-core",
    "zune-inflate",
    "zune-jpeg",
    "zune-png",
];

fn crates_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Names after `[dependencies]` in a manifest; also those of a `[dependencies.name]` table.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            inside = table == "dependencies]";
            if let Some(name) = table.strip_prefix("dependencies.") {
                found.insert(name.trim_end_matches(']').to_owned());
            }
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap();
            found.insert(name.to_owned());
        }
    }
    found
}

fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let folders = fs::read_dir(crates_folder()).unwrap().flatten();
    folders
        .map(|folder| {
            let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
            (folder.file_name().into_string().unwrap(), dependencies(&manifest))
        })
        .collect()
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    for (name, dependencies) in manifests() {
        let may =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no arrows: add it to ALLOWED"));
        for dependency in dependencies.iter().filter(|dependency| dependency.starts_with("laptime")) {
            assert!(may.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
    }
}

/// Everything that is linked with a crate of ours on Linux; macros run in the compiler and are not.
fn linked_with(name: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", name, "--edges=normal,no-proc-macro", "--prefix=none"])
        .args(["--target=x86_64-unknown-linux-gnu", "--offline", "--locked"])
        .current_dir(crates_folder())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    tree.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

#[test]
fn the_recorded_process_stays_light() {
    let recorder: BTreeSet<&str> = IN_THE_RECORDED_PROCESS.into_iter().collect();
    let loader: BTreeSet<&str> = recorder.iter().copied().chain(WITH_THE_LOADER).collect();
    for (ours, allowed) in [("laptime-record", &recorder), ("laptime-load", &loader), ("laptime", &recorder)]
    {
        let linked = linked_with(ours);
        let linked: BTreeSet<&str> =
            linked.iter().map(String::as_str).filter(|linked| !linked.starts_with("laptime")).collect();
        let more: Vec<_> = linked.difference(allowed).collect();
        assert!(more.is_empty(), "{ours} brings {more:?} into other people's processes");
        let fewer: Vec<_> = allowed.difference(&linked).collect();
        assert!(fewer.is_empty(), "{ours} no longer needs {fewer:?}");
    }
}

#[test]
fn the_top_modules_of_a_crate_form_no_cycle() {
    for name in manifests().keys() {
        let found = cycles(&graph(&crates_folder().join(name).join("src")));
        let ways: Vec<&str> = found.iter().map(|(_, way)| way.as_str()).collect();
        assert!(ways.is_empty(), "{name}: {ways:?}");
    }
}

#[test]
fn a_cycle_is_found_however_it_is_written() {
    let planted = [
        ("lib.rs", "mod a;\nmod b;\npub mod c;\nmod d;\n#[cfg(test)]\nmod e;\npub use d::{Thing, other};\n"),
        ("a.rs", "//! crate::d\nuse crate::{b::B, c};\n#[cfg(test)]\nmod tests { use crate::d::D; }\n"),
        ("b.rs", "mod inner;\nconst TEXT: &str = \"crate::a\";\n"),
        ("b/inner.rs", "fn f() -> super::super::c::C { todo!() }\n"),
        ("c/mod.rs", "fn f() { crate::Thing::new(); }\n"),
        ("d.rs", "use super::a;\n"),
        ("e.rs", "use crate::a;\n"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (path, source) in planted {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, source).unwrap();
    }
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let graph_of = graph(folder.path());
    assert_eq!(graph_of["a"], set(&["b", "c"]));
    assert_eq!(graph_of["b"], set(&["c"]));
    assert_eq!(cycles(&graph_of), [(set(&["a", "b", "c", "d"]), "a → c → d → a".to_owned())]);
    fs::write(folder.path().join("d.rs"), "").unwrap();
    assert_eq!(cycles(&graph(folder.path())), []);
}

#[test]
fn the_reader_of_manifests_sees_both_ways_to_name_a_dependency() {
    let manifest = "[dependencies]\na.workspace = true\nb = \"1\"\n\n[dependencies.c]\nversion = \"1\"\n[dev-dependencies]\nd = \"1\"\n";
    assert_eq!(dependencies(manifest).into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
}
