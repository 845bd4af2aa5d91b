//! Threads besides the one that takes the steps: their own ledgers.

use laptime_core::{StageId, Ticks, Timebase};

use crate::lane::Lane;
use crate::ledger::{BACKGROUND, StageNames, rows};
use crate::report::ThreadSummary;

/// What one other thread did; `None` when it recorded no stage.
pub(crate) fn thread(lane: &Lane, names: &StageNames, timebase: &Timebase) -> Option<ThreadSummary> {
    let (started, end) = (lane.started?, lane.last?);
    // Its own last record ends its ledger, so nothing of it is left to stretch or tear down.
    let mut totals = lane.totals_at(end, false).close_to(end.since(started), lane.stage_on_top());
    BACKGROUND.into_iter().for_each(|stage| totals.rebook(stage, StageId::UNACCOUNTED));
    let busy = totals.iter().any(|(stage, own, _)| stage != StageId::UNACCOUNTED && own > Ticks(0));
    let mut ledger = rows(&totals, &lane.spans, names, timebase);
    if let Some(rest) = ledger.last_mut() {
        "idle".clone_into(&mut rest.stage);
    }
    let wall_s = timebase.seconds(end.since(started));
    busy.then(|| ThreadSummary { name: lane.name.clone(), wall_s, ledger })
}
