//! `laptime run`: starts a command, watches it from outside, ends as it does, and reports on it.
//!
//! The command is a child in the same process group and session with the same standard streams. It gets
//! the signal mask and dispositions laptime was started with, and its words byte for byte. Signals that
//! somebody sends to laptime go on to it; what the whole group was sent, by a key or a shell's `kill %1`, is
//! not sent twice.
//!
//! laptime is no subreaper: a daemon that the command leaves behind goes to init as it would without us,
//! and nobody waits for it. A command that cannot be started ends like one typed in a shell or after `env`:
//! 127 when it is not found, 126 when it cannot be executed; nothing is written then.

mod bystander;
pub(super) mod child;
mod ending;
pub(super) mod environment;
pub(super) mod hooks;
mod other_ranks;
pub(super) mod program;
mod pythons;
pub(super) mod signals;

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use laptime_core::{Anchor, RunMeta, Status};
use laptime_profile::Sampler;
use laptime_record::{ChildUsage, Finished, Launch, Options, Supervisor};
use laptime_store::clear_rings_of;

use super::train::{complete, shown_path};
use crate::Ending;
use crate::args::RunArgs;
use crate::export::tensorboard::{Board, check_folder};
use crate::failure::Failure;
use crate::live::{Live, Views};
use crate::screen::{Screen, note};
use crate::settings::{self, Settings};
use crate::study::Study;
use crate::text::summary_text;
use bystander::Bystander;
use child::Child;
pub(crate) use child::Ended;
pub(crate) use ending::end_like;
use hooks::Hooks;
pub use signals::keep_broken_pipes_silent;

/// What killed a command may be killing the processes it started: what they were doing is in their rings.
const DYING_TOGETHER: Duration = Duration::from_millis(250);

pub(crate) fn run(args: &RunArgs, screen: &Screen) -> Result<Ending, Failure> {
    let words = program::words(&args.command);
    program::look_up(program_of(&words))?;
    if settings::disabled() || settings::joined(args) {
        return Err(child::replace_this_process(&words));
    }
    let settings = Settings::read(args);
    let launch = Launch::from_environment();
    let board = board(args, launch.as_ref())?;
    let mut warning = settings.trouble.clone();
    let signals = signals::Blocked::all();
    let supervisor = Supervisor::start(&options(&words, &settings, launch.clone()));
    if let Some(error) = supervisor.trouble() {
        warning = Some(format!("this run will not be kept: {error}"));
    }
    if let Some(warning) = &warning {
        screen.note(&format!("warning: {warning}"));
    }
    let Watched { finished, ended, board } = watch(&words, args, board, supervisor, &signals)?;
    if let Some(run) = &finished.run {
        let patience = if matches!(ended, Ended::Signal(_)) { DYING_TOGETHER } else { Duration::ZERO };
        clear_rings_of(run, launch.as_ref().map(|launch| launch.rank), patience);
    }
    // Of several ranks the first speaks for all.
    let is_first = launch.as_ref().is_none_or(|launch| launch.rank == 0);
    if is_first && (!settings.quiet || board.is_some()) {
        if launch.is_some() && ended == Ended::Exit(0) {
            let _ = finished.run.as_deref().map(other_ranks::wait_for_their_end);
        }
        show(finished, board, args, settings.quiet, screen);
    }
    Ok(Ending::Like(ended))
}

/// What the run is written into for TensorBoard; the first of several ranks does it for all.
fn board(args: &RunArgs, launch: Option<&Launch>) -> Result<Option<Board>, Failure> {
    let Some(dir) = args.board.tensorboard.as_deref() else { return Ok(None) };
    check_folder(dir, format!("could not run `{}`", program_of(&args.command).display()))?;
    Ok(launch.is_none_or(|launch| launch.rank == 0).then(|| Board::new(dir)))
}

fn options(words: &[OsString], settings: &Settings, launch: Option<Launch>) -> Options {
    let command: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = settings.name.clone().unwrap_or_else(|| program::run_name(&command));
    let (rank, ranks) = launch.as_ref().map_or((0, 1), |launch| (launch.rank, launch.ranks));
    let meta = RunMeta { name, command, ranks, ..RunMeta::default() };
    Options { root: Some(settings.dir.clone()), meta, rank, launch, ..Options::default() }
}

