//! Spans of one stage that are open at the same time on one thread, distinguished by the task that opened them.
//!
//! Ends are matched to begins by stage. That is enough until tasks of one event loop are inside the same
//! stage together: then each end must find the begin of its own task.

use std::cell::{Cell, RefCell};

use laptime_core::{StageId, Ticks};

use crate::active::wake_flusher;
use crate::clock::now;
use crate::lane::Pushed;
use crate::thread_lane::{current_lane, existing_lane};

/// Who opened a span: the address of a task, 0 outside any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub usize);

/// A span that was opened while its stage was open already.
struct Owned {
    stage: StageId,
    start: Ticks,
    owner: Owner,
}

thread_local! {
    // Apart from the list, because every end of a span reads it.
    static ANY: Cell<bool> = const { Cell::new(false) };
    static OWNED: RefCell<Vec<Owned>> = const { RefCell::new(Vec::new()) };
}

/// Whether ends of spans on this thread must say whose they are.
#[inline]
#[must_use]
pub fn has_owned() -> bool {
    ANY.get()
}

/// Begins a stage unless it is open on this thread; says whether it has begun.
#[inline]
#[must_use]
pub fn enter_unless_open(stage: StageId) -> bool {
    let Some(lane) = current_lane() else { return true };
    if lane.is_open(stage) {
        return false;
    }
    lane.enter(stage, now());
    true
}

/// Begins a stage that is open already, for this owner.
pub fn enter_owned(stage: StageId, owner: Owner) {
    let Some(lane) = current_lane() else { return };
    let start = now();
    lane.enter(stage, start);
    OWNED.with_borrow_mut(|owned| owned.push(Owned { stage, start, owner }));
    ANY.set(true);
}

/// Ends the span of the stage that this owner opened last.
pub fn exit_owned(stage: StageId, owner: Owner) {
    let Some(lane) = existing_lane() else { return forget() };
    let start = OWNED.with_borrow_mut(|owned| {
        let own = owned.iter().rposition(|span| span.stage == stage && span.owner == owner);
        own.map(|at| owned.remove(at).start)
    });
    // The first that was open is nobody's in the list.
    let start = start.or_else(|| lane.innermost_start(stage, |start| !is_owned(stage, start)));
    let pushed = match start {
        Some(start) => lane.exit_started(stage, start, now()),
        None => lane.exit(stage, now()),
    };
    if pushed == Pushed::Wake {
        wake_flusher();
    }
    ANY.set(OWNED.with_borrow(|owned| !owned.is_empty()));
}

fn is_owned(stage: StageId, start: Ticks) -> bool {
    OWNED.with_borrow(|owned| owned.iter().any(|span| span.stage == stage && span.start == start))
}

/// Forgets whose spans are open: their lane is another recorder's.
fn forget() {
    OWNED.with_borrow_mut(Vec::clear);
    ANY.set(false);
}
