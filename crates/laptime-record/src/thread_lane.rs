//! Which lane a thread has: found once, then a thread-local look-up.

use std::cell::Cell;

use crate::active::{ARMED, active, generation, start_armed};
use crate::lane::Lane;

/// A thread's lane and the recorder it belongs to.
struct ThreadLane {
    /// The recorder the lane was looked up for; 0 before the first time.
    generation: Cell<u32>,
    lane: Cell<Option<Lane>>,
}

thread_local! {
    // Two locals: this one has no destructor, which makes the look-up a plain load.
    static LANE: ThreadLane = const { ThreadLane { generation: Cell::new(0), lane: Cell::new(None) } };
    static OWNER: LaneOwner = const { LaneOwner { lane: Cell::new(None) } };
}

/// Hands the lane back when its thread ends.
struct LaneOwner {
    lane: Cell<Option<(u32, Lane)>>,
}

impl Drop for LaneOwner {
    fn drop(&mut self) {
        // Destructors that run after this one find no lane.
        LANE.with(|thread| thread.lane.set(None));
        if let Some((owner, lane)) = self.lane.get()
            && let Some(recorder) = active().filter(|recorder| recorder.generation == owner)
        {
            recorder.track_ended(lane);
        }
    }
}

/// This thread's lane; an armed recorder starts here. `None` without a recorder.
#[inline]
pub(crate) fn current_lane() -> Option<Lane> {
    LANE.with(|thread| {
        let generation = generation();
        if thread.generation.get() == generation { thread.lane.get() } else { look_up(thread, generation) }
    })
}

/// This thread's lane, if it has one already: an end without a begin starts nothing.
#[inline]
pub(crate) fn existing_lane() -> Option<Lane> {
    LANE.with(|thread| thread.lane.get().filter(|_| thread.generation.get() == generation()))
}

#[cold]
fn look_up(thread: &ThreadLane, generation: u32) -> Option<Lane> {
    if generation == ARMED {
        // Starting gives this thread its lane.
        start_armed();
        return existing_lane();
    }
    let lane = active().filter(|recorder| recorder.generation == generation).and_then(|recorder| {
        let lane = recorder.claim_lane()?;
        // A thread that is already ending cannot hand a lane back, so it gets none.
        OWNER.try_with(|owner| owner.lane.set(Some((generation, lane)))).ok()?;
        Some(lane)
    });
    thread.generation.set(generation);
    thread.lane.set(lane);
    lane
}
