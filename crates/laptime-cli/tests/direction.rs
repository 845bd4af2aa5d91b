//! The arrows between crates, executable: who may name whom in its manifest.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

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

/// Dependencies that must never reach the process that is recorded.
const NOT_IN_THE_RECORDED_PROCESS: [&str; 9] =
    ["clap", "indicatif", "tokio", "axum", "reqwest", "burn", "rayon", "laptime-profile", "laptime-launch"];

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

#[test]
fn the_recorded_process_stays_light() {
    for name in ["laptime-core", "laptime-store", "laptime-record", "laptime-load", "laptime"] {
        for heavy in NOT_IN_THE_RECORDED_PROCESS {
            assert!(!manifests()[name].contains(heavy), "{name} must not depend on {heavy}");
        }
    }
}

#[test]
fn the_reader_of_manifests_sees_both_ways_to_name_a_dependency() {
    let manifest = "[dependencies]\na.workspace = true\nb = \"1\"\n\n[dependencies.c]\nversion = \"1\"\n[dev-dependencies]\nd = \"1\"\n";
    assert_eq!(dependencies(manifest).into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
}
