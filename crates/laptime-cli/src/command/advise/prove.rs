//! The proof of an item: the command with and without the change, in turns.

use laptime_analyse::Warning;
use laptime_analyse::advise::{Advice, Item, MeasuredSpeedup, Proof};
use laptime_analyse::compare::{Asked, ComparedRun, Comparison, Goal, Measure, compare, paired_ratio};
use laptime_core::{Change, Trouble, command_line};
use laptime_launch::{Apart, Blocked, Watcher};
use laptime_store::{Collection, CollectionKind, Collections};
use serde::Serialize;

use crate::Ending;
use crate::args::AdviseArgs;
use crate::command::run::program::look_up;
use crate::command::trial::conduct::{Executed, Trial, TrialEnd, conduct};
use crate::command::trial::progress::Progress;
use crate::command::trial::state::TrialState;
use crate::command::trial::{Execution, Executor, TrialSide};
use crate::failure::Failure;
use crate::screen::Screen;
use crate::text::proof_text;

/// Pairs of a proof when nothing else is said.
const GOAL: Goal = Goal { fewest: 3, most: 12, precision: 0.03 };

/// A comparison that proves an item.
#[derive(Serialize)]
struct Proved {
    #[serde(flatten)]
    comparison: Comparison,
    proof: Proof,
}

/// Proves an item of the advice.
pub(super) fn run(
    args: &AdviseArgs,
    wanted: &str,
    advice: &Advice,
    screen: &Screen,
) -> Result<Ending, Failure> {
    let item = meant(advice, wanted)?;
    let trial = trial(args, advice, item)?;
    let trials = Collections::at(args.place.folder(), CollectionKind::Trial);
    let not_kept = |error: std::io::Error| Failure::new("could not keep the proof").caused_by(&error);
    let collection = trials.create(laptime_record::anchor().real_ns).map_err(not_kept)?;
    let executed = match execute(args, &trial, &collection, screen) {
        (executed, TrialEnd::Interrupted) if executed.pairs.len() < 2 => return Ok(Ending::Interrupted),
        (_, TrialEnd::Failed(side, reason)) => return Err(failed(&trial.sides[side], &reason)),
        (executed, _) => executed,
    };
    refuse_unchanged(&trial.sides[1], &executed.b)?;
    let (a, b) = (&trial.sides[0].name, &trial.sides[1].name);
    let comparison = compare((a, &executed.a), (b, &executed.b), &Asked::default());
    let Some(proof) = proof(advice, item, &executed, &comparison) else { return Ok(Ending::Interrupted) };
    let mut state = TrialState::new(&trial, &executed);
    state.proof = Some(proof.clone());
    if let Err(error) = state.keep(&collection) {
        screen.note(&format!("warning: the proof cannot be kept: {error}"));
    }
    if args.json {
        screen.show_json(&Proved { comparison, proof })?;
    } else {
        screen.show(proof_text(&proof, item, &comparison, &screen.style).trim_end());
    }
    Ok(Ending::Done)
}

/// The item by its number or name.
fn meant<'a>(advice: &'a Advice, wanted: &str) -> Result<&'a Item, Failure> {
    let is_meant = |item: &&Item| item.id == wanted || item.number.to_string() == wanted;
    advice.items.iter().find(is_meant).ok_or_else(|| {
        let known: Vec<String> =
            advice.items.iter().map(|item| format!("{} ({})", item.number, item.id)).collect();
        let because = match known.is_empty() {
            true => format!("there is no advice on run {}", advice.run),
            false => format!("run {} has {}", advice.run, known.join(", ")),
        };
        Failure::usage(format!("could not prove `{wanted}`")).because(because).hint("laptime advise")
    })
}

