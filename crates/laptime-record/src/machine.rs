//! What machine this is.

use std::fs;

use laptime_core::Machine;
use laptime_core::proc::bytes_of;

/// What can be known of the machine without asking anyone.
pub(crate) fn describe() -> Machine {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    Machine { cpus, cpu_model: cpu_model(), memory_bytes: memory_bytes(), kernel: kernel() }
}

/// What the machine calls itself.
#[must_use]
pub fn host() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory_bytes() -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal")
}

fn kernel() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/osrelease").ok()?.trim().to_owned())
}
