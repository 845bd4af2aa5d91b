//! Clock: how long a tick is, and what the wall clock did meanwhile.

use laptime_core::{Anchor, Timebase};

use crate::report::Warning;

/// Anchors closer than this say too little about the length of a tick.
const LEAST_APART_NS: u64 = 10_000_000;
/// The wall clock is slewed by less than 5 ms between anchors; more than this is a step.
const STEP_NS: i128 = 500_000_000;
/// No clock a recorder uses ticks faster or slower than this; anything else is damage.
const PLAUSIBLE_NS_PER_TICK: std::ops::RangeInclusive<f64> = 1e-3..=1e6;
/// Warnings listed one by one; a wall clock that jumps all day must not fill memory.
const MOST_WARNINGS: usize = 32;

/// What the anchors of a log say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    first: Option<Anchor>,
    last: Option<Anchor>,
    warnings: Vec<Warning>,
}

impl Clock {
    /// Takes the next anchor.
    pub(crate) fn take(&mut self, anchor: &Anchor) {
        if let Some(before) = self.last {
            self.compare(&before, anchor);
        }
        self.first.get_or_insert(*anchor);
        self.last = Some(*anchor);
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

    /// Steps of the wall clock and suspends, in time order.
    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn compare(&mut self, before: &Anchor, after: &Anchor) {
        let grown = |after: u64, before: u64| i128::from(after) - i128::from(before);
        let monotonic = grown(after.monotonic_ns, before.monotonic_ns);
        // A kernel without CLOCK_BOOTTIME leaves zeros, which say nothing.
        let told = before.boot_ns > 0 && after.boot_ns > 0;
        let slept = if told { grown(after.boot_ns, before.boot_ns) - monotonic } else { 0 };
        // The wall clock goes on while the machine sleeps: that part is no step.
        let stepped = grown(after.real_ns, before.real_ns) - monotonic - slept.max(0);
        if slept > STEP_NS {
            self.warn(Warning::Suspended { seconds: slept as f64 / 1e9 });
        }
        if stepped.abs() > STEP_NS {
            self.warn(Warning::ClockStepped { seconds: stepped as f64 / 1e9 });
        }
    }

    fn warn(&mut self, warning: Warning) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use laptime_core::Ticks;

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
    fn a_step_of_the_wall_clock_is_told_with_its_size_and_sign() {
        let clock = clock(&[anchor(10, 1_010, 10), anchor(20, 1_017, 20)]);
        assert_eq!(clock.warnings(), [Warning::ClockStepped { seconds: -3.0 }]);
    }

    #[test]
    fn a_suspend_is_no_step_of_the_wall_clock() {
        let clock = clock(&[anchor(10, 1_010, 10), anchor(20, 1_080, 80)]);
        assert_eq!(clock.warnings(), [Warning::Suspended { seconds: 60.0 }]);
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
