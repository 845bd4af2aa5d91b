//! How busy the machine is, with whatever else runs on it.

use laptime_core::Gauge;
use laptime_core::proc::{load_average, pressure_ns};

use super::{Readings, System, put};

pub(super) fn read(system: &dyn System, readings: &mut Readings) {
    let load = system.text("/proc/loadavg").and_then(|text| load_average(&text));
    put(readings, Gauge::LoadMilli, load.map(|load| (load * 1000.0) as u64));
    let pressure = system.text("/proc/pressure/cpu").and_then(|text| pressure_ns(&text));
    put(readings, Gauge::CpuPressureNs, pressure);
}
