//! The one unit that all times of the table of epochs share.

use laptime_analyse::EpochSummary;

use super::units::{UNKNOWN, fixed};

/// The unit all times of the table are in: parts and sum can only be compared when they share it.
pub(crate) struct EpochUnit {
    /// How the unit is written.
    pub(crate) name: &'static str,
    seconds: f64,
}

impl EpochUnit {
    /// The largest unit that still shows the typical complete epoch in three digits: one short epoch among
    /// long ones must not turn seconds into microseconds.
    pub(crate) fn of(epochs: &[EpochSummary]) -> Self {
        let complete = epochs.iter().filter(|epoch| epoch.complete).map(EpochSummary::mean_wall_s);
        let mut walls: Vec<f64> = complete.filter(|wall| wall.is_finite()).collect();
        walls.sort_by(f64::total_cmp);
        let any = epochs.iter().map(EpochSummary::mean_wall_s).fold(0.0, f64::max);
        Self::showing(walls.get(walls.len() / 2).copied().unwrap_or(any))
    }

    /// The largest unit that still shows this time in three digits, seconds.
    pub(crate) fn showing(seconds: f64) -> Self {
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
        self.decimals_of(epochs.iter().map(|epoch| epoch.mean_wall_s()).fold(0.0, f64::max))
    }

    /// Decimals that give this time three digits, seconds.
    pub(crate) fn decimals_of(&self, longest: f64) -> usize {
        match longest / self.seconds {
            l if l >= 99.95 => 0,
            l if l >= 9.995 => 1,
            // All epochs of a fit may be far shorter than those of the others.
            l if l > 0.0 && l < 0.0995 => 4,
            _ => 2,
        }
    }

    /// A time in this unit, without the unit.
    pub(crate) fn shown(&self, seconds: f64, decimals: usize) -> String {
        let value = seconds / self.seconds;
        if value.is_finite() { fixed(value, decimals) } else { UNKNOWN.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn one_short_epoch_leaves_the_unit_to_the_typical_one() {
        let mut epochs = sample::finished().epochs;
        assert_eq!(EpochUnit::of(&epochs).name, "s");
        epochs[0].wall_s = 3e-5;
        assert_eq!(EpochUnit::of(&epochs).name, "s");
        epochs.truncate(1);
        assert_eq!(EpochUnit::of(&epochs).name, "us");
    }

    #[test]
    fn nothing_is_never_below_zero() {
        assert_eq!(EpochUnit::showing(1.0).shown(-0.0, 2), "0.00");
    }
}
