//! A recorder whose process watches a card: NVML is found by its name, as the driver installs it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{env, thread};

use laptime_core::{Gauge, Record, Status};
use laptime_record::{Options, Recorder, probe};
use laptime_store::RunReader;

/// In the process that [`record_with`] starts: the card to watch, and the folder of the runs.
const CARD: &str = "LAPTIME_TEST_CARD";
const RUNS: &str = "LAPTIME_TEST_RUNS";

/// What the last sample of a recorder has that watched this card, with the libraries in this folder.
fn record_with(libraries: &Path, card: &str) -> Vec<(Gauge, u64)> {
    let runs = tempfile::tempdir().unwrap();
    let recorded = Command::new(env::current_exe().unwrap())
        .args(["--exact", "a_card_that_is_watched_is_on_record", "--nocapture"])
        .env("LD_LIBRARY_PATH", libraries)
        .env(CARD, card)
        .env(RUNS, runs.path())
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{recorded:?}");
    assert!(recorded.stderr.is_empty(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let run = std::fs::read_dir(runs.path()).unwrap().next().unwrap().unwrap().path();
    let mut last = Vec::new();
    let mut keep = |_, record| {
        if let Record::Sample(sample) = record {
            last = sample.readings;
        }
    };
    RunReader::open(&run).unwrap().poll(&mut keep).unwrap();
    last
}

fn record_card(card: &str, runs: &Path) {
    let recorder = Recorder::start(&Options { root: Some(runs.to_owned()), ..Options::default() });
    probe::gpu::watch(card);
    thread::sleep(Duration::from_millis(2_300));
    recorder.finish(Status::Finished, None);
}

#[test]
fn a_card_that_is_watched_is_on_record() {
    if let (Ok(card), Some(runs)) = (env::var(CARD), env::var_os(RUNS)) {
        return record_card(&card, Path::new(&runs));
    }
    let libraries = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand_in_nvml/nvml.rs");
    let built = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "-o"])
        .arg(libraries.path().join("libnvidia-ml.so.1"))
        .arg(source)
        .status();
    assert!(built.unwrap().success());
    let readings = record_with(libraries.path(), "0000:1B:00.0");
    let value = |gauge| readings.iter().find(|(read, _)| *read == gauge).map(|(_, value)| *value);
    assert_eq!(value(Gauge::DeviceClockMhz), Some(1320));
    let (busy, used) = (value(Gauge::DeviceBusyNs).unwrap(), value(Gauge::DeviceUsedNs).unwrap());
    assert!((busy as f64 / used as f64 - 0.125).abs() < 1e-6, "{busy} of {used}");
    assert!(value(Gauge::ResidentBytes).is_some());
    let other = record_with(libraries.path(), "0000:2C:00.0");
    let is_of_card = |gauge: Gauge| gauge as u16 >= Gauge::DeviceBusyNs as u16;
    assert!(!other.iter().any(|(gauge, _)| is_of_card(*gauge)), "{other:?}");
}
