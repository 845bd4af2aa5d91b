//! The one unit that all times of the table of epochs share.

use laptime_analyse::EpochSummary;

use super::units::UNKNOWN;

/// The unit all times of the table are in: parts and sum can only be compared when they share it.
pub(crate) struct EpochUnit {
    /// How the unit is written.
    pub(crate) name: &'static str,
    seconds: f64,
}

impl EpochUnit {
    /// The largest unit that still tells the shortest complete epoch in three digits.
    pub(crate) fn of(epochs: &[EpochSummary]) -> Self {
        let complete = epochs.iter().filter(|epoch| epoch.complete).map(|epoch| epoch.wall_s);
        let shortest = complete.fold(f64::INFINITY, f64::min);
        let any = epochs.iter().map(|epoch| epoch.wall_s).fold(0.0, f64::max);
        Self::telling(if shortest.is_finite() { shortest } else { any })
    }

    /// The largest unit that still tells this time in three digits, seconds.
    pub(crate) fn telling(seconds: f64) -> Self {
        let (name, seconds) = match seconds {
            w if w >= 360_000.0 => ("h", 3600.0),
            w if w >= 6_000.0 => ("min", 60.0),
            w if w >= 1.0 => ("s", 1.0),
            w if w >= 1e-3 => ("ms", 1e-3),
            _ => ("us", 1e-6),
        };
        Self { name, seconds }
    }

    /// Decimals that give the longest of these epochs three digits.
    pub(crate) fn decimals(&self, epochs: &[&EpochSummary]) -> usize {
        self.decimals_of(epochs.iter().map(|epoch| epoch.wall_s).fold(0.0, f64::max))
    }

    /// Decimals that give this time three digits, seconds.
    pub(crate) fn decimals_of(&self, longest: f64) -> usize {
        let longest = longest / self.seconds;
        if longest >= 99.95 { 0 } else { 1 + usize::from(longest < 9.995) }
    }

    /// A time in this unit, without the unit.
    pub(crate) fn shown(&self, seconds: f64, decimals: usize) -> String {
        let value = seconds / self.seconds;
        if value.is_finite() { format!("{value:.decimals$}") } else { UNKNOWN.to_owned() }
    }
}
