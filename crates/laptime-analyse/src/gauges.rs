//! Gauges and counters folded: memory, bytes moved and what the process got of the machine.

use std::collections::BTreeMap;

use laptime_core::{Counter, Gauge, RunMeta, Sample, Ticks, Timebase};

use crate::report::{MachineUse, Memory, Transfer};

/// CPU time is counted by the clock tick, so over less than this its share of the time means nothing.
const SHORTEST_SAMPLED_S: f64 = 0.1;

/// Samples kept one by one before every other one goes: enough to distinguish the passes from what is around them.
const MOST_SAMPLES: usize = 256;
/// Fewer samples than this say too little of a part.
const FEW_SAMPLES: usize = 3;
/// What the whole machine did is counted in ticks of 10 ms for each CPU: over less than this it means nothing.
const SHORTEST_MACHINE_S: f64 = 1.0;

/// NVML's bits of why a clock is lowered: by heat, and by the power limit.
const BY_HEAT: u64 = 0x8 | 0x20 | 0x40;
const BY_POWER: u64 = 0x4;

/// What one gauge showed over time.
#[derive(Clone, Copy, Debug, Default)]
struct Readings {
    first: u64,
    last: u64,
    most: u64,
    sum: f64,
    count: u64,
}

/// Samples in time order, evenly thinned out so that a long run keeps its whole course in bounded memory.
#[derive(Clone, Debug, Default)]
struct Course {
    kept: Vec<Sample>,
    newest: Option<Sample>,
    taken: u64,
    /// Every so many samples one is kept, as a power of two.
    thinned: u32,
}

impl Course {
    fn take(&mut self, sample: &Sample) {
        if self.taken.is_multiple_of(1 << self.thinned) {
            self.kept.push(sample.clone());
        }
        self.taken += 1;
        self.newest = Some(sample.clone());
        if self.kept.len() >= MOST_SAMPLES {
            self.thin();
        }
    }

    fn thin(&mut self) {
        let mut at = 0;
        self.kept.retain(|_| {
            at += 1;
            at % 2 == 1
        });
        self.thinned += 1;
    }

    /// All that are kept, and the newest.
    fn all(&self) -> impl Iterator<Item = &Sample> {
        let last = self.kept.last().map(|sample| sample.at);
        self.kept.iter().chain(self.newest.iter().filter(move |sample| Some(sample.at) > last))
    }

    /// The samples from one instant to another; where those are few, with their neighbours on either side.
    fn between(&self, from: Ticks, to: Ticks) -> Vec<&Sample> {
        let all: Vec<&Sample> = self.all().collect();
        let first = all.partition_point(|sample| sample.at < from);
        let end = all.partition_point(|sample| sample.at <= to);
        let widen = usize::from(end.saturating_sub(first) < FEW_SAMPLES);
        let range = first.saturating_sub(widen)..(end + widen).min(all.len());
        all.get(range).unwrap_or_default().to_vec()
    }
}

/// First, last and highest reading of every gauge, and the sum of every counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauges {
    readings: BTreeMap<Gauge, Readings>,
    counted: BTreeMap<Counter, u64>,
    first_at: Option<Ticks>,
    last_at: Ticks,
    course: Course,
    /// Readings of why a device's clock is lowered: all, by heat, by its power limit.
    clock_reasons: [u64; 3],
}

impl Gauges {
    /// Keeps the ends and a few samples between them.
    pub(crate) fn coarsen(&mut self) {
        const SAMPLES: usize = 8;
        while self.course.kept.len() > SAMPLES {
            self.course.thin();
        }
        self.course.kept.shrink_to_fit();
    }

    /// Takes the next sample of the probes.
    pub(crate) fn take(&mut self, sample: &Sample) {
        self.fold(sample);
        self.course.take(sample);
    }

    fn fold(&mut self, sample: &Sample) {
        self.first_at.get_or_insert(sample.at);
        self.last_at = self.last_at.max(sample.at);
        for (gauge, value) in &sample.readings {
            let fresh = Readings { first: *value, ..Readings::default() };
            let readings = self.readings.entry(*gauge).or_insert(fresh);
            readings.last = *value;
            readings.most = readings.most.max(*value);
            readings.sum += *value as f64;
            readings.count += 1;
            if *gauge == Gauge::DeviceClockReasons {
                let reasons = [u64::MAX, BY_HEAT, BY_POWER];
                let counts = self.clock_reasons.iter_mut().zip(reasons);
                counts.enumerate().for_each(|(at, (count, bits))| {
                    *count += u64::from(at == 0 || value & bits != 0);
                });
            }
        }
    }

    /// The gauges from one instant to another; counters are not among them.
    pub(crate) fn between(&self, from: Ticks, to: Ticks) -> Self {
        let mut part = Self::default();
        self.course.between(from, to).into_iter().for_each(|sample| part.fold(sample));
        part
    }

