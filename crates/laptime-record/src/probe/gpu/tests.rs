//! The probe against a stand-in library, and its sums against their definition.

use std::ffi::CString;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use super::*;

const HERE: &str = "0000:1B:00.0";

/// Builds the stand-in library with its script.
fn stand_in(folder: &Path, script: &str) -> CString {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand_in_nvml/nvml.rs");
    let library = folder.join(format!("libnvml-{script}.so"));
    let built = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "--cfg", script, "-o"])
        .arg(&library)
        .arg(source)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    CString::new(library.to_str().unwrap()).unwrap()
}

fn open(script: &str) -> Option<CardProbe> {
    let folder = tempfile::tempdir().unwrap();
    CardProbe::open(&stand_in(folder.path(), script), HERE)
}

fn read(card: &mut CardProbe) -> Readings {
    thread::sleep(SHORTEST_SHARE);
    let mut readings = Readings::new();
    card.read(&mut readings);
    readings
}

fn value(readings: &Readings, gauge: Gauge) -> Option<u64> {
    let mut found = readings.iter().filter(|(read, _)| *read == gauge);
    let value = found.next().map(|(_, value)| *value);
    assert!(found.next().is_none(), "{gauge:?} is read once");
    value
}

/// A gauge as a share of the time over which it was read.
fn share(readings: &Readings, gauge: Gauge) -> Option<f64> {
    let used = value(readings, Gauge::DeviceUsedNs)?;
    Some(value(readings, gauge)? as f64 / used as f64)
}

fn is_about(share: Option<f64>, expected: f64) -> bool {
    share.is_some_and(|share| (share - expected).abs() < 1e-6)
}

#[test]
fn every_gauge_of_the_card_is_read_in_its_unit_and_times_add_up() {
    let mut card = open("complete").unwrap();
    let first = read(&mut card);
    let levels = [
        (Gauge::DeviceMemoryBytes, 31 << 30),
        (Gauge::DeviceMemoryTotalBytes, 139 << 30),
        (Gauge::DeviceClockMhz, 1320),
        (Gauge::DeviceHighestClockMhz, 1980),
        (Gauge::DevicePowerMilliwatts, 412_345),
        (Gauge::DevicePowerLimitMilliwatts, 700_000),
        (Gauge::DeviceMilliCelsius, 61_000),
        (Gauge::DeviceClockReasons, 0x24),
    ];
    for (gauge, expected) in levels {
        assert_eq!(value(&first, gauge), Some(expected), "{gauge:?}");
    }
    let second = read(&mut card);
    for readings in [&first, &second] {
        assert!(is_about(share(readings, Gauge::DeviceBusyNs), 0.125));
        assert!(is_about(share(readings, Gauge::DeviceCoresNs), 0.4));
        assert_eq!(share(readings, Gauge::DeviceTensorNs), Some(0.0), "idle is known, not absent");
        assert_eq!(share(readings, Gauge::DeviceMemoryBusNs), None, "one counter that may not be read");
        let bytes_a_ns = |mib: f64| mib * 1_048_576.0 / 1e9;
        assert!(is_about(share(readings, Gauge::DeviceReceivedBytes), bytes_a_ns(1024.0)));
        assert!(is_about(share(readings, Gauge::DeviceSentBytes), bytes_a_ns(16.0)));
    }
    let grown = value(&second, Gauge::DeviceUsedNs).unwrap() - value(&first, Gauge::DeviceUsedNs).unwrap();
    assert!(grown >= SHORTEST_SHARE.as_nanos() as u64, "{grown}");
}

#[test]
fn two_readings_at_once_count_no_time_twice() {
    let mut card = open("complete").unwrap();
    let first = read(&mut card);
    let mut again = Readings::new();
    card.read(&mut again);
    assert_eq!(value(&first, Gauge::DeviceBusyNs), value(&again, Gauge::DeviceBusyNs));
    assert_eq!(value(&again, Gauge::DeviceClockMhz), Some(1320));
}

#[test]
fn without_counters_the_drivers_own_figure_stands_in() {
    for (script, reasons) in [("older", 0x4), ("forbidden", 0x24), ("nonsense", 0x24)] {
        let readings = read(&mut open(script).unwrap());
        assert!(is_about(share(&readings, Gauge::DeviceBusyNs), 0.13), "{script}");
        assert_eq!(value(&readings, Gauge::DeviceCoresNs), None, "{script}");
        assert_eq!(value(&readings, Gauge::DeviceClockReasons), Some(reasons), "{script}");
    }
}

