//! Bytes that went between the process and storage.

use laptime_core::Gauge;

use laptime_core::proc::value_of;

use super::{Readings, System, put};

pub(super) fn read(system: &dyn System, readings: &mut Readings) {
    let Some(text) = system.text("/proc/self/io") else { return };
    put(readings, Gauge::StorageReadBytes, value_of(&text, "read_bytes"));
    put(readings, Gauge::StorageWriteBytes, value_of(&text, "write_bytes"));
}
