//! What a loader on this machine may use.

use std::fs;

use laptime_analyse::advise::loader_search::Host;
use laptime_core::proc::{bytes_of, cgroup_folder};

/// How many processes train on this machine; set by torchrun.
const RANKS_VARIABLE: &str = "LOCAL_WORLD_SIZE";

/// CPUs by affinity and quota, ranks, and memory that is free here and in the control group.
pub(super) fn host(cuda: bool) -> Host {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    let ranks = std::env::var(RANKS_VARIABLE).ok().and_then(|ranks| ranks.parse().ok());
    let memory_bytes = [machine_memory(), group_memory()].into_iter().flatten().min();
    Host { cpus, ranks: ranks.unwrap_or(1).max(1), memory_bytes, cuda }
}

fn machine_memory() -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// What the control group leaves of its limit; `None` without one.
fn group_memory() -> Option<u64> {
    let folder = cgroup_folder(&fs::read_to_string("/proc/self/cgroup").ok()?)?;
    let number = |file: &str| -> Option<u64> {
        fs::read_to_string(format!("{folder}/{file}")).ok()?.trim().parse().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}
