//! CPU time, switches, and what the cgroup allows and withholds.

#![expect(unsafe_code, reason = "the kernel's counts for this process")]

use laptime_core::Gauge;

use laptime_core::proc::{cpu_quota_milli, throttled_ns};

use super::{Readings, System, Usage, put};

pub(super) fn read(usage: &Usage, cgroup: Option<&str>, system: &dyn System, readings: &mut Readings) {
    readings.push((Gauge::CpuUserNs, usage.user_ns));
    readings.push((Gauge::CpuSystemNs, usage.system_ns));
    readings.push((Gauge::VoluntarySwitches, usage.voluntary_switches));
    readings.push((Gauge::InvoluntarySwitches, usage.involuntary_switches));
    read_cgroup(cgroup, system, readings);
}

/// What the cgroup allows and withholds.
pub(super) fn read_cgroup(cgroup: Option<&str>, system: &dyn System, readings: &mut Readings) {
    let Some(cgroup) = cgroup else { return };
    let quota = system.text(&format!("{cgroup}/cpu.max")).and_then(|text| cpu_quota_milli(&text));
    put(readings, Gauge::CgroupQuotaMilliCpus, quota);
    let throttled = system.text(&format!("{cgroup}/cpu.stat")).and_then(|text| throttled_ns(&text));
    put(readings, Gauge::CgroupThrottledNs, throttled);
}

pub(super) fn usage_of_this_process() -> Usage {
    // SAFETY: all-zero is a valid `rusage`, which `getrusage` fills; on an error it stays zero.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        major_faults: usage.ru_majflt as u64,
    }
}
