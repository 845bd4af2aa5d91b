//! Totals: exclusive time and span count of every stage, in ticks, and the rule that makes them close.

use std::collections::BTreeMap;

use laptime_core::{OpenStage, StageId, StageTotal, Ticks};

use crate::device_rows::DeviceRows;

/// Cumulative totals of the stages of one thread with the rows of the device it trains on, or the difference of
/// two such snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    stages: BTreeMap<StageId, (u64, u64)>,
    /// What its device did; `None` where none has times.
    pub(crate) device: Option<DeviceRows>,
}

impl Totals {
    /// The totals of a state, without its open stages.
    pub(crate) fn of(totals: &[StageTotal]) -> Self {
        let mut sums = Self::default();
        totals.iter().for_each(|total| sums.set(*total));
        sums
    }

    /// Replaces the total of one stage.
    pub(crate) fn set(&mut self, total: StageTotal) {
        self.stages.insert(total.stage, (total.own.0, total.count));
    }

    /// Adds time to a stage.
    pub(crate) fn add(&mut self, stage: StageId, own: Ticks) {
        let entry = self.stages.entry(stage).or_default();
        entry.0 = entry.0.saturating_add(own.0);
    }

    /// Adds the time so far of stages that are still open at `at`.
    ///
    /// What runs inside an absorbing stage belongs to it and was never added to any total.
    pub(crate) fn add_open(&mut self, open: &[OpenStage], at: Ticks) {
        for (depth, frame) in open.iter().enumerate() {
            if frame.stage.absorbs_children() {
                self.add(frame.stage, at.since(frame.start).since(frame.children));
                return;
            }
            let until = open.get(depth + 1).map_or(at, |inner| inner.start);
            self.add(frame.stage, until.since(frame.start).since(frame.children));
        }
    }

    /// Exclusive time of a stage.
    pub(crate) fn own(&self, stage: StageId) -> Ticks {
        Ticks(self.stages.get(&stage).map_or(0, |entry| entry.0))
    }

    /// Every stage with its exclusive time and count.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (StageId, Ticks, u64)> + '_ {
        self.stages.iter().map(|(stage, (own, count))| (*stage, Ticks(*own), *count))
    }

    /// What was added since an earlier snapshot of the same thread.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let added = |stage: &StageId, entry: &(u64, u64)| {
            let before = earlier.stages.get(stage).copied().unwrap_or_default();
            (entry.0.saturating_sub(before.0), entry.1.saturating_sub(before.1))
        };
        let stages = self.stages.iter().map(|(stage, entry)| (*stage, added(stage, entry))).collect();
        let before = earlier.device.as_ref();
        let device =
            self.device.as_ref().map(|rows| before.map_or_else(|| rows.clone(), |before| rows.since(before)));
        Self { stages, device }
    }

    /// Adds the time and counts of another difference.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (stage, (own, count)) in &other.stages {
            let entry = self.stages.entry(*stage).or_default();
            *entry = (entry.0.saturating_add(*own), entry.1.saturating_add(*count));
        }
        if let Some(rows) = &other.device {
            self.device.get_or_insert_default().add_all(rows);
        }
    }

    /// Books a stage's time on another one.
    pub(crate) fn rebook(&mut self, from: StageId, to: StageId) {
        if from != to
            && let Some((own, _)) = self.stages.remove(&from)
        {
            self.add(to, Ticks(own));
        }
    }

    /// Makes the sum equal to `wall`, of the stages and of the device's rows: what is missing goes to `unaccounted`, an excess comes off `doubtful`.
    ///
    /// A process killed while it closes a span leaves that span in the totals and still open, so the
    /// stage on top is where an excess comes from. Should that not be enough the records contradict each
    /// other; then the largest rows give way, because a ledger that does not close is worse.
    pub(crate) fn close_to(mut self, wall: Ticks, doubtful: StageId) -> Self {
        self.device = self.device.take().map(|rows| rows.close_to(wall));
        let sum: u128 = self.stages.values().map(|entry| u128::from(entry.0)).sum();
        let wall = u128::from(wall.0);
        if sum <= wall {
            self.add(StageId::UNACCOUNTED, Ticks(u64::try_from(wall - sum).unwrap_or(u64::MAX)));
            return self;
        }
        let mut excess = self.take(doubtful, sum - wall);
        while excess > 0 {
            let largest = self.stages.iter().max_by_key(|(_, entry)| entry.0).map(|(stage, _)| *stage);
            let Some(stage) = largest else { break };
            excess = self.take(stage, excess);
        }
        self
    }

    /// Takes up to `excess` off a stage and returns what is left to take.
    fn take(&mut self, stage: StageId, excess: u128) -> u128 {
        let Some(entry) = self.stages.get_mut(&stage) else { return excess };
        let taken = u128::from(entry.0).min(excess);
        entry.0 -= u64::try_from(taken).unwrap_or(entry.0);
        excess - taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(stage: StageId, own: u64) -> StageTotal {
        StageTotal { stage, own: Ticks(own), count: 1 }
    }

    fn frame(stage: StageId, start: u64, children: u64) -> OpenStage {
        OpenStage { stage, start: Ticks(start), children: Ticks(children) }
    }

    #[test]
    fn an_open_stage_owns_the_time_up_to_the_stage_inside_it() {
        let mut totals = Totals::default();
        let open = [frame(StageId::UNACCOUNTED, 100, 30), frame(StageId::FORWARD, 150, 5)];
        totals.add_open(&open, Ticks(200));
        assert_eq!(totals.own(StageId::UNACCOUNTED), Ticks(20));
        assert_eq!(totals.own(StageId::FORWARD), Ticks(45));
    }

    #[test]
    fn everything_inside_an_evaluation_is_evaluate() {
        let mut totals = Totals::default();
        let open = [
            frame(StageId::BETWEEN_EPOCHS, 100, 0),
            frame(StageId::EVALUATE, 110, 0),
            frame(StageId::FORWARD, 150, 0),
        ];
        totals.add_open(&open, Ticks(200));
        assert_eq!(totals.own(StageId::EVALUATE), Ticks(90));
        assert_eq!(totals.own(StageId::FORWARD), Ticks(0));
    }

    #[test]
    fn a_deficit_is_unaccounted_and_an_excess_comes_off_the_stage_in_doubt() {
        let short = Totals::of(&[total(StageId::FORWARD, 40)]).close_to(Ticks(100), StageId::FORWARD);
        assert_eq!(short.own(StageId::UNACCOUNTED), Ticks(60));
        let long = Totals::of(&[total(StageId::FORWARD, 90), total(StageId::LOSS, 30)]);
        let long = long.close_to(Ticks(100), StageId::LOSS);
        assert_eq!((long.own(StageId::FORWARD), long.own(StageId::LOSS)), (Ticks(90), Ticks(10)));
    }

    #[test]
    fn totals_that_contradict_the_wall_time_still_close() {
        let all = [total(StageId::FORWARD, u64::MAX), total(StageId::LOSS, u64::MAX)];
        let closed = Totals::of(&all).close_to(Ticks(7), StageId::START_UP);
        assert_eq!(closed.iter().map(|(_, own, _)| own.0).sum::<u64>(), 7);
    }
}
