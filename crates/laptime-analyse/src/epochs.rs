//! Epochs of one fit: each by itself while there are few, neighbours folded where there are very many.

use laptime_core::{FitFacts, Ticks};

use crate::epoch::Epoch;
use crate::goal::Goal;
use crate::statistics::Spread;
use crate::totals::Totals;

/// Epochs at either end that are never folded: what a table shows, and what statistics leave out.
const ENDS: usize = 3;

/// The epochs of a fit in time order. Rows at either end, and those that a finding is about, are one epoch
/// each; once folded, the others are as many epochs as the grain says.
#[derive(Clone, Debug)]
pub(crate) struct Epochs {
    rows: Vec<Epoch>,
    begun: u64,
    /// Epochs of a folded row; 1 before any is folded.
    grain: u64,
    /// Rows from the start that were looked at for what has to stay as it is.
    watched: usize,
    seen: Seen,
    /// What each folded epoch cost outside its steps, ticks.
    costs: Spread,
}

impl Default for Epochs {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            begun: 0,
            grain: 1,
            watched: 0,
            seen: Seen::default(),
            costs: Spread::default(),
        }
    }
}

/// What was met among the epochs watched so far; the first epoch of each kind stays a row of its own.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The goal, by each of the metrics held against it.
    goal: [bool; 2],
    /// A loss that is no finite number.
    lost: bool,
}

impl Seen {
    /// Whether an epoch is the first of its kind.
    fn is_first(&mut self, epoch: &Epoch, goal: Option<Goal>) -> bool {
        let mut first = false;
        let mut note = |seen: &mut bool, met: bool| first |= met && !std::mem::replace(seen, *seen || met);
        note(&mut self.lost, epoch.raw_loss().is_some_and(|loss| !loss.is_finite()));
        for (seen, metric) in self.goal.iter_mut().zip(goal.map(|goal| goal.metrics).into_iter().flatten()) {
            let value = epoch.metrics.get(&metric).filter(|_| epoch.complete);
            note(seen, value.zip(goal).is_some_and(|(value, goal)| goal.is_met_by(*value)));
        }
        first
    }
}

impl Epochs {
    /// Begins an epoch.
    pub(crate) fn begin(&mut self, index: u32, at: Ticks, totals: &Totals, facts: &FitFacts) {
        self.rows.push(Epoch::begin(index, at, totals));
        self.begun += 1;
        if self.grain > 1 {
            self.settle(facts);
        }
    }

    /// Halves the rows, where there are enough to fold.
    pub(crate) fn fold(&mut self, facts: &FitFacts) {
        if self.rows.len() <= 2 * ENDS + 1 {
            return;
        }
        self.grain = self.grain.saturating_mul(2);
        self.watch(facts);
        let newest = self.rows.split_off(self.rows.len() - ENDS);
        let between = self.rows.split_off(ENDS);
        for row in between {
            let last = self.rows.len() - 1;
            if last >= ENDS && self.is_one(&self.rows[last], &row) {
                self.join(last, &row);
            } else {
                self.rows.push(row);
            }
        }
        self.watched = self.rows.len();
        self.rows.extend(newest);
    }

    /// Every row in order.
    pub(crate) fn rows(&self) -> &[Epoch] {
        &self.rows
    }

    /// How many epochs began.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Whether none began.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The first epoch.
    pub(crate) fn first(&self) -> Option<&Epoch> {
        self.rows.first()
    }

    /// The newest epoch.
    pub(crate) fn last(&self) -> Option<&Epoch> {
        self.rows.last()
    }

    /// The newest epoch, to be added to.
    pub(crate) fn last_mut(&mut self) -> Option<&mut Epoch> {
        self.rows.last_mut()
    }

    /// The epoch before the newest, to which nothing will be added.
    pub(crate) fn newest_settled(&self) -> Option<&Epoch> {
        self.rows.get(self.rows.len().checked_sub(2)?)
    }

    /// What each folded epoch cost outside its steps, ticks; those that are not have it themselves.
    pub(crate) fn folded_costs(&self) -> Spread {
        self.costs
    }

    /// Rows with epochs that came to their end.
    pub(crate) fn complete(&self) -> impl DoubleEndedIterator<Item = &Epoch> {
        self.rows.iter().filter(|row| row.complete_count() > 0)
    }

    /// Joins the row that is no longer among the newest to the one before it.
    fn settle(&mut self, facts: &FitFacts) {
        self.watch(facts);
        let Some(at) = self.rows.len().checked_sub(ENDS + 1).filter(|at| *at > ENDS) else { return };
        if self.is_one(&self.rows[at - 1], &self.rows[at]) {
            let row = self.rows.remove(at);
            self.join(at - 1, &row);
            self.watched = at;
        }
    }

    /// Looks at the rows that are no longer among the newest.
    fn watch(&mut self, facts: &FitFacts) {
        let (goal, until) = (Goal::of(facts), self.rows.len().saturating_sub(ENDS));
        for row in self.rows.iter_mut().take(until).skip(self.watched) {
            row.stays = self.seen.is_first(row, goal);
        }
        self.watched = self.watched.max(until);
    }

    /// Adds a row to the one before it.
    fn join(&mut self, at: usize, next: &Epoch) {
        let costs = [self.rows[at].cost(), next.cost()].into_iter().flatten();
        costs.for_each(|cost| self.costs.take(cost.0 as f64));
        self.rows[at].join(next);
    }

    fn is_one(&self, row: &Epoch, next: &Epoch) -> bool {
        !row.stays && !next.stays && row.count() + next.count() <= self.grain
    }
}
