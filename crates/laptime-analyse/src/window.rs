//! Window: steps of a training without epochs, added up from one cut to another.

use std::collections::BTreeMap;

use laptime_core::{Estimate, Metric, StageId, Ticks};

use crate::tally::Tally;
use crate::totals::Totals;

/// Time between two steps that is not training: an evaluation, a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pause {
    /// How long it was.
    pub(crate) length: Ticks,
    /// Evaluation within it.
    pub(crate) evaluate: Ticks,
    /// Saving the model within it.
    pub(crate) checkpoint: Ticks,
    /// Whether the model was evaluated.
    pub(crate) evaluated: bool,
    /// Whether the model was saved.
    pub(crate) saved: bool,
    /// Its number within the fit, from 1; 0 where there was none.
    pub(crate) number: u64,
}

impl Pause {
    /// What a stretch of time without steps was spent on.
    fn of(length: Ticks, stages: &Totals) -> Self {
        let (evaluate, save) = (stages.own(StageId::EVALUATE), stages.own(StageId::CHECKPOINT));
        let (evaluated, saved) = (evaluate > Ticks(0), save > Ticks(0));
        Self { length, evaluate, checkpoint: save, evaluated, saved, number: 0 }
    }

    /// Whether training stopped for a reason.
    pub(crate) fn has_reason(&self) -> bool {
        self.evaluated || self.saved
    }
}

/// Neighbouring steps, the pauses between them left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Steps of the fit before it.
    pub(crate) first_step: u64,
    /// When it began.
    pub(crate) began: Ticks,
    /// When it ended, or the last instant known.
    pub(crate) ended: Ticks,
    /// Its time without pauses; `stages` add up to it.
    pub(crate) wall: Ticks,
    /// Exclusive time of its stages.
    pub(crate) stages: Totals,
    /// What its steps add up to.
    pub(crate) tally: Tally,
    /// The pauses within it, and the one that followed, whose reasons and number these are.
    pub(crate) pause: Pause,
    /// What was measured within it or after it.
    pub(crate) metrics: BTreeMap<Metric, f64>,
    /// Whether it came to its end.
    pub(crate) complete: bool,
    /// Time to the end of the planned steps, as it was predicted at its end.
    pub(crate) time_left: Option<Estimate>,
}

impl Window {
    /// A window that begins after so many steps.
    pub(crate) fn begin(first_step: u64, at: Ticks) -> Self {
        Self { first_step, began: at, ended: at, ..Self::default() }
    }

    /// The same window ended at a moment, with the thread's totals at its begin and its end.
    pub(crate) fn end(&self, at: Ticks, (before, after): (&Totals, &Totals), doubtful: StageId) -> Self {
        let ended = at.max(self.began);
        let wall = ended.since(self.began);
        let mut stages = after.since(before).close_to(wall, doubtful);
        // Logs from before there were cuts call it so; within a window there is nothing between epochs.
        stages.rebook(StageId::BETWEEN_EPOCHS, StageId::UNACCOUNTED);
        Self { ended, wall, stages, ..self.clone() }
    }

    /// As a pause, where nothing was trained in it.
    pub(crate) fn as_pause(&self) -> Option<Pause> {
        (self.tally.steps == 0).then(|| Pause::of(self.wall, &self.stages))
    }

    /// Adds the pause that follows.
    pub(crate) fn pause(&mut self, pause: &Pause) {
        self.pause.length = self.pause.length.plus(pause.length);
        self.pause.evaluate = self.pause.evaluate.plus(pause.evaluate);
        self.pause.checkpoint = self.pause.checkpoint.plus(pause.checkpoint);
        self.pause.evaluated |= pause.evaluated;
        self.pause.saved |= pause.saved;
        self.pause.number = self.pause.number.max(pause.number);
    }

    /// Adds the window that follows.
    pub(crate) fn join(&mut self, next: &Self) {
        self.ended = next.ended;
        self.wall = self.wall.plus(next.wall);
        self.stages.add_all(&next.stages);
        self.tally.add(&next.tally);
        let before = std::mem::replace(&mut self.pause, next.pause);
        self.pause.length = before.length.plus(next.pause.length);
        self.pause.evaluate = before.evaluate.plus(next.pause.evaluate);
        self.pause.checkpoint = before.checkpoint.plus(next.pause.checkpoint);
        self.metrics.extend(&next.metrics);
        self.complete = next.complete;
    }

    /// Steps of the fit up to its end.
    pub(crate) fn last_step(&self) -> u64 {
        self.first_step.saturating_add(self.tally.steps)
    }

    /// Mean training loss as it was measured, else over its steps; `None` when it is not a number.
    pub(crate) fn loss(&self) -> Option<f64> {
        let measured = self.metrics.get(&Metric::Loss).copied();
        measured.or_else(|| self.tally.mean_loss()).filter(|loss| loss.is_finite())
    }
}
