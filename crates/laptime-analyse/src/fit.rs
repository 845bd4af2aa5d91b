//! Fit: one training within a run, folded.

use std::collections::BTreeMap;

use laptime_core::{Estimate, FitFacts, LayerFacts, Metric, StageId, Ticks};

use crate::epoch::Epoch;
use crate::epochs::Epochs;
use crate::lane::Lane;
use crate::laps::Laps;
use crate::step_series::StepSeries;
use crate::tally::Step;
use crate::totals::Totals;

/// The first so many epochs all have an outlook; later ones come at least this part of the way after another.
const FINEST_OUTLOOK: u64 = 256;

/// Modules kept of a model; one has fewer, and a log that says otherwise must not fill memory.
const MOST_LAYERS: usize = 20_000;

/// The metrics, most significant first.
const BY_WEIGHT: [Metric; 4] =
    [Metric::ValidationAccuracy, Metric::ValidationLoss, Metric::Accuracy, Metric::Loss];

/// One training.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fit {
    /// What is known of it.
    pub(crate) facts: FitFacts,
    /// Whether that was recorded: of a run that is being followed, spans may be read before facts are.
    pub(crate) has_facts: bool,
    /// The lane it runs on.
    pub(crate) lane: u32,
    /// When it began; `None` while only its facts are known.
    pub(crate) began: Option<Ticks>,
    /// When it ended; `None` while it is open.
    pub(crate) ended: Option<Ticks>,
    /// While open, the thread's totals at its begin; then its ledger.
    totals: Totals,
    /// Its epochs in order.
    pub(crate) epochs: Epochs,
    /// Its steps in order; where it has epochs, those within them.
    pub(crate) steps: StepSeries,
    /// Its laps while it has no epochs.
    pub(crate) laps: Laps,
    /// What was measured of its model's modules, by their names.
    pub(crate) layers: BTreeMap<String, LayerFacts>,
    /// The newest value of everything that was measured.
    measured: BTreeMap<Metric, f64>,
    /// Epochs there were when the time left was last predicted.
    predicted_at: u64,
}

impl Fit {
    /// Learns what is known of it.
    pub(crate) fn learn(&mut self, facts: &FitFacts) {
        self.facts = FitFacts::default();
        self.facts.learn(facts.clone());
        self.has_facts = true;
    }

    /// Begins it on a lane; one that already began goes on.
    pub(crate) fn begin(&mut self, at: Ticks, lane: &Lane) {
        if self.began.is_none() {
            self.lane = lane.number;
            self.began = Some(at);
            self.totals = lane.recorded.clone();
            self.laps = Laps::begin(at, &lane.recorded);
        }
    }

    /// Ends it; an epoch that is still open is cut short.
    pub(crate) fn end(&mut self, at: Ticks, totals: &Totals) {
        let Some(began) = self.began.filter(|_| self.ended.is_none()) else { return };
        let at = at.max(began);
        self.cut_epoch(at, totals);
        self.close_gap(at, totals);
        if self.epochs.is_empty() {
            self.laps.end(at, totals);
        }
        self.totals = self.ledger(at, totals, StageId::UNACCOUNTED);
        self.ended = Some(at);
    }

    /// Begins an epoch; one whose end was never recorded is cut short.
    pub(crate) fn begin_epoch(&mut self, index: u32, at: Ticks, totals: &Totals) {
        self.cut_epoch(at, totals);
        self.close_gap(at, totals);
        if self.epochs.is_empty() {
            // Steps before the first epoch belong to no lap.
            (self.steps, self.laps) = (StepSeries::default(), Laps::default());
        }
        self.epochs.begin(index, at, totals, &self.facts);
    }

    /// Ends the open epoch.
    pub(crate) fn end_epoch(&mut self, at: Ticks, totals: &Totals) {
        if let Some(epoch) = self.open_epoch() {
            epoch.end(at, totals, true);
        }
    }

    /// Whether what is left is to be predicted at the end of the newest epoch. A prediction costs a look
    /// back at all steps: of very many epochs a share is enough.
    pub(crate) fn needs_prediction(&self) -> bool {
        let epochs = self.epochs.begun();
        (epochs - self.predicted_at) * FINEST_OUTLOOK >= epochs
    }

