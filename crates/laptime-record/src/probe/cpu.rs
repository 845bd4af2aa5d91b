//! CPU time, switches, and what the cgroup allows and withholds.

#![expect(unsafe_code, reason = "the kernel's counts for this process")]

use laptime_core::Gauge;

use super::{Readings, System, Usage, put, value_of};

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
    put(
        readings,
        Gauge::CgroupQuotaMilliCpus,
        system.text(&format!("{cgroup}/cpu.max")).and_then(|text| quota(&text)),
    );
    let throttled =
        system.text(&format!("{cgroup}/cpu.stat")).and_then(|text| value_of(&text, "throttled_usec"));
    put(readings, Gauge::CgroupThrottledNs, throttled.map(|us| us.saturating_mul(1000)));
}

/// The folder of the process' cgroup (version 2); `None` where there is none.
pub(super) fn cgroup_folder(system: &dyn System) -> Option<String> {
    let text = system.text("/proc/self/cgroup")?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(format!("/sys/fs/cgroup{}", path.trim_end_matches('/')))
}

/// `QUOTA PERIOD` in thousandths of a CPU; `None` for `max`.
fn quota(text: &str) -> Option<u64> {
    let mut parts = text.split_ascii_whitespace();
    let quota: u64 = parts.next()?.parse().ok()?;
    let period: u64 = parts.next()?.parse().ok()?;
    quota.checked_mul(1000)?.checked_div(period)
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
