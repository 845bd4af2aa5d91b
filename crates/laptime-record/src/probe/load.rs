//! How busy the machine is, with whatever else runs on it.

use laptime_core::Gauge;

use super::{Readings, System, put};

pub(super) fn read(system: &dyn System, readings: &mut Readings) {
    let load = system.text("/proc/loadavg").and_then(|text| load_milli(&text));
    put(readings, Gauge::LoadMilli, load);
    let pressure = system.text("/proc/pressure/cpu").and_then(|text| some_total_us(&text));
    put(readings, Gauge::CpuPressureNs, pressure.map(|us| us.saturating_mul(1000)));
}

fn load_milli(text: &str) -> Option<u64> {
    let load: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some((load * 1000.0) as u64)
}

fn some_total_us(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split_ascii_whitespace().find_map(|part| part.strip_prefix("total="))?.parse().ok()
}