    /// Sets the time left as predicted when the newest epoch ended.
    pub(crate) fn set_time_left(&mut self, time_left: Option<Estimate>) {
        self.predicted_at = self.epochs.begun();
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.time_left = time_left;
        }
    }

    /// Takes a step that ended; in a fit that has epochs it counts where it is part of one, so that all
    /// numbers of steps agree.
    pub(crate) fn take_step(&mut self, step: &Step) {
        let Some(epoch) = self.epochs.last_mut() else {
            let start = self.laps.without_pause(step.start);
            let step = Step { start, time: step.time.since(start.since(step.start)), ..*step };
            self.steps.push(&step);
            return self.laps.take_step(&step);
        };
        // The last step may be recorded just after the end of the epoch it belongs to.
        if epoch.ended.is_none_or(|ended| step.start < ended) {
            self.steps.push(step);
            epoch.tally.take(step);
        }
    }

    /// Cuts between two steps; says whether a stretch for charts, which are at least so long, ends here.
    pub(crate) fn cut(&mut self, at: Ticks, totals: &Totals, shortest: Ticks) -> bool {
        self.epochs.is_empty() && self.laps.cut(at, totals, shortest)
    }

    /// Takes what was measured, for the newest epoch or the newest steps.
    pub(crate) fn take_metric(&mut self, metric: Metric, at: Ticks, value: f64) {
        self.measured.insert(metric, value);
        match self.epochs.last_mut() {
            Some(epoch) => {
                epoch.metrics.insert(metric, value);
                epoch.measured = Some(at);
            }
            None => self.laps.take_metric(metric, value),
        }
    }

    /// Takes what was measured of a module so far.
    pub(crate) fn take_layer(&mut self, facts: &LayerFacts) {
        if self.layers.len() < MOST_LAYERS || self.layers.contains_key(&facts.name) {
            self.layers.insert(facts.name.clone(), facts.clone());
        }
    }

    /// Whether its laps are windows of steps: it has no epochs, and steps ended.
    pub(crate) fn is_by_steps(&self) -> bool {
        self.epochs.is_empty() && self.steps.sum.steps > 0
    }

    /// Its ledger; of an open one up to `end`, where the thread's totals are `totals`.
    pub(crate) fn ledger(&self, end: Ticks, totals: &Totals, doubtful: StageId) -> Totals {
        if self.ended.is_some() {
            return self.totals.clone();
        }
        totals.since(&self.totals).close_to(self.wall(end), doubtful)
    }

    /// How long it took, or takes so far.
    pub(crate) fn wall(&self, end: Ticks) -> Ticks {
        self.began.map_or(Ticks(0), |began| self.ended.unwrap_or(end).since(began))
    }

    /// Keeps what a rank beside others is shown by: its sums, a few epochs and a few blocks of steps.
    pub(crate) fn coarsen(&mut self) {
        const BLOCKS: usize = 64;
        const EPOCHS: usize = 16;
        self.steps.coarsen(BLOCKS);
        let mut rows = usize::MAX;
        while self.epochs.rows().len() > EPOCHS && self.epochs.rows().len() < rows {
            rows = self.epochs.rows().len();
            self.fold_epochs();
        }
    }

    /// Halves the rows of its epochs.
    pub(crate) fn fold_epochs(&mut self) {
        self.epochs.fold(&self.facts);
    }

    /// Epochs that came to their end.
    pub(crate) fn complete_epochs(&self) -> u64 {
        self.epochs.rows().iter().map(Epoch::complete_count).sum()
    }

    /// The newest loss of an epoch, where that is a number.
    pub(crate) fn loss(&self) -> Option<f64> {
        self.epochs.rows().iter().rev().find_map(|epoch| epoch.raw_loss()).filter(|loss| loss.is_finite())
    }

    /// The newest value of the most significant metric.
    pub(crate) fn metric(&self) -> Option<(Metric, f64)> {
        BY_WEIGHT.into_iter().find_map(|metric| self.measured.get(&metric).map(|value| (metric, *value)))
    }

    fn open_epoch(&mut self) -> Option<&mut Epoch> {
        self.epochs.last_mut().filter(|epoch| epoch.ended.is_none())
    }

    fn cut_epoch(&mut self, at: Ticks, totals: &Totals) {
        if let Some(epoch) = self.open_epoch() {
            epoch.end(at, totals, false);
        }
    }

    fn close_gap(&mut self, at: Ticks, totals: &Totals) {
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.close_gap(at, totals);
        }
    }
}
