//! Reads what the machine says of itself, from `/proc` and `/sys`.

use std::fs;

use laptime_core::MachineReading;
use laptime_core::proc::{CpuTimes, load_average, pressure_ns, throttled_ns, value_of};
use laptime_record::probe::{RealSystem, System, own_cgroup};

use crate::heat;

/// Reads the machine; tests script it.
pub trait Machine {
    /// As it stands now.
    fn read(&mut self) -> MachineReading;
}

/// The machine itself.
#[derive(Debug)]
pub struct RealMachine {
    cpus: u32,
    cgroup: Option<String>,
}

impl RealMachine {
    /// The machine that this process runs on.
    #[must_use]
    pub fn new() -> Self {
        let online = fs::read_dir("/sys/devices/system/cpu")
            .map_or(0, |entries| entries.flatten().filter(is_cpu).count());
        Self { cpus: u32::try_from(online.max(1)).unwrap_or(1), cgroup: own_cgroup(&RealSystem) }
    }
}

impl Default for RealMachine {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine for RealMachine {
    fn read(&mut self) -> MachineReading {
        let system: &dyn System = &RealSystem;
        let times = system.text("/proc/stat").as_deref().and_then(CpuTimes::parse);
        let counted = times.as_ref().map_or(0, |times| times.cpus);
        let quota = self.cgroup.as_deref().and_then(|cgroup| system.text(&format!("{cgroup}/cpu.stat")));
        MachineReading {
            cpus: if counted > 0 { counted } else { self.cpus },
            busy_s: times.as_ref().map(|times| seconds(times.busy_ns)),
            steal_s: times.as_ref().map(|times| seconds(times.stolen_ns)),
            pressure_s: system.text("/proc/pressure/cpu").as_deref().and_then(pressure_ns).map(seconds),
            held_back_s: quota.as_deref().and_then(throttled_ns).map(seconds),
            load: system.text("/proc/loadavg").as_deref().and_then(load_average),
            clock_mhz: mean_mhz(&heat::clocks_khz(system)),
            throttles: heat::throttles(system),
            memory_kills: system.text("/proc/vmstat").and_then(|text| value_of(&text, "oom_kill")),
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

fn is_cpu(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn mean_mhz(clocks_khz: &[u64]) -> Option<f64> {
    let sum: f64 = clocks_khz.iter().map(|khz| *khz as f64).sum();
    (!clocks_khz.is_empty()).then(|| sum / clocks_khz.len() as f64 / 1000.0)
}

/// CPU time this process used so far, seconds.
#[must_use]
pub fn own_cpu_s() -> f64 {
    let usage = RealSystem.usage();
    seconds(usage.user_ns.saturating_add(usage.system_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_says_how_busy_it_is() {
        let reading = RealMachine::new().read();
        assert!(reading.cpus > 0 && reading.busy_s.is_some_and(|busy| busy > 0.0), "{reading:?}");
        assert!(own_cpu_s() >= 0.0);
    }

    #[test]
    fn the_clock_is_the_mean_of_all_cpus() {
        assert_eq!(mean_mhz(&[1_000_000, 2_000_000]), Some(1500.0));
        assert_eq!(mean_mhz(&[]), None);
    }
}
