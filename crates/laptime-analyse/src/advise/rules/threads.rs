//! More threads than there are CPUs for them: each waits for the others at every operation.

use laptime_core::units::{counted, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "threads", subject: "threads", look };

/// Threads that take this many times longer because they wait for CPUs are too many.
const CROWDED: f64 = 1.25;
/// What fewer threads usually bring where they were too many: an operation ends with its slowest thread, and those that
/// wait for it spin or sleep. How long its operations are, a run does not tell; long ones lose little.
const USUAL: (f64, f64) = (1.0, 3.0);

fn look(evidence: &Evidence<'_>) -> Outcome {
    if !evidence.on_cpu() {
        return Outcome::DoesNotApply;
    }
    let set = evidence.setting("torch.threads").and_then(|threads| threads.parse::<u64>().ok());
    let Some(threads) = set.or(evidence.report.run.threads.map(u64::from)) else {
        return Outcome::DoesNotApply;
    };
    if threads <= 1 {
        return Outcome::Fine;
    }
    let Some(stretch) = evidence.stretch() else {
        return Outcome::Unknown("how long threads wait for CPUs is not known here".to_owned());
    };
    let workers = evidence.fit.workers.unwrap_or(0);
    let free =
        (evidence.cpus - evidence.report.machine.other_cpus.unwrap_or(0.0) - workers as f64).round().max(1.0);
    if threads <= free as u64 || stretch < CROWDED {
        return Outcome::Fine;
    }
    let others = evidence.report.machine.other_cpus.filter(|others| *others >= 0.2);
    let others = others.map(|others| format!(", of which other programs keep {others:.1} busy"));
    let beside = if workers > 0 { format!(" beside {}", counted(workers, "worker")) } else { String::new() };
    Outcome::advice(Advised {
        title: format!("compute with {}", counted(free as u64, "thread")),
        because: format!(
            "{}{beside} on {:.0} CPUs{}: they wait for one {} of the time they could run",
            counted(threads, "thread"),
            evidence.cpus,
            others.unwrap_or_default(),
            percent(1.0 - 1.0 / stretch)
        ),
        change: format!("torch.set_num_threads({free:.0}), or OMP_NUM_THREADS={free:.0}"),
        speedup: Speedup::typical(USUAL.0, USUAL.1),
        injects: injected("threads", free as u64),
    })
}
