//! Surroundings: what a fit does outside its steps, epoch by epoch.

use laptime_core::{Ticks, Timebase};

use crate::fit::Fit;
use crate::statistics::Spread;

/// What a fit does outside its steps; seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Surroundings {
    /// From its begin to its first epoch.
    pub(crate) before_s: f64,
    /// What each epoch cost outside its steps, of those whose end is known.
    pub(crate) costs: Vec<f64>,
    /// Time in epochs but in no step, all of them added up.
    pub(crate) inside_s: f64,
    /// Pauses between the steps of a fit without epochs.
    pub(crate) pauses: Spread,
}

impl Surroundings {
    /// Of a fit, which may last until `end`.
    pub(crate) fn of(fit: &Fit, end: Ticks, timebase: &Timebase) -> Self {
        let rows = fit.epochs.rows();
        let first = fit.epochs.first().map(|epoch| epoch.began);
        let inside = |row: &crate::epoch::Epoch| timebase.seconds(row.wall(end).since(row.tally.time));
        Self {
            before_s: first.zip(fit.began).map_or(0.0, |(first, began)| timebase.seconds(first.since(began))),
            costs: rows.iter().filter_map(|row| Some(timebase.seconds(row.cost()?))).collect(),
            inside_s: rows.iter().map(inside).sum(),
            pauses: fit.laps.pauses.times(timebase.ns_per_tick * 1e-9),
        }
    }
}
