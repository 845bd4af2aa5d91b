//! A trial: two sides in alternation, each execution a run of its own, so that what the machine does to one it does to
//! both.

pub(super) mod conduct;
pub(super) mod limit;
pub(super) mod progress;
pub(super) mod state;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use laptime_analyse::compare::ComparedRun;
use laptime_core::{Change, RunMeta, Status, units};
use laptime_launch::{Apart, Attach, Job, Supervisor};
use laptime_record::Options;

use super::sweep::execute::own_program;
use super::sweep::reason::{ended_badly, last_line};
use crate::study::Study;

/// One side.
#[derive(Clone, Debug)]
pub(super) struct TrialSide {
    /// What it is shown by.
    pub(super) name: String,
    /// The command as it was typed.
    pub(super) command: Vec<String>,
    /// The folder it runs in, where that is not the current one.
    pub(super) folder: Option<PathBuf>,
    /// What is changed of its training.
    pub(super) changes: Vec<Change>,
}

/// How an execution went.
pub(super) enum Execution {
    /// It ended well.
    Made(Box<ComparedRun>),
    /// It did not, or could not be read; why.
    Failed(String),
    /// Somebody asked to end.
    Interrupted,
}

/// Makes executions.
pub(super) struct Executor<'a> {
    /// Where their runs are kept.
    pub(super) runs: PathBuf,
    pub(super) apart: Apart<'a>,
    pub(super) limit: limit::Limit,
}

impl Executor<'_> {
    /// Runs a side once; `beat` is called a few times a second meanwhile.
    pub(super) fn execute(&self, side: &TrialSide, beat: &mut dyn FnMut()) -> Execution {
        let meta = RunMeta { name: side.name.clone(), command: side.command.clone(), ..RunMeta::default() };
        let supervisor =
            Supervisor::start(&Options { root: Some(self.runs.clone()), meta, ..Options::default() });
        let job = Job {
            words: own_program(&side.command),
            folder: side.folder.clone(),
            attach: Attach { hooks: true, layers: false, changes: side.changes.clone(), ..Attach::default() },
        };
        let (began, limit) = (Instant::now(), self.limit.of_next());
        let (watched, finished) = match self.apart.run(&job, supervisor, limit, beat) {
            Ok(both) => both,
            Err(error) => return Execution::Failed(format!("could not be started: {error}")),
        };
        let run = finished.run.clone();
        if watched.interrupted {
            // Half an execution says nothing.
            let _ = run.map(fs::remove_dir_all);
            return Execution::Interrupted;
        }
        if let Some(limit) = limit.filter(|_| watched.timed_out) {
            let limit = units::duration(limit.as_secs_f64());
            return Execution::Failed(format!("it hangs: it had not ended after {limit}"));
        }
        if watched.ended.status().0 != Status::Finished {
            let line = run.as_deref().map(last_line).unwrap_or_default();
            let outcome = ended_badly(watched.ended, None, &line);
            return Execution::Failed(outcome.reason().unwrap_or("it did not finish").to_owned());
        }
        self.limit.take(began.elapsed());
        match read(run.as_deref(), finished) {
            Ok(run) => Execution::Made(Box::new(run)),
            Err(error) => Execution::Failed(format!("its run could not be read: {error}")),
        }
    }
}

fn read(
    run: Option<&Path>,
    finished: laptime_record::Finished,
) -> Result<ComparedRun, laptime_store::StoreError> {
    match run {
        Some(run) => Study::open(run)?.without_profile().compared_run(),
        None => Study::of_finished(finished).without_profile().compared_run(),
    }
}
