//! `laptime run`: starts a command, watches it from outside, ends as it does, and reports on it.
//!
//! The command is a child in the same process group and session with the same standard streams. It gets
//! the signal mask and dispositions laptime was started with, and its words byte for byte. Signals that
//! somebody sends to laptime go on to it; what the terminal sends the whole group is not sent twice.
//!
//! laptime is no subreaper: a daemon that the command leaves behind goes to init as it would without us,
//! and nobody waits for it. A command that cannot be started ends like one typed in a shell or after `env`:
//! 127 when it is not found, 126 when it cannot be executed; nothing is written then.

pub(super) mod child;
mod ending;
pub(super) mod environment;
pub(super) mod program;
pub(super) mod signals;

use std::ffi::OsString;

use laptime_core::{Anchor, RunMeta, Status};
use laptime_record::{ChildUsage, Finished, Options, Supervisor};
use laptime_store::salvage_rings_of;

use super::train::shown_path;
use crate::Ending;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::settings::{self, Settings};
use crate::study::Study;
use crate::text::report_text;
use child::Child;
pub(crate) use child::Ended;
pub(crate) use ending::end_like;
pub use signals::keep_broken_pipes_silent;

pub(crate) fn run(args: &RunArgs, screen: &Screen) -> Result<Ending, Failure> {
    program::look_up(args.program())?;
    if settings::disabled() || settings::joined(args) {
        return Err(child::replace_this_process(&args.command));
    }
    let settings = Settings::read(args);
    let mut warning = settings.trouble.clone();
    let signals = signals::Blocked::all();
    let supervisor = Supervisor::start(&options(args, &settings));
    if let Some(error) = supervisor.trouble() {
        warning = Some(format!("this run will not be kept: {error}"));
    }
    if let Some(warning) = &warning {
        screen.note(&format!("warning: {warning}"));
    }
    let (finished, ended) = watch(args, supervisor, &signals)?;
    if let Some(run) = &finished.run {
        salvage_rings_of(run);
    }
    if !settings.quiet {
        show(finished, screen);
    }
    Ok(Ending::Like(ended))
}

fn options(args: &RunArgs, settings: &Settings) -> Options {
    let command: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = settings.name.clone().unwrap_or_else(|| program::run_name(&command));
    let meta = RunMeta { name, command, ..RunMeta::default() };
    Options { root: Some(settings.dir.clone()), meta, ..Options::default() }
}

/// Starts the command and stays with it until it has ended.
fn watch(
    args: &RunArgs,
    mut supervisor: Supervisor,
    signals: &signals::Blocked,
) -> Result<(Finished, Ended), Failure> {
    let variables = environment::variables(&supervisor, args.no_hooks);
    let child = match Child::start(&args.command, &variables, signals) {
        Ok(child) => child,
        Err(error) => {
            supervisor.abandon();
            return Err(program::not_started(args.program(), &error));
        }
    };
    supervisor.watch(child.pid());
    let (ended, at, usage) = follow(&child, &mut supervisor, signals);
    let (status, message) = ended.told();
    Ok((supervisor.finish(&at, &usage, status, message), ended))
}

/// Forwards signals, stops with the command, and reads the probes, until the command has ended.
fn follow(
    child: &Child,
    supervisor: &mut Supervisor,
    signals: &signals::Blocked,
) -> (Ended, Anchor, ChildUsage) {
    let mut next_sample = child::Timer::every_second();
    loop {
        if let Some(signal) = signals.wait(next_sample.left()) {
            child.forward(&signal);
        }
        match child.change() {
            child::Change::Ended => {
                // Between its end and its reaping, all that the child used can still be read.
                supervisor.sample();
                let (ended, usage) = child.reap();
                return (ended, laptime_record::anchor(), usage);
            }
            child::Change::Stopped(signal) => signals.stop_by(signal),
            child::Change::None => {}
        }
        if next_sample.is_due() {
            supervisor.sample();
        }
    }
}

/// The report goes to standard error: standard output is the command's alone.
fn show(finished: Finished, screen: &Screen) {
    let kept = finished.run.as_deref().filter(|_| finished.unsaved.is_none()).map(shown_path);
    match Study::of_finished(finished).report() {
        Ok(report) => {
            screen.note(report_text(&report, kept.as_deref(), screen.error_style()).trim_end());
        }
        Err(error) => screen.note(&format!("warning: could not report on the run: {error}")),
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

impl RunArgs {
    fn program(&self) -> &OsString {
        static NONE: OsString = OsString::new();
        self.command.first().unwrap_or(&NONE)
    }
}
