//! Time as it is recorded: raw clock ticks, and the anchors that turn them into seconds.

use serde::{Deserialize, Serialize};

/// A reading of the recorder's clock, or a length of time on it, in ticks of that clock.
///
/// Ticks are whole numbers, so sums are exact and a ledger closes to the last tick. They become
/// seconds only when something is shown, through a [`Timebase`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticks(pub u64);

impl Ticks {
    /// The time from `earlier` to `self`; zero when the clock went backwards.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The sum of two lengths of time, held at the largest value instead of wrapping.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// One moment read on all clocks at once.
///
/// Anchors tie ticks to time, and show when the wall clock was stepped (`real` moves against
/// `monotonic`) or the machine slept (`boot` moves against `monotonic`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The recorder's own clock.
    pub ticks: Ticks,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, nanoseconds since 1970.
    pub real_ns: u64,
    /// `CLOCK_BOOTTIME`, nanoseconds; counts suspended time too.
    pub boot_ns: u64,
}

/// How long a tick is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timebase {
    /// Nanoseconds of one tick.
    pub ns_per_tick: f64,
}

impl Timebase {
    /// A clock that already counts nanoseconds.
    pub const NANOSECONDS: Self = Self { ns_per_tick: 1.0 };

    /// The rate between two anchors, or `None` when they are too close or out of order to tell.
    #[must_use]
    pub fn between(first: &Anchor, last: &Anchor) -> Option<Self> {
        let ticks = last.ticks.0.checked_sub(first.ticks.0)?;
        let ns = last.monotonic_ns.checked_sub(first.monotonic_ns)?;
        (ticks > 0 && ns > 0).then(|| Self { ns_per_tick: ns as f64 / ticks as f64 })
    }

    /// A length of time in seconds.
    #[must_use]
    pub fn seconds(&self, length: Ticks) -> f64 {
        length.0 as f64 * self.ns_per_tick * 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_back_gives_zero_not_a_huge_length() {
        assert_eq!(Ticks(5).since(Ticks(9)), Ticks(0));
    }

    #[test]
    fn the_rate_comes_from_the_two_anchors_and_is_absent_when_they_cannot_tell() {
        let first = Anchor { ticks: Ticks(1_000), monotonic_ns: 500, ..Anchor::default() };
        let last = Anchor { ticks: Ticks(3_000), monotonic_ns: 1_500, ..Anchor::default() };
        let rate = Timebase::between(&first, &last).unwrap();
        assert_eq!(rate.ns_per_tick, 0.5);
        assert_eq!(rate.seconds(Ticks(2_000_000_000)), 1.0);
        assert_eq!(Timebase::between(&last, &first), None);
        assert_eq!(Timebase::between(&first, &first), None);
    }
}
