//! Steps as they would be on a machine that nobody else uses.

use super::evidence::Evidence;

/// Seconds a step, without the time in which its threads were ready and waited for a CPU.
pub(super) fn quiet_step_s(evidence: &Evidence<'_>) -> f64 {
    let machine = &evidence.report.machine;
    let ran = machine.cpu_s.filter(|ran| *ran > 0.0);
    let stretch = ran.zip(machine.cpu_wait_s).map_or(1.0, |(ran, waited)| 1.0 + waited / ran);
    evidence.training.step_s() / stretch.max(1.0)
}
