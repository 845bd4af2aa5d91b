//! Probes: what the process and the machine did, one file per source.

mod cpu;
mod disk;
#[doc(hidden)]
pub mod gpu;
mod load;
mod memory;
mod network;
mod own_cost;

use std::fs;

use laptime_core::proc::cgroup_folder;
use laptime_core::{Gauge, Sample, Ticks};

/// What probes ask of the system, so that they can be tested with scripted answers.
pub trait System: Send {
    /// The text of a file under `/proc` or `/sys`; `None` when it cannot be read.
    fn text(&self, path: &str) -> Option<String>;
    /// What the process used so far.
    fn usage(&self) -> Usage;
    /// CPU time of the calling thread, nanoseconds.
    fn thread_cpu_ns(&self) -> u64;
}

/// What the kernel counts for a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// CPU time in user mode, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Times a CPU was given up to wait.
    pub voluntary_switches: u64,
    /// Times a CPU was taken away.
    pub involuntary_switches: u64,
    /// Page faults that waited for storage.
    pub major_faults: u64,
}

/// The machine itself.
pub struct RealSystem;

impl System for RealSystem {
    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(path).ok()
    }

    fn usage(&self) -> Usage {
        cpu::usage_of_this_process()
    }

    fn thread_cpu_ns(&self) -> u64 {
        own_cost::cpu_time_of_this_thread()
    }
}

/// What was read, each with its value.
pub type Readings = Vec<(Gauge, u64)>;

/// All probes of this process.
pub(crate) struct Probes {
    system: Box<dyn System>,
    cgroup: Option<String>,
    gpu: gpu::GpuProbe,
}

impl Probes {
    pub(crate) fn new(system: Box<dyn System>) -> Self {
        let cgroup = own_cgroup(system.as_ref());
        Self { system, cgroup, gpu: gpu::GpuProbe::default() }
    }

    /// Reads every probe; what this machine does not have is left out.
    pub(crate) fn sample(&mut self, at: Ticks) -> Sample {
        let mut sample = self.process_and_machine(at);
        self.gpu.read(&mut sample.readings);
        sample.readings.push((Gauge::RecorderCpuNs, self.system.thread_cpu_ns()));
        sample
    }

    /// Every probe but the one of the thread that reads them.
    pub(crate) fn process_and_machine(&self, at: Ticks) -> Sample {
        let (system, mut readings) = (self.system.as_ref(), Readings::new());
        let usage = system.usage();
        cpu::read(&usage, self.cgroup.as_deref(), system, &mut readings);
        memory::read(&usage, system, &mut readings);
        disk::read(system, &mut readings);
        network::read(system, &mut readings);
        load::read(system, &mut readings);
        Sample { at, readings }
    }
}

/// The folder of this process' control group (version 2); `None` where there is none.
#[must_use]
pub fn own_cgroup(system: &dyn System) -> Option<String> {
    cgroup_folder(&system.text("/proc/self/cgroup")?)
}

/// What the machine and a control group show, whoever made them so.
#[must_use]
pub fn read_surroundings(cgroup: Option<&str>, system: &dyn System) -> Readings {
    let mut readings = Readings::new();
    cpu::read_cgroup(cgroup, system, &mut readings);
    network::read(system, &mut readings);
    load::read(system, &mut readings);
    readings
}

/// What a process had used before it was forked; what the machine counts is not zero then.
#[must_use]
pub fn nothing_used_at(at: Ticks) -> Sample {
    let counted = [
        Gauge::CpuUserNs,
        Gauge::CpuSystemNs,
        Gauge::VoluntarySwitches,
        Gauge::InvoluntarySwitches,
        Gauge::MajorFaults,
        Gauge::StorageReadBytes,
        Gauge::StorageWriteBytes,
    ];
    Sample { at, readings: counted.map(|gauge| (gauge, 0)).to_vec() }
}

