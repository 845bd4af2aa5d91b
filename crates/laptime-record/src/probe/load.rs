//! How busy the machine is, with whatever else runs on it.

use laptime_core::Gauge;

use super::{Readings, System, put};

/// The kernel's ticks in `/proc/stat`: hundredths of a second to every program.
const TICK_NS: u64 = 10_000_000;

pub(super) fn read(system: &dyn System, readings: &mut Readings) {
    let load = system.text("/proc/loadavg").and_then(|text| load_milli(&text));
    put(readings, Gauge::LoadMilli, load);
    let pressure = system.text("/proc/pressure/cpu").and_then(|text| some_total_us(&text));
    put(readings, Gauge::CpuPressureNs, pressure.map(|us| us.saturating_mul(1000)));
}

/// What all CPUs of the machine did together; `/proc/stat` of a large one takes a while to read.
pub(super) fn read_cpus(system: &dyn System, readings: &mut Readings) {
    let Some(text) = system.text("/proc/stat") else { return };
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("cpu ")) else { return };
    let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guests are counted in user.
    let Some(stolen) = ticks.get(7) else { return };
    let busy = [0, 1, 2, 5, 6].into_iter().fold(0_u64, |sum, at| sum.saturating_add(ticks[at]));
    readings.push((Gauge::MachineBusyNs, busy.saturating_mul(TICK_NS)));
    readings.push((Gauge::MachineStolenNs, stolen.saturating_mul(TICK_NS)));
    let cpus = text.lines().skip(1).take_while(|line| line.starts_with("cpu")).count() as u64;
    put(readings, Gauge::MachineCpus, Some(cpus).filter(|cpus| *cpus > 0));
}

fn load_milli(text: &str) -> Option<u64> {
    let load: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some((load * 1000.0) as u64)
}

fn some_total_us(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split_ascii_whitespace().find_map(|part| part.strip_prefix("total="))?.parse().ok()
}
