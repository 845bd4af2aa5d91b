//! The recorder of the whole process, for callers that cannot hold a [`Recorder`]: a language binding.
//!
//! It can be armed, so that it starts with the first thing that is recorded. A forked child is armed to
//! join its parent's run: it has no lane, no ring and no log until it records something itself.

use std::path::PathBuf;

use laptime_core::Status;

use crate::active::{active, armed_is_started_by, generation, set_armed, unset_armed};
use crate::explicit::fit_end;
use crate::guard::is_broken;
use crate::join::RUN_VARIABLE;
use crate::options::Options;
use crate::process_recorder::{ProcessRecorder, process_recorder};
use crate::program_start::ProgramStart;
use crate::rank::Launch;
use crate::recorder::{Finished, Recorder};
use crate::trouble::early_troubles;

/// Starts recording at once; says whether this process is being recorded now.
pub fn start(options: &Options) -> bool {
    let mut process = process_recorder();
    if is_broken() {
        return false;
    }
    if active().is_none() {
        start_in(&mut process, options);
    }
    active().is_some()
}

/// Starts recording with the first thing that is recorded.
pub fn arm(mut options: Options) {
    let mut process = process_recorder();
    if active().is_none() && !is_broken() {
        // The run begins here, not with its first record.
        options.began.get_or_insert_with(ProgramStart::now);
        process.plan = Some(options);
        armed_is_started_by(start_armed);
        set_armed();
    }
}

/// Says which of how many ranks this process is, where no launcher did before it was armed. What is recorded already
/// is not changed by that.
pub fn be_rank(rank: u32, ranks: u32) {
    let mut process = process_recorder();
    let Some(plan) = process.plan.as_mut().filter(|plan| plan.launch.is_none()) else { return };
    plan.launch = Launch::of_script(rank, ranks);
    if let Some(launch) = &plan.launch {
        plan.rank = launch.rank;
        plan.meta.ranks = launch.ranks;
    }
}

/// Starts what was armed.
fn start_armed() {
    let mut process = process_recorder();
    unset_armed();
    if let (Some(options), None) = (process.plan.take(), active()) {
        start_in(&mut process, &options);
    }
}

/// Whether what is recorded is kept: a recorder is on, or starts with the next record.
#[must_use]
pub fn is_active() -> bool {
    generation() != 0
}

/// The folder of the run that is being recorded.
#[must_use]
pub fn run_folder() -> Option<PathBuf> {
    process_recorder().recorder.as_ref()?.run().map(std::path::Path::to_owned)
}

/// The folder of the run that the next record joins: in a forked child its parent's.
#[must_use]
pub fn run_to_join() -> Option<PathBuf> {
    process_recorder().plan.as_ref()?.join.clone()
}

/// Ends recording, and with it the fit that is open on this thread; `None` when nothing was recorded.
pub fn finish(status: Status, message: Option<String>) -> Option<Finished> {
    let recorder = {
        let mut process = process_recorder();
        unset_armed();
        let plan = process.plan.take();
        // Hooks that do not work may be why nothing was recorded: a run that was to be joined learns of them.
        let joins = std::env::var_os(RUN_VARIABLE).is_some() && !early_troubles().is_empty();
        if let Some(options) = plan.filter(|_| joins && active().is_none()) {
            start_in(&mut process, &options);
        }
        process.recorder.take()?
    };
    fit_end(None);
    Some(recorder.finish(status, message))
}

fn start_in(process: &mut ProcessRecorder, options: &Options) {
    // A child that is forked from here on is armed.
    armed_is_started_by(start_armed);
    process.recorder = Some(Recorder::start(options));
}
