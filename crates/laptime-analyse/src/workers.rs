//! Workers: processes that joined a run beside the one that trains, such as a loader's.

use laptime_core::Role;

use crate::process::Process;
use crate::report::{ThreadSummary, WorkerSummary};
use crate::thread::thread;

/// What every worker did; `None` when there are none that recorded a stage.
pub(crate) fn workers(processes: &[Process]) -> Option<Vec<WorkerSummary>> {
    let joined = |process: &&Process| {
        process.facts.role == Role::Trainer && process.facts.parent.is_some() && !process.trains()
    };
    let ledgers = processes.iter().filter(joined).filter_map(|process| {
        let timebase = process.timebase();
        // The thread that is busiest with stages is the one that loads.
        let threads = process.lanes.values().filter_map(|lane| thread(lane, &process.names, &timebase));
        threads.max_by(|a, b| busy_s(a).total_cmp(&busy_s(b))).map(|thread| thread.ledger)
    });
    let summaries: Vec<WorkerSummary> =
        (0..).zip(ledgers).map(|(index, ledger)| WorkerSummary { index, ledger }).collect();
    (!summaries.is_empty()).then_some(summaries)
}

/// Time claimed by stages, seconds.
fn busy_s(thread: &ThreadSummary) -> f64 {
    thread.ledger.iter().filter(|row| row.stage != "idle").map(|row| row.seconds).sum()
}
