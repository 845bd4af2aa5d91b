//! Resident memory, its peak, swap and page faults that waited for storage.

use laptime_core::Gauge;

use super::{Readings, System, Usage, put, value_of};

pub(super) fn read(usage: &Usage, system: &dyn System, readings: &mut Readings) {
    readings.push((Gauge::MajorFaults, usage.major_faults));
    let Some(text) = system.text("/proc/self/status") else { return };
    let bytes = |key| value_of(&text, key).map(|kib| kib.saturating_mul(1024));
    put(readings, Gauge::ResidentBytes, bytes("VmRSS"));
    put(readings, Gauge::PeakResidentBytes, bytes("VmHWM"));
    put(readings, Gauge::SwappedBytes, bytes("VmSwap"));
}