    /// A gauge at an instant: between two samples in proportion to the time, outside them as the nearest.
    pub(crate) fn at(&self, gauge: Gauge, at: Ticks) -> Option<f64> {
        let (mut before, mut after) = (None, None);
        for (time, value) in self.points(gauge) {
            match time <= at {
                true => before = Some((time, value)),
                false => {
                    after = Some((time, value));
                    break;
                }
            }
        }
        match (before, after) {
            (Some((from, low)), Some((to, high))) => {
                Some(low + (high - low) * at.since(from).0 as f64 / to.since(from).0 as f64)
            }
            (one, other) => one.or(other).map(|(_, value)| value),
        }
    }

    /// A gauge that counts, at an instant, by how it grew from the first sample after it to the newest: what ended at that
    /// instant is no part of what came next. `None` where there are not two.
    pub(crate) fn at_growing(&self, gauge: Gauge, at: Ticks) -> Option<f64> {
        let mut later = self.points(gauge).filter(|(time, _)| *time >= at);
        let ((from, low), (to, high)) = (later.next()?, later.last()?);
        let rate = (high - low) / to.since(from).0.max(1) as f64;
        Some(low - rate * from.since(at).0 as f64)
    }

    /// The samples that are kept of a gauge.
    fn points(&self, gauge: Gauge) -> impl Iterator<Item = (Ticks, f64)> {
        self.course.all().filter_map(move |sample| {
            let reading = sample.readings.iter().find(|(name, _)| *name == gauge);
            reading.map(|(_, value)| (sample.at, *value as f64))
        })
    }

    /// Adds to a counter.
    pub(crate) fn count(&mut self, counter: Counter, amount: u64) {
        let sum = self.counted.entry(counter).or_default();
        *sum = sum.saturating_add(amount);
    }

    /// The first reading of a gauge.
    pub(crate) fn first(&self, gauge: Gauge) -> Option<u64> {
        self.readings.get(&gauge).map(|readings| readings.first)
    }

    /// The newest reading of a gauge.
    pub(crate) fn last(&self, gauge: Gauge) -> Option<u64> {
        self.readings.get(&gauge).map(|readings| readings.last)
    }

    /// The share of the readings in which heat lowered a device's clock, and in which its power limit did.
    pub(crate) fn clock_lowered(&self) -> Option<(f64, f64)> {
        let [all, heat, power] = self.clock_reasons.map(|count| count as f64);
        (all > 0.0).then(|| (heat / all, power / all))
    }

    /// The highest reading of a gauge.
    pub(crate) fn most(&self, gauge: Gauge) -> Option<u64> {
        self.readings.get(&gauge).map(|readings| readings.most)
    }

    /// The mean of a gauge.
    pub(crate) fn mean(&self, gauge: Gauge) -> Option<f64> {
        self.readings.get(&gauge).map(|readings| readings.sum / readings.count.max(1) as f64)
    }

    /// How much a gauge that counts has grown.
    pub(crate) fn grown(&self, gauge: Gauge) -> Option<u64> {
        self.readings.get(&gauge).map(|readings| readings.last.saturating_sub(readings.first))
    }

