//! Device rows: where the time of a device went, in ticks, before its counters say how busy it was.

use std::collections::BTreeMap;

use laptime_core::{StageId, Ticks};

/// What a device did for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeviceRow {
    /// It worked on what a stage had launched.
    Busy(StageId),
    /// What a stage launched was done as soon as it was there: the device worked or waited for the next launch.
    Drained(StageId),
    /// It copied from the host and did nothing else.
    Copy,
    /// It exchanged with other ranks.
    Communication,
    /// It had nothing to do: the host waited for data.
    IdleData,
    /// It had nothing to do: the host had launched nothing.
    IdleHost,
    /// It had nothing to do: the host had waited for it to have done all.
    IdleSync,
    /// Steps that were not looked at.
    Unseen,
}

impl DeviceRow {
    /// Whether it had nothing to do for sure.
    pub(crate) fn is_idle(self) -> bool {
        matches!(self, Self::IdleData | Self::IdleHost | Self::IdleSync)
    }
}

/// Cumulative time of the rows of one device, or the difference of two such snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DeviceRows(BTreeMap<DeviceRow, u64>);

impl DeviceRows {
    /// Adds time to a row.
    pub(crate) fn add(&mut self, row: DeviceRow, length: Ticks) {
        if length > Ticks(0) {
            let entry = self.0.entry(row).or_default();
            *entry = entry.saturating_add(length.0);
        }
    }

    /// Every row with its time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (DeviceRow, Ticks)> + '_ {
        self.0.iter().map(|(row, ticks)| (*row, Ticks(*ticks)))
    }

    /// The time of one row.
    pub(crate) fn of(&self, row: DeviceRow) -> Ticks {
        Ticks(self.0.get(&row).copied().unwrap_or(0))
    }

    /// What was added since an earlier snapshot.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let added = |(row, ticks): (&DeviceRow, &u64)| (*row, ticks.saturating_sub(earlier.of(*row).0));
        Self(self.0.iter().map(added).filter(|(_, ticks)| *ticks > 0).collect())
    }

    /// Adds the time of another difference.
    pub(crate) fn add_all(&mut self, other: &Self) {
        other.iter().for_each(|(row, length)| self.add(row, length));
    }

    /// Makes the sum equal to `wall`: before its first boundary and after its last the device has nothing to do,
    /// and an excess comes off the largest rows, because a ledger that does not close is worse.
    pub(crate) fn close_to(mut self, wall: Ticks) -> Self {
        let sum: u128 = self.0.values().map(|ticks| u128::from(*ticks)).sum();
        let wall = u128::from(wall.0);
        if let Some(missing) = wall.checked_sub(sum) {
            self.add(DeviceRow::IdleHost, Ticks(u64::try_from(missing).unwrap_or(u64::MAX)));
            return self;
        }
        let mut excess = sum - wall;
        while excess > 0 {
            let Some(largest) = self.0.values_mut().max() else { break };
            let taken = u128::from(*largest).min(excess);
            *largest -= u64::try_from(taken).unwrap_or(*largest);
            excess -= taken;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_idle_and_an_excess_comes_off_the_largest() {
        let mut rows = DeviceRows::default();
        rows.add(DeviceRow::Busy(StageId::FORWARD), Ticks(60));
        rows.add(DeviceRow::Copy, Ticks(10));
        assert_eq!(rows.clone().close_to(Ticks(100)).of(DeviceRow::IdleHost), Ticks(30));
        let closed = rows.close_to(Ticks(40));
        assert_eq!(closed.of(DeviceRow::Busy(StageId::FORWARD)), Ticks(30));
        assert_eq!(closed.of(DeviceRow::Copy), Ticks(10));
    }

    #[test]
    fn rows_that_contradict_the_wall_time_still_close() {
        let mut rows = DeviceRows::default();
        rows.add(DeviceRow::Copy, Ticks(u64::MAX));
        rows.add(DeviceRow::Unseen, Ticks(u64::MAX));
        assert_eq!(rows.close_to(Ticks(7)).iter().map(|(_, ticks)| ticks.0).sum::<u64>(), 7);
    }
}
