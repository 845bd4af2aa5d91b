//! Readings: the samples of one process as amounts and rates.

use laptime_core::{Gauge, Sample, Ticks};

use super::Quantity;

/// Gauges that show how much there is.
const LEVELS: [(Gauge, Quantity, f64); 4] = [
    (Gauge::ResidentBytes, Quantity::ResidentBytes, 1.0),
    (Gauge::DeviceMemoryBytes, Quantity::DeviceMemory, 1.0),
    (Gauge::DevicePowerMilliwatts, Quantity::DevicePower, 1e-3),
    (Gauge::DeviceMilliCelsius, Quantity::DeviceTemperature, 1e-3),
];

/// Gauges of bytes that count up.
const RATES: [(Gauge, Quantity); 4] = [
    (Gauge::StorageReadBytes, Quantity::StorageRead),
    (Gauge::StorageWriteBytes, Quantity::StorageWritten),
    (Gauge::NetworkReceivedBytes, Quantity::NetworkReceived),
    (Gauge::NetworkSentBytes, Quantity::NetworkSent),
];

/// CPU time is counted by the clock tick, so over less than this a rate means nothing.
const SHORTEST_S: f64 = 0.1;

/// Turns the samples of a process, in time order, into amounts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readings {
    before: Option<Sample>,
}

impl Readings {
    /// Takes the next sample; `seconds` is the length of a time on the process' clock.
    pub(crate) fn take(
        &mut self,
        sample: &Sample,
        seconds: impl Fn(Ticks) -> f64,
        sink: &mut dyn FnMut(Quantity, f64),
    ) {
        for (gauge, quantity, scale) in LEVELS {
            if let Some(value) = reading(sample, gauge) {
                sink(quantity, value as f64 * scale);
            }
        }
        let Some(before) = &self.before else {
            self.before = Some(sample.clone());
            return;
        };
        let passed = seconds(sample.at.since(before.at));
        if passed < SHORTEST_S {
            return;
        }
        let grown = |gauge| Some(reading(sample, gauge)?.saturating_sub(reading(before, gauge)?) as f64);
        for (gauge, quantity) in RATES {
            if let Some(bytes) = grown(gauge) {
                sink(quantity, bytes / passed);
            }
        }
        if let (Some(user), Some(system)) = (grown(Gauge::CpuUserNs), grown(Gauge::CpuSystemNs)) {
            sink(Quantity::BusyCpus, (user + system) * 1e-9 / passed);
        }
        if let (Some(busy), Some(used)) = (grown(Gauge::DeviceBusyNs), grown(Gauge::DeviceUsedNs))
            && used > 0.0
        {
            sink(Quantity::DeviceBusy, (busy / used).min(1.0));
        }
        self.before = Some(sample.clone());
    }
}

fn reading(sample: &Sample, gauge: Gauge) -> Option<u64> {
    sample.readings.iter().find(|(name, _)| *name == gauge).map(|(_, value)| *value)
}
