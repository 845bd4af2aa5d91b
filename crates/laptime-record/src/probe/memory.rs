//! Resident memory, its peak, swap and page faults that waited for storage.

use laptime_core::Gauge;

use laptime_core::proc::bytes_of;

use super::{Readings, System, Usage, put};

pub(super) fn read(usage: &Usage, system: &dyn System, readings: &mut Readings) {
    readings.push((Gauge::MajorFaults, usage.major_faults));
    let Some(text) = system.text("/proc/self/status") else { return };
    let bytes = |key| bytes_of(&text, key);
    put(readings, Gauge::ResidentBytes, bytes("VmRSS"));
    put(readings, Gauge::PeakResidentBytes, bytes("VmHWM"));
    put(readings, Gauge::SwappedBytes, bytes("VmSwap"));
}
