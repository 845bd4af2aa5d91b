//! Gauges and counters folded: memory, bytes moved and what the process got of the machine.

use std::collections::BTreeMap;

use laptime_core::{Counter, Gauge, RunMeta, Sample, Ticks, Timebase};

use crate::report::{MachineUse, Memory, Transfer};

/// CPU time is counted by the clock tick, so over less than this its share of the time means nothing.
const SHORTEST_SAMPLED_S: f64 = 0.1;

/// What one gauge showed over time.
#[derive(Clone, Copy, Debug)]
struct Readings {
    first: u64,
    last: u64,
    most: u64,
}

/// First, last and highest reading of every gauge, and the sum of every counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauges {
    readings: BTreeMap<Gauge, Readings>,
    counted: BTreeMap<Counter, u64>,
    first_at: Option<Ticks>,
    last_at: Ticks,
}

impl Gauges {
    /// Takes the next sample of the probes.
    pub(crate) fn take(&mut self, sample: &Sample) {
        self.first_at.get_or_insert(sample.at);
        self.last_at = self.last_at.max(sample.at);
        for (gauge, value) in &sample.readings {
            let fresh = Readings { first: *value, last: *value, most: *value };
            let readings = self.readings.entry(*gauge).or_insert(fresh);
            readings.last = *value;
            readings.most = readings.most.max(*value);
        }
    }

    /// Adds to a counter.
    pub(crate) fn count(&mut self, counter: Counter, amount: u64) {
        let sum = self.counted.entry(counter).or_default();
        *sum = sum.saturating_add(amount);
    }

    /// The newest reading of a gauge.
    pub(crate) fn last(&self, gauge: Gauge) -> Option<u64> {
        self.readings.get(&gauge).map(|readings| readings.last)
    }

    fn most(&self, gauge: Gauge) -> Option<u64> {
        self.readings.get(&gauge).map(|readings| readings.most)
    }

    fn grown(&self, gauge: Gauge) -> Option<u64> {
        self.readings.get(&gauge).map(|readings| readings.last.saturating_sub(readings.first))
    }

    fn counted(&self, counter: Counter) -> u64 {
        self.counted.get(&counter).copied().unwrap_or(0)
    }

    /// Time between the first and the last sample, which is what growth of a gauge is over.
    pub(crate) fn sampled_s(&self, timebase: &Timebase) -> f64 {
        self.first_at.map_or(0.0, |first| timebase.seconds(self.last_at.since(first)))
    }

    /// Memory of the process.
    pub(crate) fn memory(&self) -> Memory {
        Memory {
            peak_rss_bytes: self.most(Gauge::PeakResidentBytes).max(self.most(Gauge::ResidentBytes)),
            peak_device_bytes: None,
            major_faults: self.grown(Gauge::MajorFaults),
            swapped_bytes: self.most(Gauge::SwappedBytes),
        }
    }

    /// Bytes that moved; a zero is told only where it is known that nothing can have moved.
    pub(crate) fn transfer(&self, meta: &RunMeta) -> Transfer {
        let known = |counter, impossible: bool| {
            let bytes = self.counted(counter);
            (bytes > 0 || impossible).then_some(bytes)
        };
        let (received, sent) = (self.grown(Gauge::NetworkReceivedBytes), self.grown(Gauge::NetworkSentBytes));
        Transfer {
            file_read_bytes: self.counted(Counter::FileReadBytes),
            storage_read_bytes: self.grown(Gauge::StorageReadBytes),
            batch_bytes: self.counted(Counter::BatchBytes),
            host_to_device_bytes: known(Counter::HostToDeviceBytes, meta.device.as_deref() == Some("cpu")),
            between_ranks_bytes: known(Counter::BetweenRanksBytes, meta.ranks == 1),
            network_bytes: received.zip(sent).map(|(received, sent)| received.saturating_add(sent)),
        }
    }

    /// CPU time, switches, throttling and load.
    pub(crate) fn machine_use(&self, timebase: &Timebase) -> MachineUse {
        let seconds = |gauge| self.grown(gauge).map(|ns| ns as f64 * 1e-9);
        let cpu = seconds(Gauge::CpuUserNs).zip(seconds(Gauge::CpuSystemNs));
        let sampled = self.sampled_s(timebase);
        let share = |waited: f64| (sampled > 0.0).then(|| (waited / sampled).clamp(0.0, 1.0));
        MachineUse {
            cpu_s: cpu.map(|(user, system)| user + system).filter(|_| sampled >= SHORTEST_SAMPLED_S),
            involuntary_switches: self.grown(Gauge::InvoluntarySwitches),
            throttled_s: seconds(Gauge::CgroupThrottledNs),
            quota_cpus: self.last(Gauge::CgroupQuotaMilliCpus).map(|milli| milli as f64 / 1e3),
            peak_load: self.most(Gauge::LoadMilli).map(|milli| milli as f64 / 1e3),
            cpu_pressure: seconds(Gauge::CpuPressureNs).and_then(share),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, readings: &[(Gauge, u64)]) -> Sample {
        Sample { at: Ticks(at), readings: readings.to_vec() }
    }

    #[test]
    fn counts_are_differences_and_levels_are_peaks() {
        let mut gauges = Gauges::default();
        gauges.take(&sample(0, &[(Gauge::StorageReadBytes, 100), (Gauge::SwappedBytes, 5)]));
        gauges.take(&sample(5, &[(Gauge::StorageReadBytes, 150), (Gauge::SwappedBytes, 9)]));
        gauges.take(&sample(9, &[(Gauge::StorageReadBytes, 170), (Gauge::SwappedBytes, 1)]));
        let transfer = gauges.transfer(&RunMeta::default());
        assert_eq!(transfer.storage_read_bytes, Some(70));
        assert_eq!(transfer.network_bytes, None);
        assert_eq!(gauges.memory().swapped_bytes, Some(9));
        assert_eq!(gauges.memory().peak_rss_bytes, None);
    }

    #[test]
    fn nothing_copied_is_zero_on_a_cpu_and_unknown_elsewhere() {
        let gauges = Gauges::default();
        let on = |device: &str| RunMeta { device: Some(device.into()), ranks: 1, ..RunMeta::default() };
        assert_eq!(gauges.transfer(&on("cpu")).host_to_device_bytes, Some(0));
        assert_eq!(gauges.transfer(&on("cuda:0")).host_to_device_bytes, None);
        assert_eq!(gauges.transfer(&on("cpu")).between_ranks_bytes, Some(0));
    }

    #[test]
    fn pressure_is_a_share_of_the_sampled_time() {
        let mut gauges = Gauges::default();
        gauges.take(&sample(0, &[(Gauge::CpuPressureNs, 0)]));
        gauges.take(&sample(2_000_000_000, &[(Gauge::CpuPressureNs, 500_000_000)]));
        assert_eq!(gauges.machine_use(&Timebase::NANOSECONDS).cpu_pressure, Some(0.25));
    }
}
