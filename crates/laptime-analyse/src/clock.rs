//! Clock: how long a tick is, and what the wall clock showed at a moment.

use laptime_core::{Anchor, Ticks, Timebase};

use crate::report::Warning;
use crate::suspends::suspends_and_steps;

/// Anchors closer than this say too little about the length of a tick.
const LEAST_APART_NS: u64 = 10_000_000;
/// No clock a recorder uses ticks faster or slower than this; anything else is damage.
const PLAUSIBLE_NS_PER_TICK: std::ops::RangeInclusive<f64> = 1e-3..=1e6;
/// Warnings listed one by one; a wall clock that jumps all day must not fill memory.
const MOST_WARNINGS: usize = 32;

/// What the anchors of a log say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    first: Option<Anchor>,
    last: Option<Anchor>,
    /// The first anchor, and those after which the wall clock stood elsewhere.
    settings: Vec<Anchor>,
    warnings: Vec<Warning>,
}

impl Clock {
    /// Takes the next anchor.
    pub(crate) fn take(&mut self, anchor: &Anchor) {
        match self.last {
            Some(before) => {
                suspends_and_steps(&before, anchor).for_each(|warning| self.set_anew(anchor, warning));
            }
            None => self.settings.push(*anchor),
        }
        self.first.get_or_insert(*anchor);
        self.last = Some(*anchor);
    }

    /// The first anchor.
    pub(crate) fn first(&self) -> Option<Anchor> {
        self.first
    }

    /// The length of a tick from the outermost anchors, else as measured at the start.
    pub(crate) fn timebase(&self, ns_per_tick_at_start: f64) -> Timebase {
        let plausible = |base: &Timebase| PLAUSIBLE_NS_PER_TICK.contains(&base.ns_per_tick);
        let between = self.first.zip(self.last).and_then(|(first, last)| {
            let apart = last.monotonic_ns.saturating_sub(first.monotonic_ns) >= LEAST_APART_NS;
            Timebase::between(&first, &last).filter(|_| apart)
        });
        let at_start = Timebase { ns_per_tick: ns_per_tick_at_start };
        between.into_iter().chain([at_start]).find(plausible).unwrap_or(Timebase::NANOSECONDS)
    }

    /// What the wall clock showed at a moment, seconds since 1970; `None` before the first anchor is known.
    ///
    /// The wall clock keeps its distance to the ticks except where it was stepped or the machine slept.
    pub(crate) fn unix_seconds(&self, at: Ticks, timebase: &Timebase) -> Option<f64> {
        let before = self.settings.iter().rev().find(|anchor| anchor.ticks <= at);
        let anchor = before.or(self.settings.first())?;
        let (later, earlier) = (at.since(anchor.ticks), anchor.ticks.since(at));
        Some(anchor.real_ns as f64 * 1e-9 + timebase.seconds(later) - timebase.seconds(earlier))
    }

    /// Steps of the wall clock and suspends, in time order.
    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn set_anew(&mut self, anchor: &Anchor, warning: Warning) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning);
            self.settings.push(*anchor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn anchor(monotonic: u64, real: u64, boot: u64) -> Anchor {
        Anchor {
            ticks: Ticks(monotonic * 3 * S),
            monotonic_ns: monotonic * S,
            real_ns: real * S,
            boot_ns: boot * S,
        }
    }

    fn clock(anchors: &[Anchor]) -> Clock {
        let mut clock = Clock::default();
        anchors.iter().for_each(|anchor| clock.take(anchor));
        clock
    }

    #[test]
    fn the_wall_clock_is_followed_through_its_steps() {
        let clock = clock(&[anchor(10, 1_010, 10), anchor(20, 1_017, 20), anchor(30, 1_027, 30)]);
        let shown =
            |monotonic: u64| clock.unix_seconds(anchor(monotonic, 0, 0).ticks, &clock.timebase(1.0)).unwrap();
        // Before the first anchor, before the step and after it.
        for (monotonic, real) in [(8, 1_008.0), (19, 1_019.0), (25, 1_022.0), (40, 1_037.0)] {
            assert!((shown(monotonic) - real).abs() < 1e-6, "{monotonic}: {}", shown(monotonic));
        }
        assert_eq!(Clock::default().unix_seconds(Ticks(1), &Timebase::NANOSECONDS), None);
    }

    #[test]
    fn the_tick_comes_from_the_anchors_else_from_the_start_else_is_a_nanosecond() {
        let far = clock(&[anchor(10, 10, 10), anchor(20, 20, 20)]);
        assert!((far.timebase(9.0).ns_per_tick - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(clock(&[anchor(10, 10, 10)]).timebase(0.4).ns_per_tick, 0.4);
        assert_eq!(clock(&[]).timebase(f64::NAN).ns_per_tick, 1.0);
        assert_eq!(clock(&[]).timebase(0.5).ns_per_tick, 0.5);
    }
}
