//! Steps: every step of a run, one at a time.

use std::collections::BTreeMap;

use laptime_core::{Event, Record};

use super::axis::Timeline;

/// One step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepRow {
    /// The rank that took it.
    pub rank: u32,
    /// The process that took it.
    pub pid: u32,
    /// The fit, from 0; absent outside of fits.
    pub fit: Option<u32>,
    /// The epoch within the fit, from 0; absent outside of epochs.
    pub epoch: Option<u32>,
    /// Its number within the fit, from 0.
    pub step: u64,
    /// From the run's begin to its begin, seconds.
    pub started_s: f64,
    /// How long it took, seconds.
    pub wall_s: f64,
    /// Samples trained on; absent where unknown.
    pub samples: Option<u32>,
    /// The loss, where it was reported with the step.
    pub loss: Option<f64>,
}

/// Gives every step as the records of a run are read again, in memory that does not grow with them.
pub struct StepRows<'a> {
    timeline: &'a Timeline<'a>,
    at: BTreeMap<(usize, u32), Place>,
}

/// Where a thread is in its training.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) fit: Option<u32>,
    pub(super) epoch: Option<u32>,
    pub(super) step: u64,
}

impl Place {
    /// Follows a mark; steps count themselves.
    pub(super) fn follow(&mut self, event: &Event) {
        match *event {
            Event::FitBegin { fit, .. } => *self = Self { fit: Some(fit), epoch: None, step: 0 },
            Event::FitEnd { .. } => *self = Self::default(),
            Event::EpochBegin { epoch, .. } => self.epoch = Some(epoch),
            Event::EpochEnd { .. } => self.epoch = None,
            Event::Step { .. } => self.step += 1,
            _ => {}
        }
    }
}

impl<'a> StepRows<'a> {
    pub(super) fn new(timeline: &'a Timeline<'a>) -> Self {
        Self { timeline, at: BTreeMap::new() }
    }

    /// Takes the next record of a log, and gives the step it is.
    pub fn take(&mut self, log: usize, record: &Record) -> Option<StepRow> {
        let Record::Event { lane, event } = record else { return None };
        let place = self.at.entry((log, *lane)).or_default();
        let at = *place;
        place.follow(event);
        let Event::Step { start, end, samples, loss } = *event else { return None };
        let facts = self.timeline.processes.get(log).map(|process| &process.facts);
        let from = self.timeline.at_ns(log, start);
        Some(StepRow {
            rank: facts.map_or(0, |facts| facts.rank),
            pid: facts.map_or(0, |facts| facts.pid),
            fit: at.fit,
            epoch: at.epoch,
            step: at.step,
            started_s: from as f64 / 1e9,
            wall_s: self.timeline.at_ns(log, end).saturating_sub(from) as f64 / 1e9,
            samples: Some(samples).filter(|samples| *samples > 0),
            loss,
        })
    }
}
