//! What a command and everything it started use: the sum over a tree of processes.

use std::collections::BTreeMap;

use laptime_core::Gauge;
use laptime_core::proc::{CpuTimes, ProcessStat, value_of};
use laptime_record::probe::{Readings, System, own_cgroup, read_surroundings};

use crate::child_usage::ChildUsage;
use crate::cpu_waits::ThreadWaits;
use crate::heat;
use crate::processes::Processes;

/// Processes of one command that are followed; a fork bomb must not take the supervisor with it.
const MOST_PROCESSES: usize = 4096;

/// The probes of a supervisor.
pub(crate) struct TreeProbes {
    system: Box<dyn Processes>,
    cgroup: Option<String>,
    /// Every process that was ever seen in the tree and lives, with its start: one whose parent is gone
    /// still belongs to the command.
    members: BTreeMap<u32, u64>,
    sums: Sums,
    waits: ThreadWaits,
    /// CPU time of this process, which is what watching costs.
    own_ns: u64,
}

/// What a tree used so far; never shrinks when a process leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    user_ns: u64,
    system_ns: u64,
    resident_bytes: u64,
    peak_resident_bytes: u64,
    major_faults: u64,
    read_bytes: Option<u64>,
    write_bytes: Option<u64>,
}

/// One process, from `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stat {
    start: u64,
    sums: Sums,
}

impl TreeProbes {
    pub(crate) fn new(system: Box<dyn Processes>) -> Self {
        let cgroup = own_cgroup(system.as_ref());
        let own_ns = own_cpu_ns(system.as_ref());
        Self {
            system,
            cgroup,
            members: BTreeMap::new(),
            sums: Sums::default(),
            waits: ThreadWaits::default(),
            own_ns,
        }
    }

    /// Follows a process and everything it starts from now on.
    pub(crate) fn watch(&mut self, pid: u32) {
        if let Some(stat) = self.stat(pid) {
            self.members.insert(pid, stat.start);
        }
    }

    /// The processes that live now.
    pub(crate) fn processes(&mut self) -> Vec<u32> {
        self.grow();
        self.members.keys().copied().collect()
    }

    /// What the machine and the cgroup show; not of the tree alone.
    pub(crate) fn machine(&self) -> Readings {
        let system = self.system.as_ref();
        let mut readings = read_surroundings(self.cgroup.as_deref(), system);
        read_cpus(system, &mut readings);
        // The fastest CPU is one that works: idle ones clock down and say nothing about the training.
        put(&mut readings, Gauge::CpuClockKhz, heat::clocks_khz(system).into_iter().max());
        put(&mut readings, Gauge::HeatThrottles, heat::throttles(system));
        readings
    }

    /// Every probe; after the child was reaped, with what the kernel said of it.
    pub(crate) fn read(&mut self, reaped: Option<&ChildUsage>) -> Readings {
        self.grow();
        self.add_up(reaped);
        let mut readings = self.machine();
        let sums = self.sums;
        readings.push((Gauge::CpuUserNs, sums.user_ns));
        readings.push((Gauge::CpuSystemNs, sums.system_ns));
        readings.push((Gauge::ResidentBytes, sums.resident_bytes));
        readings.push((Gauge::PeakResidentBytes, sums.peak_resident_bytes));
        readings.push((Gauge::MajorFaults, sums.major_faults));
        put(&mut readings, Gauge::StorageReadBytes, sums.read_bytes);
        put(&mut readings, Gauge::StorageWriteBytes, sums.write_bytes);
        let members: Vec<u32> = self.members.keys().copied().collect();
        put(&mut readings, Gauge::CpuWaitNs, self.waits.read(&members, self.system.as_ref()));
        if let Some(usage) = reaped {
            readings.push((Gauge::VoluntarySwitches, usage.voluntary_switches));
            readings.push((Gauge::InvoluntarySwitches, usage.involuntary_switches));
        }
        let own = own_cpu_ns(self.system.as_ref()).saturating_sub(self.own_ns);
        readings.push((Gauge::RecorderCpuNs, own));
        readings
    }

