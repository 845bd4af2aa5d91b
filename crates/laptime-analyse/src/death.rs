//! Deaths: processes of a run that did not end by themselves, and what each was doing.

use laptime_core::{Role, StageId, Status, Ticks, Timebase};

use crate::ledger::BACKGROUND;
use crate::process::Process;
use crate::report::{Death, OpenStageSummary, Part};
use crate::supervised::Supervised;

/// Every process that died, those that train first, then by when they began.
pub(crate) fn deaths(run: &Supervised<'_>, processes: &[Process]) -> Vec<Death> {
    let status = run.status();
    let mut died: Vec<&Process> = processes.iter().filter(|process| counts(process, status)).collect();
    died.sort_by_key(|process| {
        let facts = &process.facts;
        (facts.parent.is_some(), facts.rank, facts.worker, facts.started, facts.pid)
    });
    let mut hosts = processes.iter().filter_map(|process| process.facts.host.as_ref());
    let first = hosts.next();
    let several = hosts.any(|host| Some(host) != first);
    died.into_iter().map(|process| death(process, several)).collect()
}

/// Whether an end without a word is a death, given how the command ended.
///
/// A command that ended well says so for the processes that train; how a helper ended nobody saw, so one
/// that was idle may just have been dismissed.
pub(crate) fn counts(process: &Process, status: Status) -> bool {
    let left_silently = process.facts.role == Role::Trainer && is_gone(process);
    let (helper, at_work) = (process.facts.parent.is_some(), is_at_work(process));
    left_silently
        && match status {
            Status::Killed => true,
            Status::Finished => helper && at_work,
            Status::Failed | Status::Running => !helper || at_work,
        }
}

/// Whether it ended without a word.
fn is_gone(process: &Process) -> bool {
    process.status() == Status::Killed && process.closed.is_none()
}

fn is_at_work(process: &Process) -> bool {
    process.lanes.values().any(|lane| lane.state.as_ref().is_some_and(|state| state.open.len() > 1))
}

fn death(process: &Process, several_hosts: bool) -> Death {
    let fit = process.fits.iter().rev().find(|(_, fit)| fit.began.is_some() && fit.ended.is_none());
    let epoch = fit.and_then(|(_, fit)| fit.epochs.last());
    let by_steps = fit.map(|(_, fit)| fit).filter(|fit| fit.is_by_steps());
    let steps_done = by_steps.map(|fit| fit.steps.sum.steps);
    let in_epoch = epoch.filter(|epoch| epoch.ended.is_none()).map(|epoch| epoch.tally.steps);
    Death {
        part: part(process),
        rank: process.facts.rank,
        worker: process.facts.worker,
        host: process.facts.host.clone().filter(|_| several_hosts),
        pid: process.facts.pid,
        fit: fit.map(|(index, _)| *index),
        epoch: epoch.map(|epoch| epoch.index),
        step: in_epoch.or(steps_done.filter(|_| !is_pausing(process))),
        steps_done,
        open_stages: open_stages(process),
    }
}

/// Whether training paused for an evaluation or a checkpoint.
fn is_pausing(process: &Process) -> bool {
    let open = process.stepping_lane().and_then(|lane| lane.state.as_ref()).map(|state| &state.open);
    let pauses = |stage| stage == StageId::EVALUATE || stage == StageId::CHECKPOINT;
    open.is_some_and(|open| open.iter().any(|frame| pauses(frame.stage)))
}

/// What a process does in its run.
pub(crate) fn part(process: &Process) -> Part {
    let loads = || process.names.known("fetch") && process.names.known("collate");
    match process.facts.parent {
        None => Part::Rank,
        Some(_) if process.trains() => Part::Trainer,
        Some(_) if process.facts.worker.is_some() || loads() => Part::LoaderWorker,
        Some(_) => Part::Process,
    }
}

/// What was open in a process at the last instant known; other threads only where a stage of theirs was.
pub(crate) fn open_stages(process: &Process) -> Vec<OpenStageSummary> {
    let timebase = process.timebase();
    let stepping = process.stepping_lane().map(|lane| lane.number);
    let deep = |lane: &&crate::lane::Lane| {
        Some(lane.number) == stepping || lane.state.as_ref().is_some_and(|state| state.open.len() > 1)
    };
    process.lanes.values().filter(deep).flat_map(|lane| of_lane(process, lane, &timebase)).collect()
}

/// When a stage was entered; of the background, which goes on around all others, when the last of them ended.
fn since(lane: &crate::lane::Lane, stage: StageId, start: Ticks) -> Ticks {
    let ended = lane.stage_end.max(lane.step_end).filter(|_| BACKGROUND.contains(&stage));
    ended.map_or(start, |ended| ended.max(start))
}

fn of_lane(process: &Process, lane: &crate::lane::Lane, timebase: &Timebase) -> Vec<OpenStageSummary> {
    let end = process.extent().end;
    let summary = |(stage, start)| OpenStageSummary {
        thread: lane.track.name.clone(),
        // Where nothing trains the background has no meaning of its own.
        stage: match BACKGROUND.contains(&stage) && !process.any_fit() {
            true => "idle".to_owned(),
            false => process.names.name(stage),
        },
        open_s: timebase.seconds(end.since(since(lane, stage, start))),
    };
    process.open_frames(lane).map(summary).collect()
}
