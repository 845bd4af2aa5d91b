//! Shares of an interval, added up to times.

use std::time::Duration;

use laptime_core::Gauge;

use super::Readings;

/// How much of an interval parts of the card were busy, 0 to 1, and bytes a second; absent is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    pub(super) busy: Option<f64>,
    pub(super) cores: Option<f64>,
    pub(super) tensor: Option<f64>,
    pub(super) memory_bus: Option<f64>,
    pub(super) received: Option<f64>,
    pub(super) sent: Option<f64>,
}

impl Shares {
    fn all(&self) -> [Option<f64>; 6] {
        [self.busy, self.cores, self.tensor, self.memory_bus, self.received, self.sent]
    }
}

/// The gauges of [`Shares::all`], in its order.
const GAUGES: [Gauge; 6] = [
    Gauge::DeviceBusyNs,
    Gauge::DeviceCoresNs,
    Gauge::DeviceTensorNs,
    Gauge::DeviceMemoryBusNs,
    Gauge::DeviceReceivedBytes,
    Gauge::DeviceSentBytes,
];
/// Of them the first are times.
const TIMES: usize = 4;

/// Times and bytes so far. All of one are over the same intervals, so that their ratios are right.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    sums: Option<[Option<f64>; 6]>,
    used_ns: u64,
}

impl Sums {
    /// Adds an interval; one that lacks something the first one had is left out, and so is nonsense.
    pub(super) fn add(&mut self, shares: &Shares, elapsed: Duration) {
        let all = shares.all();
        let sums = self.sums.get_or_insert_with(|| all.map(|share| share.map(|_| 0.0)));
        let known = sums.iter().zip(all).all(|(sum, share)| {
            sum.is_none() || share.is_some_and(|share| share.is_finite() && share >= 0.0)
        });
        if !known {
            return;
        }
        for (at, (sum, share)) in sums.iter_mut().zip(all).enumerate() {
            let (Some(sum), Some(share)) = (sum, share) else { continue };
            *sum += if at < TIMES {
                share.min(1.0) * elapsed.as_nanos() as f64
            } else {
                share * elapsed.as_secs_f64()
            };
        }
        self.used_ns = self.used_ns.saturating_add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds the sums to a sample.
    pub(super) fn put(&self, readings: &mut Readings) {
        let Some(sums) = &self.sums else { return };
        for (gauge, sum) in GAUGES.into_iter().zip(sums) {
            readings.extend(sum.map(|sum| (gauge, sum as u64)));
        }
        readings.push((Gauge::DeviceUsedNs, self.used_ns));
    }
}
