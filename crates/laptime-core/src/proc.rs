//! What the kernel writes in `/proc` and in control groups, read in one place. Only text comes in here: who
//! needs a file reads it.

/// The number after `key` in a text of `key value` or `key: value` lines.
///
/// ```
/// use laptime_core::proc::value_of;
///
/// assert_eq!(value_of("VmHWM: 12 kB\nVmRSS:  8 kB\n", "VmRSS"), Some(8));
/// ```
#[must_use]
pub fn value_of(text: &str, key: &str) -> Option<u64> {
    let rest = text
        .lines()
        .filter_map(|line| line.strip_prefix(key))
        .find(|rest| rest.starts_with([':', ' ', '\t']))?;
    rest.trim_start_matches(':').split_ascii_whitespace().next()?.parse().ok()
}

/// The same of `/proc/meminfo` and `/proc/PID/status`, which count in KiB, as bytes.
#[must_use]
pub fn bytes_of(text: &str, key: &str) -> Option<u64> {
    value_of(text, key)?.checked_mul(1024)
}

/// Numbers with blanks between them, such as `/proc/PID/task/TID/children`.
pub fn numbers(text: &str) -> impl Iterator<Item = u32> {
    text.split_ascii_whitespace().filter_map(|number| number.parse().ok())
}

/// `/proc/PID/stat` of a process or a thread. A text that is cut short has the fields that it has.
#[derive(Clone, Copy, Debug)]
pub struct ProcessStat<'a> {
    /// The process' number.
    pub pid: u32,
    /// What stands behind the name.
    fields: &'a str,
}

impl<'a> ProcessStat<'a> {
    /// The file's text.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let pid = text.split(' ').next()?.parse().ok()?;
        // The second field is the command in brackets and may itself hold brackets and spaces.
        Some(Self { pid, fields: text.get(text.rfind(')')? + 1..)? })
    }

    /// Whether it has ended and only waits to be reaped.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.field(3), Some("Z" | "X"))
    }

    /// Whether it is stopped, by a signal or a debugger.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.field(3), Some("T" | "t"))
    }

    /// The process that started it, or who took its place.
    #[must_use]
    pub fn parent(&self) -> Option<u32> {
        self.number(4)
    }

    /// The session it is in: the number of the process that began that.
    #[must_use]
    pub fn session(&self) -> Option<u32> {
        self.number(6)
    }

    /// When it started, in clock ticks since boot.
    #[must_use]
    pub fn start(&self) -> Option<u64> {
        self.number(22)
    }

    /// A field by its number in proc(5), where the pid is 1 and the state 3.
    #[must_use]
    pub fn number<T: std::str::FromStr>(&self, field: usize) -> Option<T> {
        self.field(field)?.parse().ok()
    }

    fn field(&self, field: usize) -> Option<&'a str> {
        self.fields.split_ascii_whitespace().nth(field.checked_sub(3)?)
    }
}

/// The state's letter in the first bytes of a thread's `stat`; `None` for one that has ended.
#[must_use]
pub fn thread_state(stat: &[u8]) -> Option<u8> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let state = *stat.get(end + 2)?;
    (!matches!(state, b'Z' | b'X')).then_some(state)
}

/// What `/proc/stat` says of all CPUs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// CPUs that have a line; 0 where none has.
    pub cpus: u32,
    /// Time they were busy, nanoseconds; waiting for storage is not.
    pub busy_ns: u64,
    /// Time the hypervisor gave to others while a task here could run, nanoseconds.
    pub stolen_ns: u64,
}

impl CpuTimes {
    /// The kernel shows its ticks in hundredths of a second to every program.
    const TICK_NS: u64 = 10_000_000;

    /// The file's text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guests are counted in user.
        let stolen = ticks.get(7)?;
        let busy = [0, 1, 2, 5, 6].into_iter().fold(0_u64, |sum, at| sum.saturating_add(ticks[at]));
        let cpus = text.lines().skip(1).take_while(|line| line.starts_with("cpu")).count();
        Some(Self {
            cpus: u32::try_from(cpus).unwrap_or(0),
            busy_ns: busy.saturating_mul(Self::TICK_NS),
            stolen_ns: stolen.saturating_mul(Self::TICK_NS),
        })
    }
}