    /// Drops the processes that are gone and adds the children of the others.
    fn grow(&mut self) {
        let known = std::mem::take(&mut self.members);
        let mut open: Vec<u32> = known.keys().copied().collect();
        while let Some(pid) = open.pop() {
            let Some(stat) = self.stat(pid) else { continue };
            let another = known.get(&pid).is_some_and(|start| *start != stat.start);
            if another || self.members.len() >= MOST_PROCESSES || self.members.contains_key(&pid) {
                continue;
            }
            self.members.insert(pid, stat.start);
            open.extend(self.system.children(pid));
        }
    }

    fn add_up(&mut self, reaped: Option<&ChildUsage>) {
        let mut now = Sums::default();
        for pid in self.members.keys() {
            let Some(stat) = self.stat(*pid) else { continue };
            let moved = self.system.text(&format!("/proc/{pid}/io"));
            let bytes = |key| moved.as_deref().and_then(|text| value_of(text, key));
            now = now.plus(&Sums {
                read_bytes: bytes("read_bytes"),
                write_bytes: bytes("write_bytes"),
                ..stat.sums
            });
        }
        if let Some(usage) = reaped {
            now.user_ns = now.user_ns.max(usage.user_ns);
            now.system_ns = now.system_ns.max(usage.system_ns);
            now.major_faults = now.major_faults.max(usage.major_faults);
            now.peak_resident_bytes = usage.peak_resident_bytes;
        }
        self.sums = self.sums.grown_to(&now);
    }

    fn stat(&self, pid: u32) -> Option<Stat> {
        Stat::parse(&self.system.text(&format!("/proc/{pid}/stat"))?)
    }
}

/// What all CPUs of the machine did together; `/proc/stat` of a large one takes a while to read.
fn read_cpus(system: &dyn System, readings: &mut Readings) {
    let Some(times) = system.text("/proc/stat").and_then(|text| CpuTimes::parse(&text)) else { return };
    readings.push((Gauge::MachineBusyNs, times.busy_ns));
    readings.push((Gauge::MachineStolenNs, times.stolen_ns));
    put(readings, Gauge::MachineCpus, Some(u64::from(times.cpus)).filter(|cpus| *cpus > 0));
}

/// Adds a reading that could be taken.
fn put(readings: &mut Readings, gauge: Gauge, value: Option<u64>) {
    readings.extend(value.map(|value| (gauge, value)));
}

/// A constant of the system, at least 1.
#[expect(unsafe_code, reason = "only the C library knows")]
fn system_value(name: libc::c_int) -> u64 {
    // SAFETY: it reads a constant and touches no memory of ours.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).unwrap_or(1).max(1)
}

fn own_cpu_ns(system: &dyn System) -> u64 {
    let usage = system.usage();
    usage.user_ns.saturating_add(usage.system_ns)
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        let stat = ProcessStat::parse(text)?;
        let number = |field: usize| stat.number::<u64>(field);
        // With what it used stands what the children it waited for used.
        let both = |own: usize, waited: usize| Some(number(own)?.saturating_add(number(waited)?));
        let tick_ns = 1_000_000_000 / system_value(libc::_SC_CLK_TCK);
        Some(Self {
            start: stat.start()?,
            sums: Sums {
                user_ns: both(14, 16)?.saturating_mul(tick_ns),
                system_ns: both(15, 17)?.saturating_mul(tick_ns),
                resident_bytes: number(24)?.saturating_mul(system_value(libc::_SC_PAGESIZE)),
                major_faults: both(12, 13)?,
                ..Sums::default()
            },
        })
    }
}

impl Sums {
    fn plus(&self, other: &Self) -> Self {
        let known = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        Self {
            user_ns: self.user_ns.saturating_add(other.user_ns),
            system_ns: self.system_ns.saturating_add(other.system_ns),
            resident_bytes: self.resident_bytes.saturating_add(other.resident_bytes),
            peak_resident_bytes: 0,
            major_faults: self.major_faults.saturating_add(other.major_faults),
            read_bytes: known(self.read_bytes, other.read_bytes),
            write_bytes: known(self.write_bytes, other.write_bytes),
        }
    }

