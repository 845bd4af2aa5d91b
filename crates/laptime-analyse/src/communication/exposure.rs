//! Exposure: how long a rank exchanged, and how much of that its training stood still for.

use super::interval::{Interval, total, within};
use laptime_core::Ticks;

/// Exact sums over the steps of a rank, ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exposure {
    /// Time with at least one collective under way.
    pub(crate) busy: u64,
    /// Of that, time the training stood still.
    pub(crate) exposed: u64,
    /// Of that, time inside backward passes, which their ledgers hold as their own.
    pub(crate) in_backward: u64,
    covered: Ticks,
}

impl Exposure {
    /// Adds collectives, in the order in which they began.
    pub(super) fn take(&mut self, collective: Interval, blocked: &[Interval], waits: &[Interval]) {
        let new = Interval::new(collective.start.max(self.covered), collective.end);
        self.covered = self.covered.max(collective.end);
        let exposed = total(within(blocked, new));
        self.busy += new.length();
        self.exposed += exposed;
        self.in_backward += exposed - total(within(waits, new)).min(exposed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_at_the_same_time_count_once_and_only_where_the_host_stands_still() {
        let of = |start, end| Interval::new(Ticks(start), Ticks(end));
        let (blocked, waits) = ([of(25, 40), of(60, 80)], [of(60, 80)]);
        let mut exposure = Exposure::default();
        for collective in [of(10, 30), of(20, 38), of(60, 75)] {
            exposure.take(collective, &blocked, &waits);
        }
        assert_eq!((exposure.busy, exposure.exposed, exposure.in_backward), (43, 28, 13));
    }
}
