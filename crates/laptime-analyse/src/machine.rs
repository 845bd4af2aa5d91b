//! Machine: what the computer itself did to a run.

use laptime_core::Timebase;
use laptime_core::units::{duration, percent};

use crate::process::Process;
use crate::report::{Finding, MachineUse, Report};
use crate::wording::how_often;

/// A clock that falls below this share of its peak, in the mean, makes steps slower.
const CLOCK_FELL: f64 = 0.8;
/// CPUs that are busy enough not to clock down for lack of work.
const AT_WORK: f64 = 0.8;
/// A guest that gets this share less of its CPUs is measured as its neighbours let it.
const MUCH_STOLEN: f64 = 0.05;
/// Clocks follow a process that has only just begun.
const SHORTEST_S: f64 = 5.0;

/// The container's quota, from this share of the run on.
pub(crate) fn throttled(report: &Report, least: f64) -> Option<Finding> {
    let held = report.machine.throttled_s?;
    let share = held / report.wall_s.max(f64::MIN_POSITIVE);
    let quota = report.machine.quota_cpus.map_or_else(String::new, |cpus| format!(" of {cpus:.1} CPUs"));
    let text = || {
        let held = duration(held);
        format!(
            "the container's CPU quota{quota} held the process back for {held} of {}",
            duration(report.wall_s)
        )
    };
    (share >= least).then(|| Finding::new("throttled", text()))
}

/// Pages that had to come back from storage.
pub(crate) fn swapping(report: &Report, process: &Process, timebase: &Timebase) -> Option<Finding> {
    let (swapped, faults) = (report.memory.swapped_bytes?, report.memory.major_faults?);
    let rate = faults as f64 / process.gauges.sampled_s(timebase).max(1.0);
    let text = || {
        let mib = swapped as f64 / f64::from(1 << 20);
        format!("memory ran short: {mib:.0} MiB were swapped out, {faults} page faults waited for storage")
    };
    // Swapped pages that nobody touches cost nothing; faults that wait for storage do.
    (swapped > 0 && rate >= 50.0).then(|| Finding::new("swapping", text()))
}

/// CPUs that heat slowed down while it ran.
pub(crate) fn heat(machine: &MachineUse) -> Option<Finding> {
    let times = machine.heat_throttles.filter(|times| *times > 0)?;
    let clock = machine.clock_mhz.zip(machine.peak_clock_mhz);
    let clock = clock.map(|(mean, peak)| format!(", clock {} of {} at its peak", ghz(mean), ghz(peak)));
    let text = format!(
        "heat slowed the CPUs down {}{}; the same steps are faster on a cooler machine",
        how_often(times),
        clock.unwrap_or_default()
    );
    Some(Finding::new("heat", text))
}

/// A clock that fell although there was work, for another reason than heat.
pub(crate) fn clock_fell(report: &Report) -> Option<Finding> {
    let machine = &report.machine;
    let hot = machine.heat_throttles.is_some_and(|times| times > 0);
    let (mean, peak, cpu_s) = (machine.clock_mhz?, machine.peak_clock_mhz?, machine.cpu_s?);
    let at_work = cpu_s >= AT_WORK * report.wall_s && report.wall_s >= SHORTEST_S;
    let text = || {
        let (mean, peak) = (ghz(mean), ghz(peak));
        format!("the clock of the CPUs fell from {peak} to {mean} in the mean: a power limit, or heat")
    };
    (at_work && !hot && mean < CLOCK_FELL * peak).then(|| Finding::new("clock_fell", text()))
}

/// CPU time that the hypervisor gave to others.
pub(crate) fn stolen(machine: &MachineUse) -> Option<Finding> {
    let share = machine.stolen.filter(|share| *share >= MUCH_STOLEN)?;
    let text =
        format!("the hypervisor gave {} of the CPUs' time to others; times differ with it", percent(share));
    Some(Finding::new("stolen", text))
}

fn ghz(mhz: f64) -> String {
    format!("{:.2} GHz", mhz / 1e3)
}
