//! Epoch: one pass over the training data, or neighbouring ones added up.

use std::collections::BTreeMap;

use laptime_core::{Estimate, Metric, StageId, Ticks};

use crate::tally::Tally;
use crate::totals::Totals;

/// One pass over the training data, or several neighbours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch {
    /// Its number within the fit; of several, the first one's.
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
    /// The same of saving the model.
    checkpoint_at_end: Ticks,
    pub(crate) checkpoint: Ticks,
    /// From its end to the begin of the next, or to the fit's end.
    pub(crate) gap: Option<Ticks>,
    /// What the steps that ended in it add up to.
    pub(crate) tally: Tally,
    /// What was measured during it or after it.
    pub(crate) metrics: BTreeMap<Metric, f64>,
    /// When something was last measured.
    pub(crate) measured: Option<Ticks>,
    /// Time to the end of the planned epochs, as it was predicted when the pass ended.
    pub(crate) time_left: Option<Estimate>,
    /// Whether it must stay a row of its own, because a finding is about it.
    pub(crate) stays: bool,
    /// What several epochs come to; `None` of a single one.
    folded: Option<Box<Folded>>,
}

/// Neighbouring epochs added up, beside what the row of a single one has.
#[derive(Clone, Debug, Default)]
struct Folded {
    count: u64,
    /// Their passes without what lies between them.
    wall: Ticks,
    /// Those that came to their end, and their passes.
    complete: u64,
    complete_wall: Ticks,
    /// The lowest and the highest value of each metric among the complete ones.
    extremes: BTreeMap<Metric, (f64, f64)>,
}

impl Folded {
    fn of(epoch: &Epoch) -> Self {
        let wall = epoch.wall(epoch.began);
        let finite = epoch.metrics.iter().filter(|(_, value)| epoch.complete && value.is_finite());
        Self {
            count: 1,
            wall,
            complete: u64::from(epoch.complete),
            complete_wall: if epoch.complete { wall } else { Ticks(0) },
            extremes: finite.map(|(metric, value)| (*metric, (*value, *value))).collect(),
        }
    }

    fn join(&mut self, next: &Self) {
        self.count = self.count.saturating_add(next.count);
        self.wall = self.wall.plus(next.wall);
        self.complete = self.complete.saturating_add(next.complete);
        self.complete_wall = self.complete_wall.plus(next.complete_wall);
        for (metric, (low, high)) in &next.extremes {
            let known = self.extremes.entry(*metric).or_insert((*low, *high));
            *known = (known.0.min(*low), known.1.max(*high));
        }
    }
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
        self.checkpoint_at_end = totals.own(StageId::CHECKPOINT);
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
            self.checkpoint = totals.own(StageId::CHECKPOINT).since(self.checkpoint_at_end);
        }
    }

    /// Ends what follows the pass.
    pub(crate) fn close_gap(&mut self, at: Ticks, totals: &Totals) {
        self.follow(totals);
        if let Some(ended) = self.ended {
            self.gap.get_or_insert(at.since(ended));
        }
    }

    /// Adds the epochs that follow; all have ended.
    pub(crate) fn join(&mut self, next: &Self) {
        let mut folded = self.folded.take().unwrap_or_else(|| Box::new(Folded::of(self)));
        match &next.folded {
            Some(more) => folded.join(more),
            None => folded.join(&Folded::of(next)),
        }
        self.folded = Some(folded);
        self.ended = next.ended;
        self.complete &= next.complete;
        self.totals.add_all(&next.totals);
        self.evaluate = self.evaluate.plus(next.evaluate);
        self.checkpoint = self.checkpoint.plus(next.checkpoint);
        self.gap = next.gap;
        self.tally.follow(&next.tally);
        self.metrics.extend(&next.metrics);
        self.measured = next.measured.or(self.measured);
        self.time_left = next.time_left.or(self.time_left);
    }

    /// Epochs that it stands for.
    pub(crate) fn count(&self) -> u64 {
        self.folded.as_ref().map_or(1, |folded| folded.count)
    }

    /// Those of them that came to their end.
    pub(crate) fn complete_count(&self) -> u64 {
        self.folded.as_ref().map_or(u64::from(self.complete), |folded| folded.complete)
    }

    /// How long the passes of those took together.
    pub(crate) fn complete_wall(&self) -> Ticks {
        self.folded.as_ref().map_or_else(|| self.wall(self.began), |folded| folded.complete_wall)
    }

    /// What a single epoch cost outside its steps; unknown before the next one begins, and of several.
    pub(crate) fn cost(&self) -> Option<Ticks> {
        let inside = self.wall(self.began).since(self.tally.time);
        self.gap.filter(|_| self.folded.is_none()).map(|gap| gap.plus(inside))
    }

    /// The lowest and the highest finite value of a metric among its complete epochs.
    pub(crate) fn extremes(&self, metric: Metric) -> Option<(f64, f64)> {
        let own = || self.metrics.get(&metric).filter(|value| self.complete && value.is_finite());
        match &self.folded {
            Some(folded) => folded.extremes.get(&metric).copied(),
            None => own().map(|value| (*value, *value)),
        }
    }

    /// Mean training loss as the training reported it, else over its steps; may be NaN or infinite.
    pub(crate) fn raw_loss(&self) -> Option<f64> {
        self.metrics.get(&Metric::Loss).copied().or_else(|| self.tally.mean_loss())
    }

    /// Mean training loss; `None` when it is not a number.
    pub(crate) fn loss(&self) -> Option<f64> {
        self.raw_loss().filter(|loss| loss.is_finite())
    }

    /// How long the pass took, or takes so far; of several, all passes.
    pub(crate) fn wall(&self, end: Ticks) -> Ticks {
        let passes = self.folded.as_ref().map(|folded| folded.wall);
        passes.unwrap_or_else(|| self.ended.unwrap_or(end).since(self.began))
    }
}
