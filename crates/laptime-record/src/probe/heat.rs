//! Clocks of the CPUs, and how often heat slowed one down; many machines say neither.

use laptime_core::Gauge;

use super::{Readings, System, put};

/// CPUs that are asked: on a large machine the others tell no more, and every answer takes time.
const MOST_CPUS: u32 = 64;

pub(super) fn read(system: &dyn System, readings: &mut Readings) {
    let each = |file: &'static str| {
        (0..MOST_CPUS).map_while(move |cpu| {
            let text = system.text(&format!("/sys/devices/system/cpu/cpu{cpu}/{file}"))?;
            text.trim().parse::<u64>().ok()
        })
    };
    // The fastest CPU is one that works: idle ones clock down and say nothing about the training.
    put(readings, Gauge::CpuClockKhz, each("cpufreq/scaling_cur_freq").max());
    let throttles = each("thermal_throttle/core_throttle_count").reduce(u64::saturating_add);
    put(readings, Gauge::HeatThrottles, throttles);
}

#[cfg(test)]
mod tests {
    use super::super::tests::ScriptedSystem;
    use super::*;

    fn readings(files: &[(&'static str, &'static str)]) -> Readings {
        let files = files.iter().copied().collect();
        let mut readings = Readings::new();
        read(&ScriptedSystem { files, ..ScriptedSystem::default() }, &mut readings);
        readings
    }

    #[test]
    fn the_fastest_clock_and_all_throttles_are_read_and_absent_files_are_normal() {
        let found = readings(&[
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000\n"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "4200000\n"),
            ("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n"),
            ("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n"),
        ]);
        assert_eq!(found, [(Gauge::CpuClockKhz, 4_200_000), (Gauge::HeatThrottles, 7)]);
        assert_eq!(readings(&[]), []);
        assert_eq!(readings(&[("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "fast")]), []);
    }
}