/// A command that has ended.
struct Watched {
    finished: Finished,
    ended: Ended,
    board: Option<Board>,
}

/// Starts the command and stays with it until it has ended.
fn watch(
    words: &[OsString],
    args: &RunArgs,
    board: Option<Board>,
    mut supervisor: Supervisor,
    signals: &signals::Blocked,
) -> Result<Watched, Failure> {
    let mut hooks = Hooks::prepare(&supervisor, args.no_hooks);
    let variables = environment::variables(&supervisor, &hooks);
    // Before the command: a signal to the whole group may come as soon as that runs.
    let bystander = Bystander::stand();
    let child = match Child::start(words, &variables, signals) {
        Ok(child) => child,
        Err(error) => {
            supervisor.abandon();
            return Err(program::not_started(program_of(words), &error));
        }
    };
    supervisor.watch(child.pid());
    let live = Live::follow(supervisor.run(), Views::default().with_board(board));
    let sampler = args.profile.then(|| sample(child.pid(), &supervisor));
    let (ended, at, usage) =
        follow(&child, &mut supervisor, &mut hooks, Signals { blocked: signals, bystander });
    if let Some(Err(error)) = sampler.map(|started| started.and_then(Sampler::stop)) {
        note(&format!("warning: the profile is not kept in full: {error}"));
    }
    supervisor.note(hooks.troubles(words));
    let (status, message) = ended.told();
    let finished = supervisor.finish(&at, &usage, status, message);
    Ok(Watched { finished, ended, board: live.end() })
}

/// Reads the stacks of the command and all it starts; the command does not notice.
fn sample(pid: u32, supervisor: &Supervisor) -> io::Result<Sampler> {
    let run = supervisor.run().ok_or_else(|| io::Error::other("the run is not kept"))?;
    Sampler::start(pid, run, supervisor.rank())
}

/// The signals that come for the command, and who knows which of them it has got already.
struct Signals<'a> {
    blocked: &'a signals::Blocked,
    bystander: Option<Bystander>,
}

/// Forwards signals, stops with the command, and reads the probes, until the command has ended.
fn follow(
    child: &Child,
    supervisor: &mut Supervisor,
    hooks: &mut Hooks,
    mut signals: Signals<'_>,
) -> (Ended, Anchor, ChildUsage) {
    let mut next_sample = child::Timer::every_second();
    loop {
        let signal = signals.blocked.wait(next_sample.left().min(hooks.left()));
        let to_the_group = signals.bystander.as_mut().map_or(0, Bystander::seen);
        if let Some(signal) = signal.filter(|signal| !signal.is_in(to_the_group)) {
            child.forward(&signal);
        }
        match child.change() {
            child::Change::Ended => {
                // Between its end and its reaping, all that the child used can still be read.
                supervisor.sample();
                let (ended, usage) = child.reap();
                return (ended, laptime_record::anchor(), usage);
            }
            child::Change::Stopped(signal) => signals.blocked.stop_by(signal),
            child::Change::None => {}
        }
        if next_sample.is_due() {
            supervisor.sample();
        }
        hooks.look(supervisor);
    }
}

/// The summary goes to standard error: standard output is the command's alone.
fn show(finished: Finished, board: Option<Board>, args: &RunArgs, quiet: bool, screen: &Screen) {
    let kept = finished.run.as_deref().filter(|_| finished.unsaved.is_none()).map(shown_path);
    let report = match Study::of_finished(finished).with_lap(args.lap.lap).report() {
        Ok(report) => report,
        Err(error) => return screen.note(&format!("warning: could not report on the run: {error}")),
    };
    let told = board.map(|board| complete(board, &report, screen));
    if !quiet {
        screen.note(summary_text(&report, kept.as_deref(), screen.error_style()).trim_end());
        told.iter().for_each(|told| screen.note(told));
    }
}

impl Ended {
    /// How it ended, for the log.
    pub(super) fn told(self) -> (Status, Option<String>) {
        match self {
            Self::Exit(0) => (Status::Finished, None),
            Self::Exit(code) => (Status::Failed, Some(format!("ended with exit code {code}"))),
            Self::Signal(signal) => {
                (Status::Killed, Some(format!("ended by signal {signal}{}", signals::name(signal))))
            }
        }
    }
}

fn program_of(words: &[OsString]) -> &OsStr {
    words.first().map_or(OsStr::new(""), OsString::as_os_str)
}