/// The command as it is and with the change.
fn trial(args: &AdviseArgs, advice: &Advice, item: &Item) -> Result<Trial, Failure> {
    let typed: Vec<String> = match args.command.is_empty() {
        true => advice.command.clone(),
        false => args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    let Some(program) = typed.first() else {
        return Err(Failure::usage(format!("could not prove `{}`", item.id))
            .because("the run does not say by which command it was made")
            .hint(format!("laptime advise --prove {} -- python train.py", item.number)));
    };
    find(program)?;
    let changes: Vec<Change> = item.injects.as_deref().map(read_changes).unwrap_or_default();
    let (changed, changes) = match (&args.changed, changes.is_empty()) {
        (Some(changed), _) => (words(changed)?, Vec::new()),
        (None, false) => (typed.clone(), changes),
        (None, true) => return Err(by_hand(item, &typed)),
    };
    let side =
        |name: &str, command, changes| TrialSide { name: name.to_owned(), command, folder: None, changes };
    let most = args.pairs.map_or(GOAL.most, |pairs| pairs as usize);
    Ok(Trial {
        sides: [side("before", typed, Vec::new()), side("after", changed, changes)],
        measure: Measure::Training,
        goal: Goal { fewest: GOAL.fewest.min(most), most, ..GOAL },
    })
}

fn read_changes(text: &str) -> Vec<Change> {
    text.split(',')
        .filter_map(|one| one.split_once('='))
        .map(|(name, value)| Change::new(name, value))
        .collect()
}

/// The words of a command that was typed as one.
fn words(text: &str) -> Result<Vec<String>, Failure> {
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

fn by_hand(item: &Item, typed: &[String]) -> Failure {
    Failure::usage(format!("could not prove `{}` by itself", item.id))
        .because(format!("the change is yours to make: {}", item.change))
        .hint(format!(
            "laptime advise --prove {} --changed 'COMMAND AFTER THE CHANGE' -- {}",
            item.number,
            command_line::join(typed)
        ))
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
    let executor = Executor { runs: collection.runs(), apart };
    let progress = std::cell::RefCell::new(Progress::new(screen, args.quiet));
    let mut one = |side: &TrialSide| -> Execution {
        let execution = executor.execute(side, &mut || progress.borrow().beat(&side.name));
        progress.borrow_mut().executed();
        execution
    };
    let result = conduct(trial, &mut one, &mut |executed| progress.borrow().made(trial, executed));
    progress.borrow().clear();
    result
}

fn failed(side: &TrialSide, reason: &str) -> Failure {
    let which = if side.name == "after" { " with the change" } else { "" };
    Failure::new(format!("could not run `{}`{which}", command_line::join(&side.command))).because(reason)
}

/// A script that did not take the change proves nothing.
fn refuse_unchanged(side: &TrialSide, runs: &[ComparedRun]) -> Result<(), Failure> {
    let Some(run) = runs.first() else { return Ok(()) };
    let applied = |change: &Change| {
        let word = change.to_string();
        let of = |fit: &laptime_analyse::FitSummary| fit.settings.get("changes").cloned().unwrap_or_default();
        run.report.fits.iter().any(|fit| of(fit).split(' ').any(|one| one == word))
    };
    let Some(change) = side.changes.iter().find(|change| !applied(change)) else { return Ok(()) };
    let because = run.report.warnings.iter().find_map(|warning| match warning {
        Warning::Trouble { trouble: Trouble::HookOff { hook, because } }
            if hook.contains(&change.to_string()) =>
        {
            Some(because.clone())
        }
        _ => None,
    });
    Err(Failure::new(format!("the script did not take the change `{change}`"))
        .because(because.unwrap_or_else(|| "nothing in it could be changed so".to_owned()))
        .hint("edit the script and give the edited command with --changed"))
}

fn proof(advice: &Advice, item: &Item, executed: &Executed, comparison: &Comparison) -> Option<Proof> {
    let measured = MeasuredSpeedup::of_ratio(paired_ratio(&executed.pairs)?);
    let predicted = item.speedup;
    Some(Proof {
        item: item.id.to_owned(),
        title: item.title.clone(),
        run: advice.run.clone(),
        predicted,
        measured,
        pairs: executed.pairs.len() as u64,
        holds: (predicted.low..=predicted.high).contains(&measured.mean),
        same_training: comparison.same_training,
    })
}
