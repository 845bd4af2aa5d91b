//! Reads what the machine says of itself, from `/proc` and `/sys`.

#![expect(unsafe_code, reason = "the kernel's counts for this process")]

use std::fs;

use laptime_analyse::sweep::MachineReading;

/// The kernel's ticks in `/proc/stat`; it shows them in hundredths of a second to every program.
const TICKS_PER_S: f64 = 100.0;

/// Reads the machine; tests script it.
pub(super) trait Machine {
    /// As it stands now.
    fn read(&mut self) -> MachineReading;
}

/// The machine itself.
pub(super) struct RealMachine {
    cpus: u32,
    cgroup: Option<String>,
}

impl RealMachine {
    pub(super) fn new() -> Self {
        let cgroup = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| {
            let path =
                text.lines().find_map(|line| line.strip_prefix("0::"))?.trim_end_matches('/').to_owned();
            Some(format!("/sys/fs/cgroup{path}/cpu.stat"))
        });
        let online = fs::read_dir("/sys/devices/system/cpu")
            .map_or(0, |entries| entries.flatten().filter(is_cpu).count());
        Self { cpus: u32::try_from(online.max(1)).unwrap_or(1), cgroup }
    }
}

impl Machine for RealMachine {
    fn read(&mut self) -> MachineReading {
        let stat = text("/proc/stat");
        let cpu = stat.as_deref().and_then(CpuLine::parse);
        let counted = cpu.as_ref().map_or(0, |cpu| cpu.cpus);
        let cgroup = self.cgroup.as_deref().and_then(text);
        MachineReading {
            cpus: if counted > 0 { counted } else { self.cpus },
            busy_s: cpu.as_ref().map(|cpu| cpu.busy_s),
            steal_s: cpu.as_ref().map(|cpu| cpu.steal_s),
            pressure_s: text("/proc/pressure/cpu").as_deref().and_then(pressure_s),
            held_back_s: cgroup.as_deref().and_then(held_back_s),
            load: text("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
            clock_mhz: clock_mhz(self.cpus),
            throttles: throttles(self.cpus),
            memory_kills: text("/proc/vmstat").as_deref().and_then(memory_kills),
        }
    }
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn is_cpu(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What `/proc/stat` says of all CPUs together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CpuLine {
    cpus: u32,
    busy_s: f64,
    steal_s: f64,
}

impl CpuLine {
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<f64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guests are counted in user.
        let busy: f64 = [0, 1, 2, 5, 6].iter().filter_map(|at| ticks.get(*at)).sum();
        let cpus = text.lines().skip(1).take_while(|line| line.starts_with("cpu")).count();
        let steal = ticks.get(7)?;
        Some(Self {
            cpus: u32::try_from(cpus).unwrap_or(0),
            busy_s: busy / TICKS_PER_S,
            steal_s: steal / TICKS_PER_S,
        })
    }
}

fn pressure_s(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    let total: f64 = line.split(' ').find_map(|part| part.strip_prefix("total="))?.trim().parse().ok()?;
    Some(total * 1e-6)
}

fn held_back_s(text: &str) -> Option<f64> {
    let us: f64 = text.lines().find_map(|line| line.strip_prefix("throttled_usec "))?.trim().parse().ok()?;
    Some(us * 1e-6)
}

fn memory_kills(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

fn clock_mhz(cpus: u32) -> Option<f64> {
    let khz = |cpu| {
        text(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"))?.trim().parse().ok()
    };
    let known: Vec<f64> = (0..cpus).map_while(khz).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64 / 1000.0)
}

fn throttles(cpus: u32) -> Option<u64> {
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count");
    let counts = (0..cpus).map_while(|cpu| text(&path(cpu))?.trim().parse::<u64>().ok());
    counts.reduce(u64::saturating_add)
}

/// CPU time this process used so far, seconds.
pub(super) fn own_cpu_s() -> f64 {
    // SAFETY: all-zero is a valid `rusage`, which `getrusage` fills; on an error it stays zero.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_leaves_out_idle_and_waiting_for_storage() {
        let text = "cpu  100 1 50 9000 800 3 6 40 99 0\ncpu0 1 1\ncpu1 1 1\nintr 5\n";
        assert_eq!(CpuLine::parse(text), Some(CpuLine { cpus: 2, busy_s: 1.6, steal_s: 0.4 }));
        assert_eq!(CpuLine::parse("cpu  1 2"), None);
        assert_eq!(CpuLine::parse(""), None);
    }

    #[test]
    fn pressure_and_quota_are_read_in_their_units_and_garbage_is_nothing() {
        assert_eq!(pressure_s("some avg10=0.00 total=1500000\nfull avg10=0 total=1\n"), Some(1.5));
        assert_eq!(held_back_s("usage_usec 5\nthrottled_usec 250000\n"), Some(0.25));
        assert_eq!(memory_kills("pgfault 3\noom_kill 2\noom_kill_x 5\n"), Some(2));
        assert_eq!((pressure_s("some total=x"), held_back_s("")), (None, None));
    }

    #[test]
    fn this_machine_says_how_busy_it_is() {
        let reading = RealMachine::new().read();
        assert!(reading.cpus > 0 && reading.busy_s.is_some_and(|busy| busy > 0.0), "{reading:?}");
        assert!(own_cpu_s() >= 0.0);
    }
}
