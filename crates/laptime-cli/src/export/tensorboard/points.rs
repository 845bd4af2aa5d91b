//! Points: what charts show of a run, and how much of it has been written.

use laptime_analyse::{EpochSummary, LapKind, Report};
use laptime_core::units;

/// The epochs of a run, and its fits without epochs every 10 s, fit by fit.
pub(super) fn points(report: &Report) -> Vec<&EpochSummary> {
    let epochs = report.epochs.iter().filter(|lap| lap.kind != LapKind::Window);
    let mut points: Vec<&EpochSummary> = epochs.chain(&report.stretches).collect();
    points.sort_by_key(|point| point.fit);
    points
}

/// Where on the axis a point is: the number of its epoch, the last one of folded ones, or the steps so far.
pub(super) fn step(point: &EpochSummary) -> u64 {
    match point.kind {
        LapKind::Epoch | LapKind::Folded => u64::from(point.index) + point.count - 1,
        LapKind::Window => point.last_step(),
    }
}

/// Points by what they are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Epochs.
    pub(crate) epochs: u64,
    /// Stretches of fits without epochs.
    pub(crate) stretches: u64,
}

impl Counted {
    /// Counts one more.
    pub(super) fn add(&mut self, point: &EpochSummary) {
        match point.kind {
            LapKind::Epoch | LapKind::Folded => self.epochs += point.count,
            LapKind::Window => self.stretches += 1,
        }
    }

    /// Whether there are none.
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// `12 epochs`, `37 points`.
    pub(crate) fn counted(&self) -> String {
        let parts = [(self.epochs, "epoch"), (self.stretches, "point")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        parts.map(|(count, unit)| units::counted(count, unit)).collect::<Vec<_>>().join(" and ")
    }
}
