//! What a run used: start-up, memory, bytes, CPUs, and the recorder itself.

use serde::Serialize;

/// What a run does before its first fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartUp {
    /// From the run's start to the first fit, seconds.
    pub seconds: f64,
    /// Importing modules, seconds.
    pub imports_s: f64,
    /// The slowest of those, the slowest first.
    pub imports: Vec<ImportTime>,
    /// The rest: reading data, building the model, seconds.
    pub preparation_s: f64,
}

/// One module that was imported, outside any other import.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportTime {
    /// Its name.
    pub name: String,
    /// How long it took, what it imported itself included.
    pub seconds: f64,
}

/// Memory of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// The most that was resident.
    pub peak_rss_bytes: Option<u64>,
    /// The most that was in use on a device.
    pub peak_device_bytes: Option<u64>,
    /// Page faults that waited for storage.
    pub major_faults: Option<u64>,
    /// The most that was swapped out.
    pub swapped_bytes: Option<u64>,
}

/// Bytes that moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Transfer {
    /// Bytes of data files read by the training, from storage or cache.
    pub file_read_bytes: u64,
    /// Bytes the kernel fetched from storage for the process.
    pub storage_read_bytes: Option<u64>,
    /// Bytes of batches handed to the model.
    pub batch_bytes: u64,
    /// The same of an epoch; absent unless all epochs are whole and of one fit.
    pub batch_bytes_per_epoch: Option<u64>,
    /// Bytes copied to a device.
    pub host_to_device_bytes: Option<u64>,
    /// Of the bytes copied to a device, those from memory that is not pinned.
    pub pageable_bytes: Option<u64>,
    /// Of the bytes copied to a device, those that the host waited for.
    pub blocking_bytes: Option<u64>,
    /// Bytes copied from a device.
    pub device_to_host_bytes: Option<u64>,
    /// Bytes exchanged between ranks.
    pub between_ranks_bytes: Option<u64>,
    /// Bytes received and sent in the network namespace, other programs' too.
    pub network_bytes: Option<u64>,
}

/// What the process got of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MachineUse {
    /// CPU time of the process, seconds.
    pub cpu_s: Option<f64>,
    /// CPUs that it kept busy, on average.
    pub busy_cpus: Option<f64>,
    /// Times the CPU was taken from the process.
    pub involuntary_switches: Option<u64>,
    /// Time the cgroup was held back by its quota, seconds.
    pub throttled_s: Option<f64>,
    /// CPUs the cgroup may use; absent without a quota.
    pub quota_cpus: Option<f64>,
    /// Highest load average seen.
    pub peak_load: Option<f64>,
    /// Share of the time some task of the machine waited for a CPU, 0 to 1.
    pub cpu_pressure: Option<f64>,
    /// Time its threads were ready to run and waited for a CPU, all added up, seconds.
    pub cpu_wait_s: Option<f64>,
    /// CPUs of the machine, whether or not the process may use them.
    pub cpus: Option<u64>,
    /// CPUs that other programs kept busy, on average.
    pub other_cpus: Option<f64>,
    /// Share of the CPUs' time that the hypervisor gave to others, 0 to 1.
    pub stolen: Option<f64>,
    /// Clock of the fastest CPU, mean, MHz.
    pub clock_mhz: Option<f64>,
    /// Clock of the fastest CPU, the highest seen, MHz.
    pub peak_clock_mhz: Option<f64>,
    /// Times a CPU was slowed down by heat.
    pub heat_throttles: Option<u64>,
}

/// What laptime itself cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Overhead {
    /// Spans times the cost of one, plus the flusher's CPU time; seconds.
    pub seconds: f64,
    /// Share of `wall_s`.
    pub share: f64,
    /// Spans put on record or counted.
    pub spans: u64,
    /// The cost of one span, measured in a hot loop at start, nanoseconds; in a real step it is more.
    pub span_cost_ns: Option<f64>,
    /// What all spans cost, seconds.
    pub spans_s: Option<f64>,
    /// CPU time of the flusher thread, seconds.
    pub flusher_cpu_s: Option<f64>,
}
