//! Clocks of the CPUs, and how often heat slowed one down; many machines say neither.

use laptime_record::probe::System;

/// CPUs that are asked: on a large machine the others say no more, and every answer takes time.
const MOST_CPUS: u32 = 64;

/// The clock of each CPU, kHz; empty where the machine does not say.
pub(crate) fn clocks_khz(system: &dyn System) -> Vec<u64> {
    each_cpu(system, "cpufreq/scaling_cur_freq").collect()
}

/// How often heat slowed a CPU down, all of them together.
pub(crate) fn throttles(system: &dyn System) -> Option<u64> {
    each_cpu(system, "thermal_throttle/core_throttle_count").reduce(u64::saturating_add)
}

fn each_cpu(system: &dyn System, file: &'static str) -> impl Iterator<Item = u64> {
    (0..MOST_CPUS).map_while(move |cpu| {
        let text = system.text(&format!("/sys/devices/system/cpu/cpu{cpu}/{file}"))?;
        text.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_system::ScriptedSystem;

    #[test]
    fn every_clock_and_all_throttles_are_read_and_absent_files_are_normal() {
        let system = ScriptedSystem::of(&[
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000\n"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "4200000\n"),
            ("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n"),
            ("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n"),
        ]);
        assert_eq!((clocks_khz(&system), throttles(&system)), (vec![800_000, 4_200_000], Some(7)));
        let bare = ScriptedSystem::of(&[("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "fast")]);
        assert_eq!((clocks_khz(&bare), throttles(&bare)), (Vec::new(), None));
    }
}