#[test]
fn what_begins_to_fail_is_left_out_and_the_rest_goes_on() {
    let mut card = open("breaking").unwrap();
    let first = read(&mut card);
    assert_eq!(value(&first, Gauge::DevicePowerMilliwatts), Some(412_345));
    let second = read(&mut card);
    assert_eq!(value(&second, Gauge::DevicePowerMilliwatts), None);
    assert_eq!(value(&second, Gauge::DeviceMilliCelsius), Some(61_000));
    for gauge in [Gauge::DeviceBusyNs, Gauge::DeviceUsedNs] {
        assert_eq!(value(&first, gauge), value(&second, gauge), "times stand where they were: {gauge:?}");
    }
}

#[test]
fn what_is_slow_twice_is_not_asked_again() {
    let mut card = open("slow").unwrap();
    assert_eq!(value(&read(&mut card), Gauge::DeviceClockMhz), Some(1320));
    assert_eq!(value(&read(&mut card), Gauge::DeviceClockMhz), Some(1320));
    let third = read(&mut card);
    assert_eq!(value(&third, Gauge::DeviceClockMhz), None);
    assert_eq!(value(&third, Gauge::DeviceHighestClockMhz), Some(1980));
}

#[test]
fn no_library_and_no_card_are_silent() {
    assert!(CardProbe::open(c"libnvidia-ml-of-nobody.so.1", HERE).is_none());
    assert!(open("no_card").is_none());
    let folder = tempfile::tempdir().unwrap();
    assert!(CardProbe::open(&stand_in(folder.path(), "complete"), "0000:2C:00.0").is_none());
    assert!(CardProbe::open(&stand_in(folder.path(), "complete"), "with\0zero").is_none());
    let mut nobody = GpuProbe::default();
    let mut readings = Readings::new();
    nobody.read(&mut readings);
    assert!(readings.is_empty());
}

#[test]
#[expect(unsafe_code, reason = "a fork, and its end")]
fn a_forked_child_does_not_read_its_parents_card() {
    watch(HERE);
    watch("0000:2C:00.0");
    assert_eq!(watched().map(|watched| watched.pci_bus_id.as_str()), Some(HERE), "the first one");
    // SAFETY: the child reads two numbers and ends at once.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(i32::from(watched().is_some()));
        }
        let mut status = -1;
        libc::waitpid(child, &raw mut status, 0);
        status
    };
    assert_eq!(status, 0);
}

fn any_share() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        4 => (0.0..1.5_f64).prop_map(Some),
        1 => Just(None),
        1 => Just(Some(f64::NAN)),
        1 => Just(Some(-0.5)),
    ]
}

proptest! {
    #[test]
    fn times_only_grow_and_never_beyond_the_time_they_are_shares_of(
        intervals in proptest::collection::vec((any_share(), any_share(), 0_u64..5_000_000_000), 1..40),
    ) {
        let mut sums = Sums::default();
        let (mut before, mut exact, mut used) = (Readings::new(), 0.0, 0);
        let begun_with = (intervals[0].0.is_some(), intervals[0].1.is_some());
        for (busy, tensor, ns) in intervals {
            sums.add(&Shares { busy, tensor, ..Shares::default() }, Duration::from_nanos(ns));
            let good = |share: Option<f64>| share.is_some_and(|share| share >= 0.0);
            if (good(busy) || !begun_with.0) && (good(tensor) || !begun_with.1) {
                exact += busy.filter(|_| begun_with.0).unwrap_or(0.0).min(1.0) * ns as f64;
                used += ns;
            }
            let mut now = Readings::new();
            sums.put(&mut now);
            prop_assert_eq!(value(&now, Gauge::DeviceUsedNs), Some(used));
            prop_assert_eq!(value(&now, Gauge::DeviceBusyNs).is_some(), begun_with.0);
            prop_assert_eq!(value(&now, Gauge::DeviceTensorNs).is_some(), begun_with.1);
            let busy_ns = value(&now, Gauge::DeviceBusyNs).unwrap_or(0) as f64;
            prop_assert!((busy_ns - exact).abs() < 2.0, "{} against {}", busy_ns, exact);
            for (gauge, value_now) in &now {
                prop_assert!(*value_now <= used, "{gauge:?}");
                prop_assert!(value(&before, *gauge).is_none_or(|value| value <= *value_now), "{gauge:?}");
            }
            before = now;
        }
    }
}
