//! What is known of fits, and what sets one apart from the others.

use laptime_analyse::FitSummary;

use super::shown;
use super::units;

/// What all fits have in common, the label left out where it is the run's name too.
pub(crate) fn shared_facts(fits: &[FitSummary], run_name: &str) -> Vec<String> {
    let Some((first, others)) = fits.split_first() else { return Vec::new() };
    let mut shared = facts(first);
    if others.is_empty() {
        // Shown beside the times of the one fit there is.
        shared.retain(|fact| Some(fact) != flops_fact(first).as_ref());
    }
    shared.retain(|fact| others.iter().all(|fit| facts(fit).contains(fact)) && fact != run_name);
    shared
}

/// What sets this fit apart.
pub(crate) fn own_facts(fit: &FitSummary, fits: &[FitSummary]) -> Vec<String> {
    let shared = shared_facts(fits, "");
    facts(fit).into_iter().filter(|fact| !shared.contains(fact)).collect()
}

/// How long the epochs took: `mean 1.23 s   first 1.31 s   steady 1.20 s`.
pub(crate) fn epoch_times(fit: &FitSummary) -> Option<String> {
    let times = fit.epoch_s;
    let mean = units::duration(times.mean?);
    let (first, steady) =
        (units::or_unknown(times.first, units::duration), units::or_unknown(times.steady, units::duration));
    Some(format!("mean {mean}   first {first}   steady {steady}"))
}

fn flops_fact(fit: &FitSummary) -> Option<String> {
    fit.flops_per_sample.map(|flops| format!("{} a sample", units::flops(flops as f64)))
}

fn facts(fit: &FitSummary) -> Vec<String> {
    let mut facts = vec![shown(&fit.label)];
    facts.extend(fit.rows.map(|rows| units::counted(rows, "row")));
    facts.extend(fit.batch.map(|batch| format!("batch {}", units::count(batch))));
    facts.extend(fit.parameters.map(|parameters| units::counted(parameters, "parameter")));
    facts.extend(flops_fact(fit));
    facts.extend(fit.choices.iter().map(|(name, value)| format!("{} {}", shown(name), shown(value))));
    facts.retain(|fact| !fact.is_empty());
    facts
}
