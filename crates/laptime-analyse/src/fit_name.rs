//! The name of a fit among others: its number, and what sets it apart.

use laptime_core::display_name;
use laptime_core::units::{count, counted};

use crate::report::FitSummary;

/// Facts that name a fit; of more, nobody reads the rest.
const MOST_FACTS: usize = 3;

/// `fit 2 (lstm, batch 64)`.
pub(crate) fn fit_name(fit: &FitSummary, fits: &[FitSummary]) -> String {
    let shared = |fact: &String| fits.iter().all(|other| facts(other).contains(fact));
    let own: Vec<String> = facts(fit).into_iter().filter(|fact| !shared(fact)).take(MOST_FACTS).collect();
    let number = u64::from(fit.index) + 1;
    if own.is_empty() { format!("fit {number}") } else { format!("fit {number} ({})", own.join(", ")) }
}

fn facts(fit: &FitSummary) -> Vec<String> {
    let mut facts = vec![display_name(&fit.label)];
    facts.extend(fit.rows.map(|rows| counted(rows, "row")));
    facts.extend(fit.batch.map(|batch| format!("batch {}", count(batch))));
    facts.extend(fit.parameters.map(|parameters| counted(parameters, "parameter")));
    let chosen = fit.choices.iter();
    facts.extend(chosen.map(|(name, value)| format!("{} {}", display_name(name), display_name(value))));
    facts.retain(|fact| !fact.is_empty());
    facts
}
