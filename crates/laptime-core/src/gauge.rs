//! Gauges: what the probes read of the process and the machine.

use serde::{Deserialize, Serialize};

use crate::Ticks;

/// What a probe reads. The number is what the log stores and never changes meaning.
///
/// Unless it says otherwise a gauge counts up from the start of the process or machine, so that what
/// happened in between is the difference of two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
#[serde(rename_all = "snake_case")]
pub enum Gauge {
    /// CPU time of the process in user mode, nanoseconds.
    CpuUserNs = 0,
    /// CPU time of the process in the kernel, nanoseconds.
    CpuSystemNs = 1,
    /// Times the process gave up the CPU to wait.
    VoluntarySwitches = 2,
    /// Times the CPU was taken from the process.
    InvoluntarySwitches = 3,
    /// CPUs the cgroup may use, in thousandths; absent without a quota. Not a count.
    CgroupQuotaMilliCpus = 4,
    /// Time the cgroup was held back by its quota, nanoseconds.
    CgroupThrottledNs = 5,
    /// Resident memory, bytes. Not a count.
    ResidentBytes = 6,
    /// The most memory that was resident so far, bytes. Not a count.
    PeakResidentBytes = 7,
    /// Page faults that had to wait for storage.
    MajorFaults = 8,
    /// Memory of the process that is swapped out, bytes. Not a count.
    SwappedBytes = 9,
    /// Bytes the process had fetched from storage.
    StorageReadBytes = 10,
    /// Bytes the process caused to be sent to storage.
    StorageWriteBytes = 11,
    /// Bytes received in the network namespace, loopback left out.
    NetworkReceivedBytes = 12,
    /// Bytes sent in the network namespace, loopback left out.
    NetworkSentBytes = 13,
    /// Load average over one minute, in thousandths. Not a count.
    LoadMilli = 14,
    /// Time some task of the machine waited for a CPU, nanoseconds.
    CpuPressureNs = 15,
    /// CPU time of the recorder's own flusher thread, nanoseconds.
    RecorderCpuNs = 16,
    /// Clock of the fastest CPU, kHz. Not a count.
    CpuClockKhz = 17,
    /// Times a CPU was slowed down by heat.
    HeatThrottles = 18,
    /// Time threads of the process were ready to run and waited for a CPU, nanoseconds.
    CpuWaitNs = 19,
    /// Time the CPUs of the machine were busy, all added up, nanoseconds.
    MachineBusyNs = 20,
    /// Time the hypervisor gave the CPUs of the machine to others, all added up, nanoseconds.
    MachineStolenNs = 21,
    /// CPUs of the machine, whether or not the process may use them. Not a count.
    MachineCpus = 22,
    /// Time some kernel ran on the device, nanoseconds.
    DeviceBusyNs = 23,
    /// Time its multiprocessors were busy, as their mean, nanoseconds.
    DeviceCoresNs = 24,
    /// Time its tensor cores were busy, as their mean, nanoseconds.
    DeviceTensorNs = 25,
    /// Time its memory was read or written at the full rate, nanoseconds.
    DeviceMemoryBusNs = 26,
    /// Memory of the device that is taken, by anyone, bytes. Not a count.
    DeviceMemoryBytes = 27,
    /// Memory of the device, bytes. Not a count.
    DeviceMemoryTotalBytes = 28,
    /// Clock of its multiprocessors, MHz. Not a count.
    DeviceClockMhz = 29,
    /// The highest clock they may have, MHz. Not a count.
    DeviceHighestClockMhz = 30,
    /// What it draws, milliwatts. Not a count.
    DevicePowerMilliwatts = 31,
    /// What it may draw, milliwatts. Not a count.
    DevicePowerLimitMilliwatts = 32,
    /// Its temperature, thousandths of a degree Celsius. Not a count.
    DeviceMilliCelsius = 33,
    /// Why its clock is lowered, as NVML's bits. Not a count.
    DeviceClockReasons = 34,
    /// Bytes it received over PCIe.
    DeviceReceivedBytes = 35,
    /// Bytes it sent over PCIe.
    DeviceSentBytes = 36,
    /// Time over which the device's readings were taken, nanoseconds: what its other times are shares of.
    DeviceUsedNs = 37,
}

impl Gauge {
    /// Every gauge, at the index that is its number.
    pub const ALL: [Self; 38] = [
        Self::CpuUserNs,
        Self::CpuSystemNs,
        Self::VoluntarySwitches,
        Self::InvoluntarySwitches,
        Self::CgroupQuotaMilliCpus,
        Self::CgroupThrottledNs,
        Self::ResidentBytes,
        Self::PeakResidentBytes,
        Self::MajorFaults,
        Self::SwappedBytes,
        Self::StorageReadBytes,
        Self::StorageWriteBytes,
        Self::NetworkReceivedBytes,
        Self::NetworkSentBytes,
        Self::LoadMilli,
        Self::CpuPressureNs,
        Self::RecorderCpuNs,
        Self::CpuClockKhz,
        Self::HeatThrottles,
        Self::CpuWaitNs,
        Self::MachineBusyNs,
        Self::MachineStolenNs,
        Self::MachineCpus,
        Self::DeviceBusyNs,
        Self::DeviceCoresNs,
        Self::DeviceTensorNs,
        Self::DeviceMemoryBusNs,
        Self::DeviceMemoryBytes,
        Self::DeviceMemoryTotalBytes,
        Self::DeviceClockMhz,
        Self::DeviceHighestClockMhz,
        Self::DevicePowerMilliwatts,
        Self::DevicePowerLimitMilliwatts,
        Self::DeviceMilliCelsius,
        Self::DeviceClockReasons,
        Self::DeviceReceivedBytes,
        Self::DeviceSentBytes,
        Self::DeviceUsedNs,
    ];

    /// The gauge with this number; `None` for one from a newer version.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// All gauges that could be read at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When they were read.
    pub at: Ticks,
    /// What they showed; a gauge this machine does not have is left out.
    pub readings: Vec<(Gauge, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gauge_stands_at_its_number() {
        for (at, gauge) in Gauge::ALL.into_iter().enumerate() {
            assert_eq!(gauge as usize, at);
        }
    }
}
