//! Ledger: totals as rows that close, in the order they are shown.

use std::collections::BTreeMap;

use laptime_core::{StageId, Ticks, Timebase};

use crate::lane::{Lane, SpanTimes};
use crate::report::LedgerRow;
use crate::totals::Totals;

/// Stages a lane is in when no other is open.
pub(crate) const BACKGROUND: [StageId; 4] =
    [StageId::UNACCOUNTED, StageId::START_UP, StageId::BETWEEN_EPOCHS, StageId::TEAR_DOWN];

/// Names of all stages of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageNames(BTreeMap<StageId, String>);

impl StageNames {
    /// Learns the name of a user's stage.
    pub(crate) fn learn(&mut self, stage: StageId, name: &str) {
        self.0.insert(stage, name.to_owned());
    }

    /// The name of a stage; one that was never named is shown by its number.
    pub(crate) fn name(&self, stage: StageId) -> String {
        let built_in = stage.built_in_name().map(str::to_owned);
        built_in.or_else(|| self.0.get(&stage).cloned()).unwrap_or_else(|| format!("stage {}", stage.0))
    }

    /// Whether the user has a stage of this name.
    pub(crate) fn known(&self, name: &str) -> bool {
        self.0.values().any(|known| known == name)
    }

    /// Seconds of every stage that has any, by name.
    pub(crate) fn seconds(&self, totals: &Totals, timebase: &Timebase) -> BTreeMap<String, f64> {
        let mut seconds = BTreeMap::new();
        for (stage, own, _) in totals.iter().filter(|(_, own, _)| *own > Ticks(0)) {
            *seconds.entry(self.name(stage)).or_default() += timebase.seconds(own);
        }
        seconds
    }
}

/// From when to when a ledger is, and how it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// The recorder's start.
    pub(crate) started: Ticks,
    /// The end, or the last instant known.
    pub(crate) end: Ticks,
    /// Whether the process ended in good order.
    pub(crate) finished: bool,
}

impl Extent {
    /// The whole length.
    pub(crate) fn wall(&self) -> Ticks {
        self.end.since(self.started)
    }
}

/// The ledger of a whole run: the totals of the thread that takes the steps, closed to the run's wall time.
pub(crate) fn run_totals(lane: &Lane, extent: &Extent, any_fit: bool) -> Totals {
    let mut totals = lane.totals_at(extent.end, extent.finished);
    // Lane 0 is the thread that started the recorder: its first stage began with the process.
    if lane.number != 0 {
        let began = lane.started.unwrap_or(extent.started).min(extent.end);
        totals.add(StageId::START_UP, began.since(extent.started));
    }
    let mut totals = totals.close_to(extent.wall(), lane.stage_on_top());
    if !any_fit {
        BACKGROUND.into_iter().for_each(|stage| totals.rebook(stage, StageId::UNACCOUNTED));
    }
    totals
}

/// Totals as rows in the order they are shown, without empty ones except `unaccounted`.
pub(crate) fn rows(
    totals: &Totals,
    spans: &BTreeMap<StageId, SpanTimes>,
    names: &StageNames,
    timebase: &Timebase,
) -> Vec<LedgerRow> {
    let wall: f64 = totals.iter().map(|(_, own, _)| timebase.seconds(own)).sum();
    let mut shown: Vec<_> = totals.iter().filter(|(_, own, _)| *own > Ticks(0)).collect();
    if !shown.iter().any(|(stage, ..)| *stage == StageId::UNACCOUNTED) {
        shown.push((StageId::UNACCOUNTED, Ticks(0), 0));
    }
    shown.sort_by_key(|(stage, ..)| place(*stage));
    let row = |(stage, own, count): (StageId, Ticks, u64)| {
        // Background stages have no spans of their own: their pieces are what others left over.
        let spans = spans.get(&stage).filter(|_| !BACKGROUND.contains(&stage));
        let in_seconds = |ticks: f64| ticks * timebase.ns_per_tick * 1e-9;
        let seconds = timebase.seconds(own);
        LedgerRow {
            stage: names.name(stage),
            seconds,
            share: if wall > 0.0 { (seconds / wall).clamp(0.0, 1.0) } else { 0.0 },
            count,
            mean_s: spans.and_then(SpanTimes::mean).map(in_seconds),
            p50_s: spans.and_then(|spans| spans.quantile(0.5)).map(in_seconds),
            p95_s: spans.and_then(|spans| spans.quantile(0.95)).map(in_seconds),
        }
    };
    shown.into_iter().map(row).collect()
}

/// The built-in stages in the order of the work; a user's own stand before what surrounds the training.
const BEFORE_THE_USERS: [StageId; 15] = [
    StageId::IMPORTS,
    StageId::START_UP,
    StageId::DATA_WAIT,
    StageId::PREPARE,
    StageId::HOST_TO_DEVICE,
    StageId::FORWARD,
    StageId::LOSS,
    StageId::BACKWARD,
    StageId::OPTIMIZER,
    StageId::COMMUNICATION,
    StageId::DEVICE_WAIT,
    StageId::AFTER_UPDATE,
    StageId::CALLBACKS,
    StageId::EVALUATE,
    StageId::CHECKPOINT,
];
const AFTER_THE_USERS: [StageId; 5] = [
    StageId::OTHER,
    StageId::GARBAGE_COLLECTION,
    StageId::BETWEEN_EPOCHS,
    StageId::TEAR_DOWN,
    StageId::UNACCOUNTED,
];

/// Where a stage stands among the others.
pub(crate) fn place(stage: StageId) -> (usize, usize) {
    let among = |stages: &[StageId]| stages.iter().position(|known| *known == stage);
    match (among(&BEFORE_THE_USERS), among(&AFTER_THE_USERS)) {
        (Some(at), _) => (0, at),
        (_, Some(at)) => (2, at),
        _ => (1, usize::from(stage.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_work_with_the_users_stages_before_what_surrounds_it() {
        let mut totals = Totals::default();
        let mut names = StageNames::default();
        names.learn(StageId(32), "augment");
        let stages = [
            StageId::TEAR_DOWN,
            StageId(32),
            StageId::OTHER,
            StageId::FORWARD,
            StageId::START_UP,
            StageId::CHECKPOINT,
        ];
        stages.into_iter().for_each(|stage| totals.add(stage, Ticks(10)));
        totals.add(StageId::LOSS, Ticks(0));
        let rows = rows(&totals, &BTreeMap::new(), &names, &Timebase::NANOSECONDS);
        let order: Vec<&str> = rows.iter().map(|row| row.stage.as_str()).collect();
        let expected =
            ["start_up", "forward", "checkpoint", "augment", "<other>", "tear_down", "unaccounted"];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_stage_without_a_name_is_shown_by_its_number() {
        assert_eq!(StageNames::default().name(StageId(77)), "stage 77");
    }
}
