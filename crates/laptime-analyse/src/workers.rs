//! Workers: processes that joined a run beside the one that trains, such as a loader's.

use laptime_core::{Role, TrackKind};

use crate::process::Process;
use crate::report::{TrackSummary, WorkerSummary};
use crate::track::{IDLE, track};

/// What every worker did; `None` when there are none that recorded a stage.
pub(crate) fn workers(processes: &[Process]) -> Option<Vec<WorkerSummary>> {
    let joined = |process: &&Process| {
        process.facts.role == Role::Trainer && process.facts.parent.is_some() && !process.trains()
    };
    let ledgers = processes.iter().filter(joined).filter_map(|process| {
        // The thread that is busiest with stages is the one that loads.
        let threads = process.lanes.values().filter_map(|lane| track(lane, process));
        threads.max_by(|a, b| busy_s(a).total_cmp(&busy_s(b)))
    });
    let worker = |(index, TrackSummary { wall_s, ledger, .. })| WorkerSummary { index, wall_s, ledger };
    let summaries: Vec<WorkerSummary> = (0..).zip(ledgers).map(worker).collect();
    (!summaries.is_empty()).then_some(summaries)
}

impl WorkerSummary {
    /// The same as one of the run's tracks.
    pub(crate) fn track(&self) -> TrackSummary {
        let Self { index, wall_s, ledger } = self;
        let (name, ledger) = (format!("worker {index}"), ledger.clone());
        TrackSummary { kind: TrackKind::Worker, name, wall_s: *wall_s, ledger }
    }
}

/// Time claimed by stages, seconds.
fn busy_s(track: &TrackSummary) -> f64 {
    track.ledger.iter().filter(|row| row.stage != IDLE).map(|row| row.seconds).sum()
}
