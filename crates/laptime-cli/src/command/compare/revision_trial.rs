//! A command in a git revision against the same command in the working tree, in turns.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use laptime_analyse::compare::{Comparison, Goal, Measure, Turns, compare_in_turns};
use laptime_core::command_line;
use laptime_launch::{Apart, Blocked, Watcher};
use laptime_store::{Collection, CollectionKind, Collections};

use super::revision::{LaidOut, WorkingTree};
use super::show;
use crate::Ending;
use crate::args::CompareArgs;
use crate::command::run::program::look_up;
use crate::command::trial::conduct::{Executed, Trial, TrialEnd, conduct, without_time};
use crate::command::trial::limit::Limit;
use crate::command::trial::progress::Progress;
use crate::command::trial::state::TrialState;
use crate::command::trial::{Execution, Executor, TrialSide};
use crate::failure::Failure;
use crate::screen::Screen;

/// Pairs when nothing else is said; fewer than five decide nothing.
const GOAL: Goal = Goal { fewest: 5, most: 30, precision: 0.02, limit: None };
/// The name of the side that is judged.
const HEAD: &str = "this tree";

/// What was executed, two of the revision first, or how it ended.
struct Tried {
    aa_s: Option<(f64, f64)>,
    executed: Executed,
    end: TrialEnd,
}

/// Runs a command in a revision and in the working tree, and compares.
pub(super) fn run(
    args: &CompareArgs,
    revision: &str,
    command: &[String],
    screen: &Screen,
) -> Result<Ending, Failure> {
    // From here on a request to end waits for the next execution, so that the folder below is always removed.
    let signals = Blocked::all();
    let asked = format!("could not compare with `{revision}`");
    let tree = WorkingTree::here(&asked)?;
    let runs = std::path::absolute(args.place.folder()).unwrap_or_else(|_| args.place.folder());
    let laid_out = tree.lay_out(revision, &runs, &asked)?;
    refuse(command, &tree, &laid_out, &asked)?;
    if tree.is_dirty() && !args.quiet {
        screen.note("note: this tree has changes that are not committed: they are judged, too");
    }
    let trial = trial(args, revision, command, laid_out.inside());
    let not_kept =
        |error: std::io::Error| Failure::new(&asked).because("its runs could not be kept").caused_by(&error);
    let trials = Collections::at(args.place.folder(), CollectionKind::Trial);
    let collection = trials.create(laptime_record::anchor().real_ns).map_err(not_kept)?;
    let tried = execute(args, &trial, (&collection, &signals), screen);
    keep(&trial, &tried, &collection, screen);
    match &tried.end {
        TrialEnd::Failed(side, reason) => Err(failed(&trial.sides[*side], reason, &collection.path)),
        TrialEnd::Interrupted => Ok(Ending::Interrupted),
        TrialEnd::Done => show(args, &compared(args, &trial, &tried), screen),
    }
}

/// Refuses a command that is not there, or that runs the files of this tree on both sides.
fn refuse(command: &[String], tree: &WorkingTree, laid_out: &LaidOut, asked: &str) -> Result<(), Failure> {
    if let Some(program) = command.first().filter(|program| *program != "laptime") {
        look_up(program.as_ref())?;
    }
    let Some(word) = tree.own_file(command, laid_out) else { return Ok(()) };
    Err(Failure::usage(asked)
        .because(format!("`{word}` is the file of this tree, also for the revision"))
        .hint("name it relative to the current folder"))
}

fn trial(args: &CompareArgs, revision: &str, command: &[String], base: PathBuf) -> Trial {
    let side = |name: &str, folder: Option<PathBuf>| TrialSide {
        name: name.to_owned(),
        command: command.to_vec(),
        folder,
        changes: Vec::new(),
    };
    let most = args.pairs.map_or(GOAL.most, |pairs| pairs as usize);
    Trial {
        sides: [side(revision, Some(base)), side(HEAD, None)],
        measure: args.stage.clone().map_or(Measure::Total, Measure::Stage),
        goal: Goal { fewest: GOAL.fewest.min(most), most, limit: args.fail_if_slower, ..GOAL },
    }
}

fn execute(
    args: &CompareArgs,
    trial: &Trial,
    (collection, signals): (&Collection, &Blocked),
    screen: &Screen,
) -> Tried {
    let watcher = Watcher::start();
    let apart = Apart { signals, watcher: watcher.as_ref() };
    let executor = Executor { runs: collection.runs(), apart, limit: Limit::default() };
    let progress = RefCell::new(Progress::new(screen, args.quiet).at_most(trial.goal.most));
    let mut one = |side: &TrialSide| -> Execution {
        let execution = executor.execute(side, &mut || progress.borrow().beat(&side.name));
        progress.borrow_mut().executed();
        execution
    };
    let tried = match twice(trial, &mut one) {
        Err(end) => Tried { aa_s: None, executed: Executed::default(), end },
        Ok(aa_s) => {
            let (executed, end) =
                conduct(trial, &mut one, &mut |executed| progress.borrow().made(trial, executed));
            Tried { aa_s: Some(aa_s), executed, end }
        }
    };
    progress.borrow().clear();
    tried
}

/// Runs the first side twice, which shows the noise and warms the caches.
fn twice(trial: &Trial, one: &mut dyn FnMut(&TrialSide) -> Execution) -> Result<(f64, f64), TrialEnd> {
    let mut time = || match one(&trial.sides[0]) {
        Execution::Made(run) => {
            let without = || TrialEnd::Failed(0, without_time(&trial.measure, &run.report));
            trial.measure.of(&run).ok_or_else(without)
        }
        Execution::Failed(reason) => Err(TrialEnd::Failed(0, reason)),
        Execution::Interrupted => Err(TrialEnd::Interrupted),
    };
    Ok((time()?, time()?))
}

fn compared(args: &CompareArgs, trial: &Trial, tried: &Tried) -> Comparison {
    let [a, b] = &trial.sides;
    let turns = Turns { measure: &trial.measure, aa: tried.aa_s };
    let executed = &tried.executed;
    compare_in_turns((&a.name, &executed.a), (&b.name, &executed.b), &turns, &args.asked())
}

/// Keeps what was measured; it is worth showing without that.
fn keep(trial: &Trial, tried: &Tried, collection: &Collection, screen: &Screen) {
    let mut state = TrialState::new(trial, &tried.executed);
    state.aa_s = tried.aa_s;
    if let Err(error) = state.keep(collection) {
        screen.note(&format!("warning: the pairs cannot be kept: {error}"));
    }
}

fn failed(side: &TrialSide, reason: &str, collection: &Path) -> Failure {
    let place = if side.folder.is_some() { format!("in `{}`", side.name) } else { "in this tree".to_owned() };
    let command = command_line::join(&side.command);
    Failure::new(format!("could not time `{command}` {place}"))
        .because(reason)
        .kept(format!("what it wrote, in {}", collection.join("runs").display()))
}
