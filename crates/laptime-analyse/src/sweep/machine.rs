//! What else happened on the machine during a repeat, and whether that spoils it.

use laptime_core::MachineReading;
use serde::{Deserialize, Serialize};

/// Others may take this share of all CPUs: half of one on a laptop's two is felt, a few of sixty-four are not.
const MUCH_OF_THE_CPUS: f64 = 0.25;
/// The kernel counts busy time in ticks of 10 ms, so that each CPU's can be wrong by one at either end.
const TICK_ERROR_S: f64 = 0.02;
/// A guest that waits this share of the time for a real CPU is measured as its neighbours let it.
const MUCH_STEAL: f64 = 0.05;

/// What the machine did during one repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineDuring {
    /// The load average when it began.
    pub load: Option<f64>,
    /// CPUs that other processes kept busy, on average.
    pub other_cpus: Option<f64>,
    /// Share of the time the hypervisor gave to others.
    pub steal: Option<f64>,
    /// Share of the time some task waited for a CPU.
    pub cpu_pressure: Option<f64>,
    /// Share of the time the cgroup was held back by its quota.
    pub held_back: Option<f64>,
    /// Mean clock of the CPUs when it ended, MHz.
    pub clock_mhz: Option<f64>,
    /// Times a CPU was slowed down by heat.
    pub throttles: Option<u64>,
    /// Processes the kernel killed for lack of memory, anywhere on the machine.
    pub memory_kills: Option<u64>,
}

/// Why a repeat is not to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taint {
    /// Other processes took much CPU time.
    OthersBusy,
    /// The hypervisor took CPU time away.
    Steal,
    /// A CPU was slowed down by heat.
    Throttled,
    /// The command was stopped for a while.
    Stopped,
}

impl Taint {
    /// Why, in a few words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::OthersBusy => "other programs were busy",
            Self::Steal => "the hypervisor took CPU time away",
            Self::Throttled => "a CPU was slowed down by heat",
            Self::Stopped => "it was stopped for a while",
        }
    }
}

impl MachineDuring {
    /// Between two readings that are `wall_s` apart, while the command and laptime used `own_cpu_s`.
    #[must_use]
    pub fn between(before: &MachineReading, after: &MachineReading, own_cpu_s: f64, wall_s: f64) -> Self {
        let wall_s = wall_s.max(1e-9);
        let grown = |of: fn(&MachineReading) -> Option<f64>| Some((of(after)? - of(before)?).max(0.0));
        let share = |of: fn(&MachineReading) -> Option<f64>| grown(of).map(|seconds| seconds / wall_s);
        let counted = |of: fn(&MachineReading) -> Option<u64>| Some(of(after)?.saturating_sub(of(before)?));
        let cpus = f64::from(after.cpus.max(1));
        Self {
            load: before.load,
            other_cpus: share(|reading| reading.busy_s).map(|busy| (busy - own_cpu_s / wall_s).max(0.0)),
            steal: share(|reading| reading.steal_s).map(|steal| steal / cpus),
            cpu_pressure: share(|reading| reading.pressure_s).map(|share| share.min(1.0)),
            held_back: share(|reading| reading.held_back_s),
            clock_mhz: after.clock_mhz,
            throttles: counted(|reading| reading.throttles),
            memory_kills: counted(|reading| reading.memory_kills),
        }
    }

    /// Everything that spoils a repeat of `wall_s` on that many CPUs.
    ///
    /// Waiting for a CPU and a quota are reported but taint nothing: a command with more threads than CPUs makes
    /// its own pressure, and a quota is the machine it runs on.
    #[must_use]
    pub fn taints(&self, cpus: u32, wall_s: f64) -> Vec<Taint> {
        let cpus = f64::from(cpus.max(1));
        let allowed = cpus * (MUCH_OF_THE_CPUS + TICK_ERROR_S / wall_s.max(1e-9));
        let steal_allowed = MUCH_STEAL + TICK_ERROR_S / wall_s.max(1e-9);
        let found = [
            (self.other_cpus.is_some_and(|busy| busy > allowed), Taint::OthersBusy),
            (self.steal.is_some_and(|steal| steal > steal_allowed), Taint::Steal),
            (self.throttles.is_some_and(|times| times > 0), Taint::Throttled),
        ];
        found.into_iter().filter_map(|(is, taint)| is.then_some(taint)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(busy_s: f64) -> MachineReading {
        MachineReading { cpus: 2, busy_s: Some(busy_s), throttles: Some(7), ..MachineReading::default() }
    }

    fn taints(busy_s: f64, own_cpu_s: f64, wall_s: f64) -> Vec<Taint> {
        let after = reading(100.0 + busy_s);
        MachineDuring::between(&reading(100.0), &after, own_cpu_s, wall_s).taints(2, wall_s)
    }

    #[test]
    fn what_the_command_itself_used_is_not_others_work() {
        assert_eq!(taints(20.0, 20.0, 10.0), []);
        assert_eq!(taints(14.0, 10.0, 10.0), []);
        assert_eq!(taints(20.0, 10.0, 10.0), [Taint::OthersBusy]);
    }

    #[test]
    fn a_short_repeat_is_judged_by_no_more_than_the_ticks_can_tell() {
        assert_eq!(taints(0.06, 0.03, 0.03), []);
        assert_eq!(taints(0.20, 0.10, 0.10), [Taint::OthersBusy]);
    }

    #[test]
    fn steal_and_heat_spoil_and_silence_does_not() {
        let before = MachineReading { steal_s: Some(1.0), ..reading(0.0) };
        let after = MachineReading { steal_s: Some(3.0), throttles: Some(9), ..reading(0.0) };
        let during = MachineDuring::between(&before, &after, 0.0, 10.0);
        assert_eq!(during.taints(2, 10.0), [Taint::Steal, Taint::Throttled]);
        let silent = MachineReading::default();
        assert_eq!(MachineDuring::between(&silent, &silent, 3.0, 1.0).taints(2, 1.0), []);
    }
}
