//! Epoch: one pass over the training data, folded.

use std::collections::BTreeMap;

use laptime_core::{Metric, StageId, Ticks};

use crate::report::Estimate;
use crate::tally::Tally;
use crate::totals::Totals;

/// One pass over the training data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch {
    /// Its number within the fit.
    pub(crate) index: u32,
    /// When it began.
    pub(crate) began: Ticks,
    /// When it ended, whether complete or cut short; `None` while it is open.
    pub(crate) ended: Option<Ticks>,
    /// Whether the pass came to its end.
    pub(crate) complete: bool,
    /// While open, the thread's totals at its begin; then the ledger of the pass.
    totals: Totals,
    /// The thread's `evaluate` total at its end.
    evaluate_at_end: Ticks,
    /// Evaluation that followed the pass so far.
    pub(crate) evaluate: Ticks,
    /// From its end to the begin of the next, or to the fit's end.
    pub(crate) gap: Option<Ticks>,
    /// What the steps that ended in it add up to.
    pub(crate) tally: Tally,
    /// What was measured during it or after it.
    pub(crate) metrics: BTreeMap<Metric, f64>,
    /// When something was last measured.
    pub(crate) measured: Option<Ticks>,
    /// Time to the end of the planned epochs, as it was foreseen when the pass ended.
    pub(crate) time_left: Option<Estimate>,
}

impl Epoch {
    /// An epoch that begins.
    pub(crate) fn begin(index: u32, at: Ticks, totals: &Totals) -> Self {
        Self { index, began: at, totals: totals.clone(), ..Self::default() }
    }

    /// Ends the pass.
    pub(crate) fn end(&mut self, at: Ticks, totals: &Totals, complete: bool) {
        let at = at.max(self.began);
        self.totals = self.ledger(at, totals, StageId::UNACCOUNTED);
        self.evaluate_at_end = totals.own(StageId::EVALUATE);
        self.ended = Some(at);
        self.complete = complete;
    }

    /// The ledger of the pass; of an open one up to `end`, where the thread's totals are `totals`.
    pub(crate) fn ledger(&self, end: Ticks, totals: &Totals, doubtful: StageId) -> Totals {
        if self.ended.is_some() {
            return self.totals.clone();
        }
        totals.since(&self.totals).close_to(end.since(self.began), doubtful)
    }

    /// Notes what followed the pass so far.
    pub(crate) fn follow(&mut self, totals: &Totals) {
        if self.ended.is_some() && self.gap.is_none() {
            self.evaluate = totals.own(StageId::EVALUATE).since(self.evaluate_at_end);
        }
    }

    /// Ends what follows the pass.
    pub(crate) fn close_gap(&mut self, at: Ticks, totals: &Totals) {
        self.follow(totals);
        if let Some(ended) = self.ended {
            self.gap.get_or_insert(at.since(ended));
        }
    }

    /// Mean training loss as the training told it, else over its steps; may be NaN or infinite.
    pub(crate) fn raw_loss(&self) -> Option<f64> {
        self.metrics.get(&Metric::Loss).copied().or_else(|| self.tally.mean_loss())
    }

    /// Mean training loss; `None` when it is not a number.
    pub(crate) fn loss(&self) -> Option<f64> {
        self.raw_loss().filter(|loss| loss.is_finite())
    }

    /// How long the pass took, or takes so far.
    pub(crate) fn wall(&self, end: Ticks) -> Ticks {
        self.ended.unwrap_or(end).since(self.began)
    }
}
