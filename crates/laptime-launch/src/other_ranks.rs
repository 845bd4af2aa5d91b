//! The other ranks of a launch: the first reports on all of them, so it gives them a moment to end.

use std::collections::HashMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use laptime_core::{Record, Status};
use laptime_store::{LogName, RunReader};

/// Ranks of one training end together; one that does not is reported as it stands.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often to look.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until the supervisors of all ranks that take part have seen their commands' ends, or patience ends.
pub fn wait_for_their_end(run: &Path) {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && any_is_running(run) {
        thread::sleep(PAUSE);
    }
}

fn any_is_running(run: &Path) -> bool {
    let mut running: HashMap<LogName, bool> = HashMap::new();
    let read = RunReader::open(run).and_then(|mut reader| {
        reader.poll(&mut |log, record| match record {
            Record::Ended { status } => drop(running.insert(log, status == Status::Running)),
            Record::Closed { .. } => drop(running.insert(log, false)),
            _ => {}
        })
    });
    let waits = |(log, running): (&LogName, &bool)| matches!(log, LogName::Supervisor { .. }) && *running;
    read.is_ok() && running.iter().any(waits)
}
