//! Cause: why a rank is late, where the probes of its machine and its steps show it.

use laptime_core::Gauge;
use laptime_core::units::{bytes, percent};

use super::joined::Member;
use crate::process::Process;
use crate::statistics::median;
use crate::wording::times;

/// A share of the time that is worth naming, and how much more it must be than with the others.
const MUCH: f64 = 0.05;
const MORE: f64 = 2.0;
/// A clock below this share of the others'.
const SLOWER: f64 = 0.9;
/// Work beyond this share of the others'.
const MORE_WORK: f64 = 1.1;
/// Reading that is much the same.
const ALIKE: std::ops::Range<f64> = 0.8..1.25;
/// Less read than this says nothing of the storage, bytes a second.
const READS: f64 = 1e6;

/// What sets a member apart from the others, in words that go on after its name; `None` where nothing is known to.
pub(super) fn cause(members: &[Member<'_>], late: &[usize], stage: Option<&str>) -> Option<String> {
    let first = members.get(*late.first()?)?.process;
    let others = members.iter().enumerate().filter(|(at, _)| !late.contains(at));
    let others: Vec<&Process> = others.map(|(_, member)| member.process).collect();
    let apart = Apart { late: first, others: &others };
    apart
        .samples()
        .or_else(|| apart.throttled())
        .or_else(|| apart.heat())
        .or_else(|| apart.clock())
        .or_else(|| apart.device_clock().or_else(|| apart.waits_for_cpu()).or_else(|| apart.storage(stage)))
}

/// A process beside others.
struct Apart<'a> {
    late: &'a Process,
    others: &'a [&'a Process],
}

impl Apart<'_> {
    /// A value of the late process, and that of the other in the middle.
    fn of(&self, value: impl Fn(&Process) -> Option<f64>) -> Option<(f64, f64)> {
        let others: Vec<f64> = self.others.iter().filter_map(|other| value(other)).collect();
        Some((value(self.late)?, median(&others)?))
    }

    /// The share of the time a gauge in nanoseconds grew, where it is much and far more than with the others.
    fn share(&self, gauge: Gauge) -> Option<f64> {
        let share = |process: &Process| {
            let sampled_s = process.gauges.sampled_s(&process.timebase());
            Some(process.gauges.grown(gauge)? as f64 * 1e-9 / sampled_s).filter(|share| share.is_finite())
        };
        let (own, others) = self.of(share)?;
        (own >= MUCH && own >= MORE * others).then_some(own)
    }

    fn samples(&self) -> Option<String> {
        let samples = |process: &Process| {
            let sum = process.fits.values().map(|fit| (fit.steps.sum.steps, fit.steps.sum.samples));
            let (steps, samples) = sum.fold((0, 0), |sum: (u64, u64), fit| (sum.0 + fit.0, sum.1 + fit.1));
            (steps > 0 && samples > 0).then(|| samples as f64 / steps as f64)
        };
        let (own, others) = self.of(samples)?;
        let more = own / others;
        (more >= MORE_WORK).then(|| format!("it trains on {} the samples of the others", times(more)))
    }

    fn throttled(&self) -> Option<String> {
        let share = self.share(Gauge::CgroupThrottledNs)?;
        Some(format!("its container's CPU quota holds it back {} of the time", percent(share)))
    }

    fn heat(&self) -> Option<String> {
        let (own, others) =
            self.of(|process| process.gauges.grown(Gauge::HeatThrottles).map(|n| n as f64))?;
        (own > 0.0 && others < 0.5).then(|| "heat slows its CPUs down".to_owned())
    }

    fn clock(&self) -> Option<String> {
        let (own, others) = self.of(|process| process.gauges.mean(Gauge::CpuClockKhz))?;
        let text = || format!("its CPUs run at {:.1} GHz, the others' at {:.1}", own / 1e6, others / 1e6);
        (own < SLOWER * others).then(text)
    }

    fn device_clock(&self) -> Option<String> {
        let (own, others) = self.of(|process| process.gauges.mean(Gauge::DeviceClockMhz))?;
        let text = || format!("its GPU runs at {own:.0} MHz, the others' at {others:.0}");
        (own < SLOWER * others).then(text)
    }

    fn waits_for_cpu(&self) -> Option<String> {
        let share = self.share(Gauge::CpuWaitNs)?;
        let words = if share > 1.0 { format!("{share:.1} CPUs") } else { percent(share) };
        Some(format!("its threads wait for a CPU ({words} of the time), so it shares its machine"))
    }

    fn storage(&self, stage: Option<&str>) -> Option<String> {
        let rate = |process: &Process| {
            let sampled_s = process.gauges.sampled_s(&process.timebase());
            Some(process.gauges.grown(Gauge::StorageReadBytes)? as f64 / sampled_s)
        };
        let (own, others) = self.of(rate).filter(|_| stage == Some("data_wait"))?;
        let alike = own >= READS && ALIKE.contains(&(own / others));
        let text = || {
            format!(
                "it reads no more from storage than the others ({}/s), so that is slow",
                bytes(own as u64)
            )
        };
        alike.then(text)
    }
}
