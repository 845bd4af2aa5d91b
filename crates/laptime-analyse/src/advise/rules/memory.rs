//! Memory that ran short: pages that a training needs come back from storage.

use laptime_core::units::{bytes, count};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "memory", subject: "memory", look };

/// What a training that swaps usually gains when it need not.
const USUAL: (f64, f64) = (1.5, 10.0);

fn look(evidence: &Evidence<'_>) -> Outcome {
    let memory = &evidence.report.memory;
    let Some(peak) = memory.peak_rss_bytes else { return Outcome::DoesNotApply };
    if !evidence.report.findings.iter().any(|finding| finding.id == "swapping") {
        return Outcome::Fine;
    }
    let workers = evidence.fit.workers.unwrap_or(0);
    let change = match workers {
        0 => "take a smaller batch, or keep less of the dataset in memory".to_owned(),
        workers => format!("num_workers={}, a smaller batch, or less of the dataset in memory", workers / 2),
    };
    Outcome::advice(Advised {
        title: "use less memory".to_owned(),
        because: format!(
            "{} were resident and {} swapped out; {} page faults waited for storage",
            bytes(peak),
            bytes(memory.swapped_bytes.unwrap_or(0)),
            count(memory.major_faults.unwrap_or(0))
        ),
        change,
        speedup: Speedup::typical(USUAL.0, USUAL.1),
        injects: Vec::new(),
    })
}
