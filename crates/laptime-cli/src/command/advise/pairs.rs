//! A command with and without a change, in turns: what proofs and the ceiling have in common.

use std::cell::RefCell;

use laptime_analyse::advise::{Advice, MeasuredSpeedup};
use laptime_analyse::compare::{Asked, ComparedRun, Comparison, Goal, Measure, compare, paired_ratio};
use laptime_analyse::{FitSummary, Warning};
use laptime_core::{Change, Trouble, command_line};
use laptime_launch::{Apart, Blocked, Watcher};
use laptime_store::{Collection, CollectionKind, Collections};

use crate::args::AdviseArgs;
use crate::command::run::program::look_up;
use crate::command::trial::conduct::{Executed, Trial, TrialEnd, conduct};
use crate::command::trial::limit::Limit;
use crate::command::trial::progress::Progress;
use crate::command::trial::state::TrialState;
use crate::command::trial::{Execution, Executor, TrialSide};
use crate::failure::Failure;
use crate::screen::Screen;

/// Pairs when nothing else is said.
const GOAL: Goal = Goal { fewest: 3, most: 12, precision: 0.03, limit: None };

/// The name of the side with the change.
const CHANGED: &str = "after";

/// The setting by which the hooks say what they changed.
const CHANGES_SETTING: &str = "changes";

/// What the pairs came to.
pub(super) struct Pairs {
    /// How many.
    pub(super) count: u64,
    /// How many times faster the changed side is.
    pub(super) speedup: MeasuredSpeedup,
    /// Everything else that differs.
    pub(super) comparison: Comparison,
    /// What is kept of them.
    pub(super) state: TrialState,
    /// Where.
    pub(super) collection: Collection,
}

/// The command that was typed, else that of the run.
pub(super) fn typed(args: &AdviseArgs, advice: Option<&Advice>) -> Result<Vec<String>, Failure> {
    let typed: Vec<String> = match args.command.is_empty() {
        true => advice.map(|advice| advice.command.clone()).unwrap_or_default(),
        false => args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    let Some(program) = typed.first() else {
        return Err(Failure::usage("there is no command to measure")
            .because("the run does not say by which command it was made")
            .hint("laptime advise --prove 1 -- python train.py"));
    };
    find(program)?;
    Ok(typed)
}

/// The words of a command that was typed as one.
pub(super) fn words(text: &str) -> Result<Vec<String>, Failure> {
    let refused = |because| {
        Failure::usage(format!("could not run `{text}`")).because(because).hint("laptime advise --help")
    };
    let words = command_line::split(text).ok_or_else(|| refused("a quote is not closed"))?;
    find(words.first().ok_or_else(|| refused("there is no command"))?)?;
    Ok(words)
}

/// Refuses a program that is not there; `laptime` is this very program.
fn find(program: &str) -> Result<(), Failure> {
    if program == "laptime" { Ok(()) } else { look_up(program.as_ref()) }
}

/// Measures a command against another, or against itself with changes; `None` when somebody asked to end too early.
pub(super) fn measure(
    args: &AdviseArgs,
    (before, after): (Vec<String>, Vec<String>),
    changes: Vec<Change>,
    screen: &Screen,
) -> Result<Option<Pairs>, Failure> {
    let side =
        |name: &str, command, changes| TrialSide { name: name.to_owned(), command, folder: None, changes };
    let most = args.pairs.map_or(GOAL.most, |pairs| pairs as usize);
    let trial = Trial {
        sides: [side("before", before, Vec::new()), side(CHANGED, after, changes)],
        measure: Measure::Training,
        goal: Goal { fewest: GOAL.fewest.min(most), most, ..GOAL },
    };
    let not_kept = |error: std::io::Error| Failure::new("could not keep the pairs").caused_by(&error);
    let trials = Collections::at(args.place.folder(), CollectionKind::Trial);
    let collection = trials.create(laptime_record::anchor().real_ns).map_err(not_kept)?;
    let (executed, end) = execute(args, &trial, &collection, screen);
    if let TrialEnd::Failed(side, reason) = end {
        return Err(failed(&trial.sides[side], &reason));
    }
    let Some(ratio) = paired_ratio(&executed.pairs) else { return Ok(None) };
    let [a, b] = &trial.sides;
    let comparison = compare((&a.name, &executed.a), (&b.name, &executed.b), &Asked::default());
    let (count, speedup) = (executed.pairs.len() as u64, MeasuredSpeedup::of_ratio(ratio));
    let state = TrialState::new(&trial, &executed);
    Ok(Some(Pairs { count, speedup, comparison, state, collection }))
}

impl Pairs {
    /// Keeps them beside the runs; they are worth showing without it.
    pub(super) fn keep(&self, screen: &Screen) {
        if let Err(error) = self.state.keep(&self.collection) {
            screen.note(&format!("warning: the pairs cannot be kept: {error}"));
        }
    }
}

fn execute(
    args: &AdviseArgs,
    trial: &Trial,
    collection: &Collection,
    screen: &Screen,
) -> (Executed, TrialEnd) {
    let signals = Blocked::all();
    let watcher = Watcher::start();
    let apart = Apart { signals: &signals, watcher: watcher.as_ref() };
    let executor = Executor { runs: collection.runs(), apart, limit: Limit::default() };
    let progress = RefCell::new(Progress::new(screen, args.quiet));
    let mut one = |side: &TrialSide| -> Execution {
        let execution = executor.execute(side, &mut || progress.borrow().beat(&side.name));
        progress.borrow_mut().executed();
        match execution {
            Execution::Made(run) => match not_taken(side, &run) {
                Some(because) => Execution::Failed(because),
                None => Execution::Made(run),
            },
            other => other,
        }
    };
    let result = conduct(trial, &mut one, &mut |executed| progress.borrow().made(trial, executed));
    progress.borrow().clear();
    result
}

/// Why a script did not take a change; one that did not proves nothing.
fn not_taken(side: &TrialSide, run: &ComparedRun) -> Option<String> {
    let taken = |change: &Change| {
        let word = change.to_string();
        let said = |fit: &FitSummary| {
            fit.settings.get(CHANGES_SETTING).is_some_and(|said| said.split(' ').any(|one| one == word))
        };
        run.report.fits.iter().any(said)
    };
    let change = side.changes.iter().find(|change| !taken(change))?;
    let because = run.report.warnings.iter().find_map(|warning| match warning {
        Warning::Trouble { trouble: Trouble::HookOff { hook, because } }
            if hook.contains(&change.to_string()) =>
        {
            Some(because.as_str())
        }
        _ => None,
    });
    let because = because.unwrap_or("nothing in it could be changed so");
    Some(format!("the script did not take `{change}`: {because}"))
}

fn failed(side: &TrialSide, reason: &str) -> Failure {
    let is_changed = side.name == CHANGED;
    let which = if is_changed { " with the change" } else { "" };
    let failure =
        Failure::new(format!("could not run `{}`{which}", command_line::join(&side.command))).because(reason);
    if is_changed && !side.changes.is_empty() {
        return failure.hint("edit the script, and give the edited command with --changed");
    }
    failure
}
