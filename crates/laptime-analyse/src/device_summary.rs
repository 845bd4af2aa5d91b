//! Device summaries: what a device is, how far the host is ahead of it, and what its card did meanwhile.

use laptime_core::{Gauge, Timebase};

use crate::device::DeviceFold;
use crate::gauges::Gauges;
use crate::process::Process;
use crate::report::{DeviceSummary, TrackSummary};

/// Every device of a process whose streams have boundaries, with the ledgers among its tracks; `None` where there
/// is none. `gauges` are those of the passes.
pub(crate) fn devices(
    process: &Process,
    tracks: &[TrackSummary],
    gauges: Option<&Gauges>,
    timebase: &Timebase,
) -> Option<Vec<DeviceSummary>> {
    let gauges = gauges.unwrap_or(&process.gauges);
    let known = process.devices.iter().filter(|(_, device)| device.boundaries > 0);
    let devices = known.map(|(lane, device)| summary(process, *lane, device, tracks, gauges, timebase));
    let devices: Vec<DeviceSummary> = devices.collect();
    (!devices.is_empty()).then_some(devices)
}

fn summary(
    process: &Process,
    lane: u32,
    device: &DeviceFold,
    tracks: &[TrackSummary],
    gauges: &Gauges,
    timebase: &Timebase,
) -> DeviceSummary {
    let lane = process.lanes.get(&lane);
    let facts = lane.and_then(|lane| lane.device.clone()).unwrap_or_default();
    let name = lane.map(|lane| lane.track.name.clone()).unwrap_or_default();
    let ledger = tracks.iter().find(|track| track.name == name).map_or(&[][..], |track| &track.ledger);
    let exposed_copy_s = ledger.iter().filter(|row| row.stage == "copy").map(|row| row.seconds).sum();
    let overlapped_s = timebase.seconds(device.overlapped_copies());
    let grown = |gauge| gauges.grown(gauge).map(|ns| ns as f64);
    let share = |part: Gauge, of: Gauge| {
        let (part, of) = (grown(part)?, grown(of)?);
        (of > 0.0).then(|| (part / of).clamp(0.0, 1.0))
    };
    let total = gauges.last(Gauge::DeviceMemoryTotalBytes);
    let lowered = gauges.clock_lowered();
    DeviceSummary {
        device: name,
        name: Some(facts.name).filter(|name| !name.is_empty()),
        memory_bytes: facts.memory_bytes.or(total),
        driver: facts.driver,
        busy_share: None,
        steps_ahead: process.gate.steps_ahead(),
        copy_s: exposed_copy_s + overlapped_s,
        exposed_copy_s,
        counted_busy_share: share(Gauge::DeviceBusyNs, Gauge::DeviceUsedNs),
        tensor_share: share(Gauge::DeviceTensorNs, Gauge::DeviceBusyNs),
        clock_mhz: gauges.mean(Gauge::DeviceClockMhz),
        highest_clock_mhz: gauges.most(Gauge::DeviceHighestClockMhz).map(|mhz| mhz as f64),
        power_w: gauges.mean(Gauge::DevicePowerMilliwatts).map(|milli| milli / 1e3),
        power_limit_w: gauges.last(Gauge::DevicePowerLimitMilliwatts).map(|milli| milli as f64 / 1e3),
        peak_celsius: gauges.most(Gauge::DeviceMilliCelsius).map(|milli| milli as f64 / 1e3),
        lowered_by_heat: lowered.map(|(heat, _)| heat),
        lowered_by_power: lowered.map(|(_, power)| power),
    }
}