/// The load average over a minute, from `/proc/loadavg`.
#[must_use]
pub fn load_average(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Time some task waited, nanoseconds, from a file of `/proc/pressure`.
#[must_use]
pub fn pressure_ns(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    let total = line.split_ascii_whitespace().find_map(|part| part.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()?.saturating_mul(1000))
}

/// The control groups of `/proc/self/cgroup`: the controllers of each, none in version 2, and its path.
pub fn cgroups(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'))
}

/// The folder of the process' control group (version 2), from `/proc/self/cgroup`.
#[must_use]
pub fn cgroup_folder(text: &str) -> Option<String> {
    let (_, path) = cgroups(text).find(|(controllers, _)| controllers.is_empty())?;
    Some(format!("/sys/fs/cgroup{}", path.trim_end_matches('/')))
}

/// The quota in a control group's `cpu.max`, in thousandths of a CPU; `None` for `max`.
#[must_use]
pub fn cpu_quota_milli(text: &str) -> Option<u64> {
    let mut parts = text.split_ascii_whitespace();
    let quota: u64 = parts.next()?.parse().ok()?;
    let period: u64 = parts.next()?.parse().ok()?;
    quota.checked_mul(1000)?.checked_div(period)
}

/// Time a control group was held back by its quota, nanoseconds, from its `cpu.stat`.
#[must_use]
pub fn throttled_ns(text: &str) -> Option<u64> {
    Some(value_of(text, "throttled_usec")?.saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_whole_word() {
        assert_eq!(value_of("oom_kill_x 5\noom_kill 2\n", "oom_kill"), Some(2));
        assert_eq!(value_of("VmRSS: lots", "VmRSS"), None);
        assert_eq!(bytes_of("MemTotal:  8000 kB\nMemAvailable:    4096 kB\n", "MemAvailable"), Some(4 << 20));
        assert_eq!(bytes_of("MemTotal: 8000 kB\n", "MemAvailable"), None);
    }

    #[test]
    fn a_name_with_brackets_and_spaces_is_read_over() {
        let stat = ProcessStat::parse("7 (a) b (c)) Z 3 4 5 0 -1").unwrap();
        assert_eq!((stat.pid, stat.parent(), stat.session(), stat.has_ended()), (7, Some(3), Some(5), true));
        assert_eq!(stat.start(), None);
        assert!(ProcessStat::parse("7 (a) T 3").is_some_and(|stat| stat.is_stopped()));
        assert!(ProcessStat::parse("7 (a").is_none());
    }

    #[test]
    fn the_state_stands_after_the_name_and_the_dead_have_none() {
        assert_eq!(thread_state(b"12 (a) b) R 1 12"), Some(b'R'));
        assert_eq!(thread_state(b"12 (sh) Z 1 12"), None);
        assert_eq!(thread_state(b"12 (cut"), None);
    }

    #[test]
    fn busy_time_leaves_out_idle_and_waiting_for_storage() {
        let text = "cpu  100 1 50 9000 800 3 6 40 99 0\ncpu0 1 1\ncpu1 1 1\nintr 5\n";
        let expected = CpuTimes { cpus: 2, busy_ns: 1_600_000_000, stolen_ns: 400_000_000 };
        assert_eq!(CpuTimes::parse(text), Some(expected));
        assert_eq!(CpuTimes::parse("cpu  1 2"), None);
        assert_eq!(CpuTimes::parse(""), None);
    }

    #[test]
    fn pressure_and_quota_are_read_in_their_units_and_garbage_is_nothing() {
        assert_eq!(pressure_ns("some avg10=0.00 total=1500\nfull avg10=0 total=1\n"), Some(1_500_000));
        assert_eq!(throttled_ns("usage_usec 5\nthrottled_usec 250\n"), Some(250_000));
        assert_eq!((pressure_ns("some total=x"), throttled_ns("")), (None, None));
        assert_eq!((cpu_quota_milli("150000 100000\n"), cpu_quota_milli("max 100000")), (Some(1500), None));
        assert_eq!(load_average("1.25 0.50 0.10 1/100 42\n"), Some(1.25));
        assert_eq!(cgroup_folder("1:cpu:/x\n0::/a:b/\n").as_deref(), Some("/sys/fs/cgroup/a:b"));
        assert_eq!(cgroup_folder("1:cpu:/x\n"), None);
    }
}
