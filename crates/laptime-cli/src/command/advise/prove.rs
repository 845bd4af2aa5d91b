//! The proof of an item: the command with and without the change, in turns.

use laptime_analyse::advise::{Advice, Item, Proof};
use laptime_analyse::compare::Comparison;
use laptime_core::{Change, command_line};
use serde::Serialize;

use super::pairs::{self, Pairs};
use crate::Ending;
use crate::args::AdviseArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::text::proof_text;

/// A comparison that proves an item.
#[derive(Serialize)]
struct Proved<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
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
    let before = pairs::typed(args, Some(advice))?;
    let changes: Vec<Change> = item.injects.as_deref().map(read_changes).unwrap_or_default();
    let (after, changes) = match (&args.changed, changes.is_empty()) {
        (Some(changed), _) => (pairs::words(changed)?, Vec::new()),
        (None, false) => (before.clone(), changes),
        (None, true) => return Err(by_hand(item, &before)),
    };
    let Some(mut pairs) = pairs::measure(args, (before, after), changes, screen)? else {
        return Ok(Ending::Interrupted);
    };
    let proof = proof(advice, item, &pairs);
    pairs.state.proof = Some(proof.clone());
    pairs.keep(screen);
    if args.json {
        screen.show_json(&Proved { comparison: &pairs.comparison, proof })?;
    } else {
        screen.show(proof_text(&proof, item, &pairs.comparison, &screen.style).trim_end());
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

fn read_changes(text: &str) -> Vec<Change> {
    let pairs = text.split(',').filter_map(|one| one.split_once('='));
    pairs.map(|(name, value)| Change::new(name, value)).collect()
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

fn proof(advice: &Advice, item: &Item, pairs: &Pairs) -> Proof {
    let (predicted, measured) = (item.speedup, pairs.speedup);
    Proof {
        item: item.id.to_owned(),
        title: item.title.clone(),
        run: advice.run.clone(),
        predicted,
        measured,
        pairs: pairs.count,
        holds: (predicted.low..=predicted.high).contains(&measured.mean),
        same_training: pairs.comparison.same_training,
    }
}
