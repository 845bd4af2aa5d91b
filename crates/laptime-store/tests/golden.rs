//! Logs of every version ever released stay readable, and this version writes the bytes it always wrote.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod story;

use std::path::{Path, PathBuf};

const SEGMENT: &str = "rank-00000.000001.ltlog";

fn golden(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs").join(version)
}

#[test]
fn version_1_reads_as_it_was_written() {
    assert_eq!(story::read(&golden("v1")), story::expected_of_version_1());
}

#[test]
fn version_2_reads_as_it_was_written() {
    assert_eq!(story::read(&golden("v2")), story::expected_of_version_2());
}

#[test]
fn version_3_reads_as_it_was_written() {
    assert_eq!(story::read(&golden("v3")), story::expected_of_version_3());
}

#[test]
fn version_4_reads_as_it_was_written() {
    assert_eq!(story::read(&golden("v4")), story::expected_of_version_4());
}

#[test]
fn version_5_reads_as_it_was_written() {
    assert_eq!(story::read(&golden("v5")), story::expected());
}

/// `UPDATE_GOLDEN=1` writes the file anew; that is right only before a version's release.
#[test]
fn this_build_still_writes_version_5_to_the_byte() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _ = std::fs::remove_file(golden("v5").join(SEGMENT));
        story::write(&golden("v5"));
    }
    let folder = tempfile::tempdir().unwrap();
    story::write(folder.path());
    let bytes = |run: &Path| std::fs::read(run.join(SEGMENT)).unwrap();
    assert!(bytes(folder.path()) == bytes(&golden("v5")), "the bytes differ from fixtures/logs/v5");
}