    pub(crate) fn counted(&self, counter: Counter) -> u64 {
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
            peak_device_bytes: self.most(Gauge::DeviceMemoryBytes),
            major_faults: self.grown(Gauge::MajorFaults),
            swapped_bytes: self.most(Gauge::SwappedBytes),
        }
    }

    /// Bytes that moved; a zero is reported only where it is known that nothing can have moved.
    pub(crate) fn transfer(&self, meta: &RunMeta) -> Transfer {
        let known = |counter, impossible: bool| {
            let bytes = self.counted(counter);
            (bytes > 0 || impossible).then_some(bytes)
        };
        // Whoever counts what is copied counts how.
        let copied = self.counted(Counter::HostToDeviceBytes) > 0;
        let (received, sent) = (self.grown(Gauge::NetworkReceivedBytes), self.grown(Gauge::NetworkSentBytes));
        Transfer {
            file_read_bytes: self.counted(Counter::FileReadBytes),
            storage_read_bytes: self.grown(Gauge::StorageReadBytes),
            batch_bytes: self.counted(Counter::BatchBytes),
            batch_bytes_per_epoch: None,
            host_to_device_bytes: known(Counter::HostToDeviceBytes, meta.device.as_deref() == Some("cpu")),
            pageable_bytes: known(Counter::PageableBytes, copied),
            blocking_bytes: known(Counter::BlockingBytes, copied),
            device_to_host_bytes: known(Counter::DeviceToHostBytes, copied),
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
        let cpu_s = cpu.map(|(user, system)| user + system).filter(|_| sampled >= SHORTEST_SAMPLED_S);
        let of_machine = |gauge| seconds(gauge).filter(|_| sampled >= SHORTEST_MACHINE_S);
        let cpus = self.last(Gauge::MachineCpus);
        let mhz = |khz: f64| khz / 1e3;
        MachineUse {
            cpu_s,
            busy_cpus: None,
            involuntary_switches: self.grown(Gauge::InvoluntarySwitches),
            throttled_s: seconds(Gauge::CgroupThrottledNs),
            quota_cpus: self.last(Gauge::CgroupQuotaMilliCpus).map(|milli| milli as f64 / 1e3),
            peak_load: self.most(Gauge::LoadMilli).map(|milli| milli as f64 / 1e3),
            cpu_pressure: seconds(Gauge::CpuPressureNs).and_then(share),
            cpu_wait_s: seconds(Gauge::CpuWaitNs),
            cpus,
            other_cpus: of_machine(Gauge::MachineBusyNs)
                .zip(cpu_s)
                .map(|(busy, own)| ((busy - own) / sampled).max(0.0)),
            stolen: of_machine(Gauge::MachineStolenNs)
                .zip(cpus)
                .map(|(stolen, cpus)| (stolen / sampled / cpus as f64).min(1.0)),
            clock_mhz: self.mean(Gauge::CpuClockKhz).map(mhz),
            peak_clock_mhz: self.most(Gauge::CpuClockKhz).map(|khz| mhz(khz as f64)),
            heat_throttles: self.grown(Gauge::HeatThrottles),
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
    fn between_samples_a_gauge_grows_evenly() {
        let mut gauges = Gauges::default();
        for (at, bytes) in [(10, 100), (20, 300), (40, 300)] {
            gauges.take(&sample(at, &[(Gauge::StorageReadBytes, bytes)]));
        }
        let at = |ticks| gauges.at(Gauge::StorageReadBytes, Ticks(ticks));
        assert_eq!((at(0), at(10), at(15)), (Some(100.0), Some(100.0), Some(200.0)));
        assert_eq!(
            (at(30), at(99), gauges.at(Gauge::SwappedBytes, Ticks(15))),
            (Some(300.0), Some(300.0), None)
        );
    }

    #[test]
    fn what_was_read_until_an_instant_is_no_part_of_what_is_read_from_then_on() {
        let read = |points: &[(u64, u64)]| {
            let mut gauges = Gauges::default();
            let bytes = |bytes| [(Gauge::StorageReadBytes, bytes)];
            points.iter().for_each(|(at, count)| gauges.take(&sample(*at, &bytes(*count))));
            gauges.at_growing(Gauge::StorageReadBytes, Ticks(15))
        };
        // All of it in the first epoch, which ends at 15, and the same in every one.
        assert_eq!(read(&[(0, 0), (10, 80), (20, 120), (30, 120), (60, 120)]), Some(120.0));
        assert_eq!(read(&[(0, 0), (10, 100), (20, 200), (30, 300), (60, 600)]), Some(150.0));
        assert_eq!((read(&[(0, 0), (10, 80)]), read(&[(0, 0), (20, 80)])), (None, None));
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
    fn what_other_programs_use_is_what_the_machine_does_beside_the_process() {
        let mut gauges = Gauges::default();
        let at = |seconds: u64, cpu: u64, busy: u64, khz: u64| {
            let readings = [
                (Gauge::CpuUserNs, cpu * 1_000_000_000),
                (Gauge::CpuSystemNs, 0),
                (Gauge::MachineBusyNs, busy * 1_000_000_000),
                (Gauge::MachineStolenNs, seconds * 62_500_000),
                (Gauge::MachineCpus, 2),
                (Gauge::CpuClockKhz, khz),
                (Gauge::HeatThrottles, 7 + seconds),
            ];
            sample(seconds * 1_000_000_000, &readings)
        };
        gauges.take(&at(0, 0, 100, 4_000_000));
        gauges.take(&at(16, 16, 124, 2_000_000));
        let found = gauges.machine_use(&Timebase::NANOSECONDS);
        assert_eq!((found.other_cpus, found.stolen), (Some(0.5), Some(0.03125)));
        assert_eq!((found.clock_mhz, found.peak_clock_mhz), (Some(3000.0), Some(4000.0)));
        assert_eq!((found.heat_throttles, found.cpu_wait_s), (Some(16), None));
    }

    #[test]
    fn a_long_course_is_thinned_and_a_part_of_it_has_its_own_growth() {
        let mut gauges = Gauges::default();
        for second in 0..5_000_u64 {
            let waited = second.saturating_sub(1_000).min(2_000);
            gauges.take(&sample(second, &[(Gauge::CpuWaitNs, waited)]));
        }
        assert!(gauges.course.kept.len() < MOST_SAMPLES);
        let growth = |from, to| gauges.between(Ticks(from), Ticks(to)).grown(Gauge::CpuWaitNs);
        assert_eq!(growth(0, 900), Some(0));
        assert!(growth(1_000, 3_000).is_some_and(|grown| grown > 1_900), "{:?}", growth(1_000, 3_000));
        assert_eq!(gauges.between(Ticks(0), Ticks(9_000)).last_at, Ticks(4_999));
        assert_eq!(growth(7_000, 9_000), Some(0), "the neighbour before it");
    }

    #[test]
    fn pressure_is_a_share_of_the_sampled_time() {
        let mut gauges = Gauges::default();
        gauges.take(&sample(0, &[(Gauge::CpuPressureNs, 0)]));
        gauges.take(&sample(2_000_000_000, &[(Gauge::CpuPressureNs, 500_000_000)]));
        assert_eq!(gauges.machine_use(&Timebase::NANOSECONDS).cpu_pressure, Some(0.25));
    }
}
