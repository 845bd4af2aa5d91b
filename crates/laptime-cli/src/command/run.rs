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

mod on_terminal;
pub(super) mod program;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use laptime_core::RunMeta;
use laptime_launch::program::{run_name, words};
use laptime_launch::{
    Attach, Blocked, Ended, Foreground, Given, Ran, Settings, Supervisor, is_inside_a_run,
    replace_this_process, wait_for_their_end,
};
use laptime_record::{Finished, Launch, Options};
use laptime_store::clear_rings_of;

use self::on_terminal::OnTerminal;
use super::train::complete;
use crate::Ending;
use crate::args::RunArgs;
use crate::due::Due;
use crate::export::tensorboard::{Board, check_folder};
use crate::failure::Failure;
use crate::live::{Live, Unfinished, Views};
use crate::one_line::shown_path;
use crate::outlook::Outlook;
use crate::screen::{Screen, note};
use crate::study::Study;
use crate::text::summary_text;

/// What killed a command may be killing the processes it started: what they were doing is in their rings.
const DYING_TOGETHER: Duration = Duration::from_millis(250);

pub(crate) fn run(args: &RunArgs, screen: &Screen) -> Result<Ending, Failure> {
    let words = words(&args.command);
    program::look_up(program_of(&words))?;
    let settings = settings(args);
    if settings.disabled || joins(args) {
        let error = replace_this_process(&words);
        return Err(program::not_started(program_of(&words), &error));
    }
    let launch = Launch::from_environment();
    let board = board(args, launch.as_ref())?;
    // Of several ranks the first speaks for all.
    let is_first = launch.as_ref().is_none_or(|launch| launch.rank == 0);
    let on_terminal = OnTerminal::open(args, is_first, screen)?;
    let mut warning = settings.trouble.clone();
    let signals = Blocked::all();
    let supervisor = Supervisor::start(&options(&words, &settings, launch.clone()));
    if let Some(error) = supervisor.trouble() {
        warning = Some(format!("this run will not be kept: {error}"));
    }
    if let Some(warning) = &warning {
        screen.note(&format!("warning: {warning}"));
    }
    let outlook = is_first
        .then(|| Outlook::new(&settings.runs_folder(), Due::of_run(args.deadline), settings.quiet, screen));
    let OnTerminal { page, title } = on_terminal;
    let views = Views::default().with_board(board).with_outlook(outlook).with_terminal(page, title);
    let Watched { finished, ended, unfinished } = watch(&words, args, views, supervisor, &signals)?;
    if let Some(run) = &finished.run {
        let patience = if matches!(ended, Ended::Signal(_)) { DYING_TOGETHER } else { Duration::ZERO };
        clear_rings_of(run, launch.as_ref().map(|launch| launch.rank), patience);
    }
    let is_wanted = unfinished.board.is_some() || unfinished.outlook.as_ref().is_some_and(Outlook::is_wanted);
    if is_first && (!settings.quiet || is_wanted) {
        if launch.is_some() && ended == Ended::Exit(0) {
            let _ = finished.run.as_deref().map(wait_for_their_end);
        }
        show(finished, unfinished, args, settings.quiet, screen);
    }
    Ok(Ending::Like(ended))
}

fn settings(args: &RunArgs) -> Settings {
    let (dir, name) = (args.place.dir.clone(), args.name.clone());
    Settings::read(Given { dir, name, quiet: args.quiet.then_some(true), disabled: None })
}

/// Whether the command joins the run of a `laptime run` above. One that is given a name, a folder or a place
/// for TensorBoard of its own wants a run of its own.
fn joins(args: &RunArgs) -> bool {
    let own = args.name.is_some() || args.place.dir.is_some() || args.board.tensorboard.is_some();
    !own && is_inside_a_run()
}

/// What the run is written into for TensorBoard; the first of several ranks does it for all.
fn board(args: &RunArgs, launch: Option<&Launch>) -> Result<Option<Board>, Failure> {
    let Some(dir) = args.board.tensorboard.as_deref() else { return Ok(None) };
    check_folder(dir, format!("could not run `{}`", program_of(&args.command).display()))?;
    Ok(launch.is_none_or(|launch| launch.rank == 0).then(|| Board::new(dir)))
}

fn options(words: &[OsString], settings: &Settings, launch: Option<Launch>) -> Options {
    let command: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = settings.name.clone().unwrap_or_else(|| run_name(&command));
    let (rank, ranks) = launch.as_ref().map_or((0, 1), |launch| (launch.rank, launch.ranks));
    let meta = RunMeta { name, command, ranks, ..RunMeta::default() };
    Options { root: Some(settings.runs_folder()), meta, rank, launch, ..Options::default() }
}

/// A command that has ended.
struct Watched {
    finished: Finished,
    ended: Ended,
    unfinished: Unfinished,
}

/// Starts the command and stays with it until it has ended.
fn watch(
    words: &[OsString],
    args: &RunArgs,
    views: Views,
    supervisor: Supervisor,
    signals: &Blocked,
) -> Result<Watched, Failure> {
    let attach =
        Attach { hooks: !args.no_hooks, layers: args.layers, changes: args.change.clone(), probe: None };
    let started = Foreground::start(words, supervisor, signals, &attach);
    let mut command = started.map_err(|error| program::not_started(program_of(words), &error))?;
    let live = Live::follow(command.supervisor().run(), views);
    if args.profile {
        command.profile();
    }
    let Ran { finished, ended, profile_trouble } = command.wait();
    if let Some(error) = profile_trouble {
        note(&format!("warning: the profile is not kept in full: {error}"));
    }
    Ok(Watched { finished, ended, unfinished: live.end() })
}

/// The summary goes to standard error: standard output is the command's alone.
fn show(finished: Finished, unfinished: Unfinished, args: &RunArgs, quiet: bool, screen: &Screen) {
    let kept = finished.run.as_deref().filter(|_| finished.unsaved.is_none()).map(shown_path);
    let report = match Study::of_finished(finished).with_lap(args.lap.lap).report() {
        Ok(report) => report,
        Err(error) => return screen.note(&format!("warning: could not report on the run: {error}")),
    };
    let mut notes: Vec<String> =
        unfinished.board.map(|board| complete(board, &report, screen)).into_iter().collect();
    notes.extend(unfinished.outlook.map(|outlook| outlook.end(&report)).unwrap_or_default());
    if !quiet {
        screen.note(summary_text(&report, kept.as_deref(), screen.error_style()).trim_end());
        notes.iter().for_each(|note| screen.note(note));
    }
}

fn program_of(words: &[OsString]) -> &OsStr {
    words.first().map_or(OsStr::new(""), OsString::as_os_str)
}