    fn grown_to(&self, now: &Self) -> Self {
        let peak = now.peak_resident_bytes.max(now.resident_bytes);
        Self {
            user_ns: self.user_ns.max(now.user_ns),
            system_ns: self.system_ns.max(now.system_ns),
            resident_bytes: now.resident_bytes,
            peak_resident_bytes: self.peak_resident_bytes.max(peak),
            major_faults: self.major_faults.max(now.major_faults),
            read_bytes: self.read_bytes.max(now.read_bytes),
            write_bytes: self.write_bytes.max(now.write_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_system::ScriptedSystem;

    const ROOT: &str = "10 (sh (x) y) S 1 10 10 0 -1 0 5 6 1 2 30 40 100 200 20 0 1 0 77 9 3 0";
    const CHILD: &str = "11 (py) R 10 10 10 0 -1 0 5 6 0 0 7 8 0 0 20 0 1 0 88 9 4 0";

    fn probes(files: &[(&'static str, &'static str)]) -> TreeProbes {
        TreeProbes::new(Box::new(ScriptedSystem::of(files)))
    }

    fn reading(readings: &Readings, gauge: Gauge) -> Option<u64> {
        readings.iter().find(|(read, _)| *read == gauge).map(|(_, value)| *value)
    }

    #[test]
    fn a_tree_is_the_sum_of_its_processes_and_of_the_children_they_waited_for() {
        let mut probes = probes(&[
            ("/proc/10/stat", ROOT),
            ("/proc/10/children", "11"),
            ("/proc/10/io", "read_bytes: 100\nwrite_bytes: 1\n"),
            ("/proc/11/stat", CHILD),
            ("/proc/11/io", "read_bytes: 20\nwrite_bytes: 2\n"),
            ("/proc/11/threads", "11 12"),
            ("/proc/11/task/11/schedstat", "9 300 1"),
            ("/proc/11/task/12/schedstat", "9 50 1"),
            ("/proc/stat", "cpu  100 1 50 9000 800 3 6 40 99 0\ncpu0 1 1\ncpu1 1 1\nintr 5\n"),
        ]);
        probes.watch(10);
        let readings = probes.read(None);
        let tick = 1_000_000_000 / system_value(libc::_SC_CLK_TCK);
        assert_eq!(reading(&readings, Gauge::CpuUserNs), Some(137 * tick));
        assert_eq!(reading(&readings, Gauge::CpuSystemNs), Some(248 * tick));
        assert_eq!(reading(&readings, Gauge::ResidentBytes), Some(7 * system_value(libc::_SC_PAGESIZE)));
        assert_eq!(reading(&readings, Gauge::MajorFaults), Some(3));
        assert_eq!(reading(&readings, Gauge::StorageReadBytes), Some(120));
        assert_eq!(reading(&readings, Gauge::StorageWriteBytes), Some(3));
        assert_eq!(reading(&readings, Gauge::CpuWaitNs), Some(350));
        assert_eq!(reading(&readings, Gauge::MachineBusyNs), Some(1_600_000_000));
        assert_eq!(reading(&readings, Gauge::MachineStolenNs), Some(400_000_000));
        assert_eq!(reading(&readings, Gauge::MachineCpus), Some(2));
        assert_eq!(reading(&readings, Gauge::CpuClockKhz), None);
    }

    #[test]
    fn what_is_gone_stays_counted_and_a_pid_used_again_is_another_process() {
        let mut probes = probes(&[("/proc/11/stat", CHILD)]);
        probes.members = [(10, 77), (11, 1)].into();
        probes.sums = Sums { user_ns: 5, read_bytes: Some(9), ..Sums::default() };
        let usage = ChildUsage { user_ns: 7, peak_resident_bytes: 4096, ..ChildUsage::default() };
        let readings = probes.read(Some(&usage));
        assert!(probes.members.is_empty());
        assert_eq!(reading(&readings, Gauge::CpuUserNs), Some(7));
        assert_eq!(reading(&readings, Gauge::StorageReadBytes), Some(9));
        assert_eq!(reading(&readings, Gauge::PeakResidentBytes), Some(4096));
    }
}
