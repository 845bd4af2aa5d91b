//! The machine at one moment.

/// The machine at one moment; counters count from its start. What it does not report is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineReading {
    /// CPUs there are.
    pub cpus: u32,
    /// Time all CPUs were busy together, seconds.
    pub busy_s: Option<f64>,
    /// Time the hypervisor gave to others while a task here could run, seconds.
    pub steal_s: Option<f64>,
    /// Time some task waited for a CPU, seconds.
    pub pressure_s: Option<f64>,
    /// Time the cgroup was held back by its quota, seconds.
    pub held_back_s: Option<f64>,
    /// The load average over a minute.
    pub load: Option<f64>,
    /// Mean clock of the CPUs, MHz.
    pub clock_mhz: Option<f64>,
    /// Times a CPU was slowed down by heat.
    pub throttles: Option<u64>,
    /// Processes the kernel killed for lack of memory.
    pub memory_kills: Option<u64>,
}
