//! From a device's clock to the host's.
//!
//! The host cannot read a device's clock, but it can bracket it: an event on an idle stream happens after the
//! host asked for it and before the host sees it done. The time between two such events is exact on the device,
//! so each bracket, moved along, narrows the next one. Nothing here reads a clock.

use laptime_core::{Ticks, Timebase};

/// How far the two clocks may drift apart, as a share of the time that passes.
const DRIFT: f64 = 20e-6;
/// Rounding of the driver's times and of ticks, nanoseconds.
const ROUNDING_NS: f64 = 200.0;

/// How long a tick of the host is, and how well that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) timebase: Timebase,
    /// The share by which it may be wrong.
    pub(crate) error: f64,
}

impl Rate {
    fn ticks(self, ns: f64) -> f64 {
        ns / self.timebase.ns_per_tick
    }
}

/// Where the newest base event lies on the host's clock.
#[derive(Debug, Default)]
pub(crate) struct ClockMap {
    bracket: Option<(u64, u64)>,
}

impl ClockMap {
    /// A new base: it lies in `bracket`, and `since_ns` after the base before on the device where that is known.
    ///
    /// What does not fit together means that a clock jumped: then only the new bracket counts.
    pub(crate) fn rebase(&mut self, since_ns: Option<f64>, (from, to): (Ticks, Ticks), rate: Rate) {
        let bracket = (from.0, to.0.max(from.0));
        let moved = self.bracket.zip(since_ns).and_then(|(before, since)| moved(before, since, rate));
        let narrowed = moved.map(|(least, most)| (bracket.0.max(least), bracket.1.min(most)));
        self.bracket = Some(narrowed.filter(|(from, to)| from <= to).unwrap_or(bracket));
    }

    /// The host's time of something that happened `after_base_ns` after the base; `None` when that is absurd.
    pub(crate) fn host(&self, after_base_ns: f64, rate: Rate) -> Option<Ticks> {
        let (from, to) = self.bracket?;
        add(from + (to - from) / 2, rate.ticks(after_base_ns)).map(Ticks)
    }

    /// How much is left open, nanoseconds; `None` before the first base.
    pub(crate) fn width_ns(&self, rate: Rate) -> Option<f64> {
        self.bracket.map(|(from, to)| (to - from) as f64 * rate.timebase.ns_per_tick)
    }

    /// Whether there is a base.
    pub(crate) fn is_known(&self) -> bool {
        self.bracket.is_some()
    }

    /// The next base counts alone.
    pub(crate) fn forget(&mut self) {
        self.bracket = None;
    }
}

/// A bracket as it stands `since_ns` later on the device.
fn moved((from, to): (u64, u64), since_ns: f64, rate: Rate) -> Option<(u64, u64)> {
    let slack = since_ns.abs() * (DRIFT + rate.error) + ROUNDING_NS;
    Some((add(from, rate.ticks(since_ns - slack))?, add(to, rate.ticks(since_ns + slack))?))
}

fn add(ticks: u64, more: f64) -> Option<u64> {
    /// A century in nanoseconds: nothing here is further away.
    const ABSURD: f64 = 3e18;
    (more.abs() < ABSURD).then(|| ticks.saturating_add_signed(more.round() as i64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate { timebase: Timebase { ns_per_tick: 0.4 }, error: 0.0 };

    fn ticks(ns: f64) -> Ticks {
        Ticks((ns / RATE.timebase.ns_per_tick).round() as u64)
    }

    fn error_ns(map: &ClockMap, after_base_ns: f64, truth_ns: f64) -> f64 {
        let host = map.host(after_base_ns, RATE).unwrap();
        (host.0 as f64 * RATE.timebase.ns_per_tick - truth_ns).abs()
    }

    #[test]
    fn a_narrow_bracket_is_kept_while_the_next_ones_are_wide() {
        let mut map = ClockMap::default();
        assert_eq!(map.host(0.0, RATE), None);
        map.rebase(None, (ticks(1e9), ticks(1e9 + 4_000.0)), RATE);
        for poll in 1..=10 {
            let truth = 1e9 + 2_000.0 + f64::from(poll) * 1e8;
            map.rebase(Some(1e8), (ticks(truth - 790_000.0), ticks(truth + 10_000.0)), RATE);
            assert!(error_ns(&map, -5e7, truth - 5e7) < 4_000.0 + f64::from(poll) * 2_500.0);
        }
    }

    #[test]
    fn a_jump_of_either_clock_starts_anew() {
        let mut map = ClockMap::default();
        map.rebase(None, (ticks(1e9), ticks(1e9 + 4_000.0)), RATE);
        // The host slept an hour, by a clock that the device does not have.
        map.rebase(Some(1e8), (ticks(3_601e9), ticks(3_601e9 + 10_000.0)), RATE);
        assert!(error_ns(&map, 0.0, 3_601e9 + 5_000.0) < 1.0);
        // The device began again from zero.
        map.rebase(Some(-7e12), (ticks(3_602e9), ticks(3_602e9 + 10_000.0)), RATE);
        assert!(error_ns(&map, 0.0, 3_602e9 + 5_000.0) < 1.0);
        map.forget();
        assert_eq!(map.width_ns(RATE), None);
    }

    #[test]
    fn absurd_times_are_none() {
        let mut map = ClockMap::default();
        map.rebase(Some(f64::NAN), (Ticks(5), Ticks(3)), RATE);
        map.rebase(Some(f64::INFINITY), (Ticks(5), Ticks(5)), RATE);
        assert_eq!([f64::NAN, f64::INFINITY, -1e30].map(|ns| map.host(ns, RATE)), [None; 3]);
        assert_eq!(map.host(-1e9, RATE), Some(Ticks(0)));
        assert_eq!(map.width_ns(RATE), Some(0.0));
    }

    #[derive(Clone, Debug)]
    struct Poll {
        after_ns: f64,
        before_ns: f64,
        seen_ns: f64,
        /// What a suspend adds to the host's clock before this poll.
        slept_ns: f64,
        reset: bool,
    }

    fn poll() -> impl Strategy<Value = Poll> {
        let jump = prop_oneof![9 => Just(0.0), 1 => 3e6..1e13];
        (1e5..2e9, 0.0..1e6, 0.0..1e6, jump, prop::bool::weighted(0.1)).prop_map(
            |(after_ns, before_ns, seen_ns, slept_ns, reset)| Poll {
                after_ns,
                before_ns,
                seen_ns,
                slept_ns,
                reset,
            },
        )
    }

    proptest! {
        #[test]
        fn the_truth_stays_inside_whatever_the_clocks_do(
            polls in prop::collection::vec(poll(), 1..60),
            drift in -19e-6..19e-6,
        ) {
            let mut map = ClockMap::default();
            let mut truth_ns = 1e12;
            for poll in polls {
                truth_ns += poll.after_ns + poll.slept_ns;
                let elapsed = poll.after_ns * (1.0 + drift);
                let since = if poll.reset { elapsed - 5e12 } else { elapsed };
                let bracket = (ticks(truth_ns - poll.before_ns), ticks(truth_ns + poll.seen_ns));
                map.rebase(Some(since), bracket, RATE);
                let width = map.width_ns(RATE).unwrap();
                prop_assert!(width <= poll.before_ns + poll.seen_ns + 1.0);
                prop_assert!(error_ns(&map, 0.0, truth_ns) <= width / 2.0 + 1.0);
            }
        }
    }
}
