//! Workers that are fast enough in the mean but not for every batch: let them load further ahead.

use laptime_core::units::{duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};
use super::persistent::waits;
use super::workers::LATE;

pub(super) const RULE: Rule = Rule { id: "prefetch", subject: "prefetch", look };

/// Workers that are busy less than this share of the time could load all batches in time.
const BUSY: f64 = 0.8;
/// Batches that each worker loads ahead, once advised.
const AHEAD: u64 = 8;
/// Slow batches take so many times what the middle one does, where they come in bursts.
const BURSTS: f64 = 2.0;
/// The part of the waits that goes, at least: bursts may be longer than what is loaded ahead.
const LEAST_GONE: f64 = 0.5;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(workers) = evidence.fit.workers.filter(|workers| *workers > 0) else {
        return Outcome::DoesNotApply;
    };
    let (Some(loading), Some(timed)) = (evidence.report.loading, evidence.run.passes.worker_loading) else {
        return Outcome::DoesNotApply;
    };
    // Waits for workers that start are longer than anything they could load ahead.
    let all = evidence.training.stage_s("data_wait");
    let steps = evidence.training.steps as f64;
    let spent = waits(evidence).map_or(all, |(_, later)| all.min(later * steps));
    let load_s = (loading.fetch_s + loading.collate_s).max(timed.seconds);
    // Nor is there more to load ahead than is loaded: what is waited for beyond that is the handing over.
    let spent = spent.min(load_s * steps);
    let late = spent / evidence.training.seconds;
    let ahead = evidence.setting("torch.prefetch_factor").and_then(|value| value.parse().ok()).unwrap_or(2);
    let busy = load_s / (evidence.training.step_s() * workers as f64);
    if late < LATE || busy > BUSY || ahead >= AHEAD || !in_bursts(evidence) {
        return Outcome::Fine;
    }
    Outcome::advice(Advised {
        title: format!("load {AHEAD} batches ahead per worker"),
        because: format!(
            "the workers are busy {} of the time, and still {} of each step waits: some batches take much longer \
             than the others ({} in the mean)",
            percent(busy),
            percent(late),
            duration(timed.seconds)
        ),
        change: format!("DataLoader(…, prefetch_factor={AHEAD})"),
        speedup: Speedup::predicted(evidence.without(spent * LEAST_GONE), evidence.without(spent)),
        injects: injected("prefetch_factor", AHEAD),
    })
}

/// Whether one batch in twenty takes much longer than the middle one.
fn in_bursts(evidence: &Evidence<'_>) -> bool {
    let rows = evidence.report.workers.iter().flatten().flat_map(|worker| &worker.ledger);
    let fetches = rows.filter(|row| row.stage == "fetch");
    let mut spreads = fetches.filter_map(|row| Some((row.p50_s?, row.p95_s?)));
    spreads.any(|(middle, slow)| slow > BURSTS * middle)
}
