//! What a span costs here: measured once at start, so that the report can state laptime's own cost.

use laptime_core::{StageId, Ticks};

use crate::clock::{anchor, now};
use crate::lane::Lane;

const ROUNDS: u32 = 5;
const SPANS_PER_ROUND: u32 = 400;

/// Nanoseconds of one span in a hot loop, on a lane that no thread has yet.
///
/// The lane keeps no number, so what is put on it here is nobody's, also when a kill strikes now; whoever
/// claims the lane later starts afresh.
pub(crate) fn measure_span_cost_ns(lane: Lane, began: Ticks) -> f64 {
    lane.begin(StageId::UNACCOUNTED, began);
    let fastest = (0..ROUNDS)
        .map(|_| {
            let from = anchor().monotonic_ns;
            for _ in 0..SPANS_PER_ROUND {
                lane.enter(StageId::OTHER, now());
                let _ = lane.exit(StageId::OTHER, now());
            }
            anchor().monotonic_ns.saturating_sub(from)
        })
        .min();
    fastest.unwrap_or(0) as f64 / f64::from(SPANS_PER_ROUND)
}
