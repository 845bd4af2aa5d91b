//! Verdict: what the ranks side by side add to the findings about one of them.

use laptime_core::units::percent;

use super::summary::Between;
use crate::report::{Finding, Pattern, Report};

/// Exchange itself is the limit from this share of a step on.
const LIMIT: f64 = 0.40;
/// What one rank says of its own steps is no verdict where it waits for others meanwhile.
const OWN: [&str; 3] = ["compute_bound", "communication_bound", "cannot_tell"];

/// Puts what the ranks exchange, and whom they wait for, into a report.
pub(crate) fn put_between(report: &mut Report, between: Between) {
    let Between { summary, findings, .. } = between;
    report.slowest_rank = summary
        .straggler
        .as_ref()
        .filter(|one| one.pattern == Pattern::Chronic)
        .and_then(|one| one.ranks.first().copied());
    report.communication = Some(summary);
    let exchange = findings.iter().all(|finding| !finding.verdict).then(|| exchange(report)).flatten();
    let (verdicts, others): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().chain(exchange).partition(|finding| finding.verdict);
    if !verdicts.is_empty() {
        report.findings.retain(|known| !known.verdict || !OWN.contains(&known.id));
    }
    report.findings.splice(0..0, verdicts);
    report.findings.extend(others);
}

/// The exchange itself, where most ranks stand still for it and nobody is late.
fn exchange(report: &Report) -> Option<Finding> {
    let ranks = report.ranks.as_deref()?;
    let known: Vec<_> = ranks.iter().filter_map(|rank| rank.communication).collect();
    let steps: f64 = known.iter().map(|one| one.step_s).sum();
    let transfer = known.iter().map(|one| one.transfer_s).sum::<Option<f64>>()?;
    let waiting = known.iter().map(|one| one.waiting_s).sum::<Option<f64>>()?;
    let share = transfer / steps;
    let text = || {
        format!(
            "exchange between ranks is the limit: {} of each step stands still for it, another {} waits for ranks \
             that are late by chance",
            percent(share),
            percent(waiting / steps)
        )
    };
    (share >= LIMIT).then(|| Finding { verdict: true, ..Finding::new("communication_bound", text()) })
}
