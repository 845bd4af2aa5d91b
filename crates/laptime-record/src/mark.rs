//! Marks: moments of a lane that are remembered, so that what happened since can be decided later.
//!
//! Whether a pass over a loader is an epoch or an evaluation is known only while it runs, or at its end.
//! A mark taken at its begin holds the time and the totals of that moment.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use laptime_core::StageId;

use crate::active::generation;
use crate::clock::now;
use crate::lane::Lane;
use crate::moment::Moment;
use crate::thread_lane::current_lane;

/// Marks a thread remembers; older ones are forgotten, and a forgotten mark means "now".
const MOST_MARKS: usize = 64;

/// The name of a mark, good on the thread that took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkId(pub u64);

/// A lane of one recorder; the next recorder's lanes have the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LaneOf {
    generation: u32,
    number: u64,
}

impl LaneOf {
    fn of(lane: Lane) -> Self {
        Self { generation: generation(), number: lane.0.number.load(Relaxed) }
    }
}

thread_local! {
    static MARKS: RefCell<VecDeque<(MarkId, LaneOf, Moment)>> = const { RefCell::new(VecDeque::new()) };
}

/// Remembers this moment of this thread; without a recorder the mark means nothing.
pub fn mark() -> MarkId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let Some(lane) = current_lane() else { return MarkId(0) };
    let id = MarkId(NEXT.fetch_add(1, Relaxed));
    remember(id, lane, lane.moment(now()));
    id
}

/// Moves a mark of this thread to this moment, or takes a new one: what is marked again and again must not
/// make the thread forget its other marks.
pub(crate) fn mark_again(known: Option<MarkId>) -> MarkId {
    let (Some(known), Some(lane)) = (known, current_lane()) else { return mark() };
    let mark = lane.moment(now());
    let lane = LaneOf::of(lane);
    let moved = MARKS.with_borrow_mut(|marks| {
        let at = marks.iter().rposition(|(id, of, _)| *id == known && *of == lane)?;
        marks.remove(at)?;
        marks.push_back((known, lane, mark));
        Some(known)
    });
    moved.unwrap_or_else(self::mark)
}

fn remember(id: MarkId, lane: Lane, mark: Moment) {
    MARKS.with_borrow_mut(|marks| {
        if marks.len() == MOST_MARKS {
            marks.pop_front();
        }
        marks.push_back((id, LaneOf::of(lane), mark));
    });
}

/// The mark with this name, if this thread took it on this lane and still remembers it.
pub(crate) fn recall(id: Option<MarkId>, lane: Lane) -> Option<Moment> {
    let (id, lane) = (id?, LaneOf::of(lane));
    MARKS.with_borrow(|marks| {
        let found = marks.iter().rev().find(|(known, of, _)| *known == id && *of == lane);
        found.map(|(_, _, mark)| mark.clone())
    })
}

/// Corrects this thread's marks after an earlier moment: unclaimed time since then belongs to `to` now, and what
/// is recorded of them later must agree with what is recorded already.
pub(crate) fn rebook_background_of_marks(earlier: &Moment, lane: Lane, to: StageId) {
    let lane = LaneOf::of(lane);
    MARKS.with_borrow_mut(|marks| {
        let later = marks.iter_mut().filter(|(_, of, mark)| *of == lane && mark.at >= earlier.at);
        later.for_each(|(_, _, mark)| mark.rebook_background_since(earlier, to));
    });
}