/// Adds a reading that could be taken.
fn put(readings: &mut Readings, gauge: Gauge, value: Option<u64>) {
    readings.extend(value.map(|value| (gauge, value)));
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A machine whose files say what a test wrote.
    #[derive(Default)]
    pub(crate) struct ScriptedSystem {
        pub(crate) files: HashMap<&'static str, &'static str>,
        pub(crate) usage: Usage,
    }

    impl System for ScriptedSystem {
        fn text(&self, path: &str) -> Option<String> {
            self.files.get(path).map(|text| (*text).to_owned())
        }

        fn usage(&self) -> Usage {
            self.usage
        }

        fn thread_cpu_ns(&self) -> u64 {
            77
        }
    }

    fn scripted(files: &[(&'static str, &'static str)]) -> ScriptedSystem {
        ScriptedSystem { files: files.iter().copied().collect(), ..ScriptedSystem::default() }
    }

    fn reading(sample: &Sample, gauge: Gauge) -> Option<u64> {
        sample.readings.iter().find(|(read, _)| *read == gauge).map(|(_, value)| *value)
    }

    #[test]
    fn every_source_is_read_in_its_own_unit() {
        let system = scripted(&[
            ("/proc/self/cgroup", "0::/training.slice\n"),
            ("/sys/fs/cgroup/training.slice/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/training.slice/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 42\n"),
            ("/proc/self/status", "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nVmSwap:\t  4 kB\n"),
            ("/proc/self/io", "rchar: 9\nread_bytes: 4096\nwrite_bytes: 512\n"),
            (
                "/proc/self/net/dev",
                "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 1 1 0 0 0 0 0 0 1 1 0\n  eth0: 100 1 0 0 0 0 0 0 30 1 0\n  eth1: 7 1 0 0 0 0 0 0 3 1 0\n",
            ),
            ("/proc/loadavg", "1.25 0.50 0.10 1/100 42\n"),
            (
                "/proc/pressure/cpu",
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 total=0\n",
            ),
        ]);
        let sample = Probes::new(Box::new(system)).sample(Ticks(5));
        let expected = [
            (Gauge::CgroupQuotaMilliCpus, 1500),
            (Gauge::CgroupThrottledNs, 42_000),
            (Gauge::ResidentBytes, 1 << 20),
            (Gauge::PeakResidentBytes, 2 << 20),
            (Gauge::SwappedBytes, 4096),
            (Gauge::StorageReadBytes, 4096),
            (Gauge::StorageWriteBytes, 512),
            (Gauge::NetworkReceivedBytes, 107),
            (Gauge::NetworkSentBytes, 33),
            (Gauge::LoadMilli, 1250),
            (Gauge::CpuPressureNs, 1_234_000),
            (Gauge::RecorderCpuNs, 77),
        ];
        for (gauge, value) in expected {
            assert_eq!(reading(&sample, gauge), Some(value), "{gauge:?}");
        }
    }

    #[test]
    fn what_a_machine_does_not_have_is_left_out_and_garbage_too() {
        let bare = Probes::new(Box::new(scripted(&[]))).sample(Ticks(0));
        assert_eq!(reading(&bare, Gauge::CpuPressureNs), None);
        assert_eq!(reading(&bare, Gauge::CgroupQuotaMilliCpus), None);
        let garbage = scripted(&[
            ("/proc/self/cgroup", "0::/"),
            ("/sys/fs/cgroup/cpu.max", "max 100000"),
            ("/proc/self/status", "VmRSS: lots"),
            ("/proc/loadavg", ""),
            ("/proc/self/net/dev", "eth0: 1"),
            ("/proc/pressure/cpu", "some total=x"),
        ]);
        let sample = Probes::new(Box::new(garbage)).sample(Ticks(0));
        for gauge in
            [Gauge::CgroupQuotaMilliCpus, Gauge::ResidentBytes, Gauge::LoadMilli, Gauge::CpuPressureNs]
        {
            assert_eq!(reading(&sample, gauge), None, "{gauge:?}");
        }
    }

    #[test]
    fn this_machine_tells_at_least_cpu_time_and_memory() {
        let sample = Probes::new(Box::new(RealSystem)).sample(Ticks(0));
        assert!(reading(&sample, Gauge::ResidentBytes).unwrap() > 100_000);
        assert!(reading(&sample, Gauge::CpuUserNs).is_some());
    }
}
