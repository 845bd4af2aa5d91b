//! One run as the list of all runs shows it.

use laptime_analyse::{EpochSummary, Report};
use laptime_core::{Estimate, Status};
use laptime_store::{RunEntry, StoreError};

use crate::listed_run::listed_run;
use crate::study::Study;
use crate::text::RunRow;

/// Laps that a small curve has room for.
const MOST_LAPS: usize = 60;

/// A run of the list.
#[derive(Clone, Debug)]
pub(super) struct Shelved {
    /// Where it is.
    pub(super) entry: RunEntry,
    /// What every list has of it.
    pub(super) row: RunRow,
    /// Seconds of its last laps, oldest first: epochs, else windows of steps.
    pub(super) laps: Vec<f64>,
    /// Time to its end, while it runs.
    pub(super) time_left: Option<Estimate>,
    /// What there is to know of a run that says nothing more.
    pub(super) state: State,
}

/// How far a run of the list is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It was read.
    Read,
    /// It will be read.
    Unread,
    /// It cannot be read: why, and what to do.
    Unreadable(String, Option<String>),
}

impl Shelved {
    /// A run of which only its description is known so far.
    pub(super) fn unread(entry: &RunEntry) -> Self {
        let row = RunRow { started: started(entry), ..listed_run(entry, None) };
        Self { entry: entry.clone(), row, laps: Vec::new(), time_left: None, state: State::Unread }
    }

    /// Reads a run, or what was added to it since `study` stopped.
    pub(super) fn read(entry: &RunEntry, study: Option<Study>) -> (Self, Option<Study>) {
        let study = study.map_or_else(|| Study::open(&entry.path).map(Study::without_profile), Ok);
        let read = study.and_then(|mut study| study.report().map(|report| (report, study)));
        match read {
            Ok((report, study)) => (Self::of(entry, &report), Some(study)),
            Err(error) => (Self::unreadable(entry, &error), None),
        }
    }

    fn of(entry: &RunEntry, report: &Report) -> Self {
        let whole: Vec<&EpochSummary> = report.epochs.iter().filter(|lap| lap.complete).collect();
        let laps =
            whole[whole.len().saturating_sub(MOST_LAPS)..].iter().map(|lap| lap.mean_wall_s()).collect();
        let row = listed_run(entry, Some(report));
        Self { entry: entry.clone(), row, laps, time_left: report.time_left, state: State::Read }
    }

    fn unreadable(entry: &RunEntry, error: &StoreError) -> Self {
        let state = State::Unreadable(error.to_string(), error.hint());
        Self { state, ..Self::unread(entry) }
    }

    /// How it stands, in a word.
    pub(super) fn status(&self) -> &'static str {
        match (&self.state, self.row.status) {
            (State::Unread, _) => "reading",
            (State::Unreadable(..), _) => "unreadable",
            (State::Read, Status::Running) => "running",
            (State::Read, Status::Finished) => "finished",
            (State::Read, Status::Failed) => "failed",
            (State::Read, Status::Killed) => "killed",
        }
    }
}

fn started(entry: &RunEntry) -> String {
    laptime_analyse::rfc3339(entry.meta.started_real_ns)
}
