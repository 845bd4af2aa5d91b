//! Fits, epochs and steps by explicit begin and end, for callers that cannot hold guards.
//!
//! Every begin and end may name a mark: then it is recorded at that earlier moment.

use std::cell::RefCell;

use laptime_core::{Event, FitFacts, StageId, Ticks};

use crate::active::{active, generation, wake_flusher};
use crate::fit_log::{FitLog, push};
use crate::lane::{Lane, Pushed};
use crate::mark::{MarkId, recall};
use crate::moment::Moment;
use crate::thread_lane::{current_lane, existing_lane};

thread_local! {
    /// The fit that is open on this thread, and the recorder it belongs to.
    static OPEN_FIT: RefCell<Option<(u32, FitLog)>> = const { RefCell::new(None) };
}

/// Runs `body` on this thread's fit, if one is open.
fn with_fit<T>(body: impl FnOnce(&mut FitLog) -> T) -> Option<T> {
    OPEN_FIT.with_borrow_mut(|open| {
        // A fit of a recorder that has finished, or of the parent before a fork, is not this one's.
        let (_, fit) = open.as_mut().filter(|(of, _)| *of == generation())?;
        Some(body(fit))
    })
}

/// Begins a fit on this thread and gives its number; one that is open ends there. `None` without a recorder.
pub fn fit_begin(facts: FitFacts, since: Option<MarkId>) -> Option<u32> {
    let lane = current_lane()?;
    fit_end(since);
    let number = active()?.next_fit(&facts);
    let fit = FitLog::begin(lane, number, facts, recall(since, lane));
    OPEN_FIT.set(Some((generation(), fit)));
    Some(number)
}

/// Adds what is now known of this thread's fit.
pub fn fit_update(facts: FitFacts) {
    with_fit(|fit| {
        fit.facts.learn(facts);
        if let Some(recorder) = active() {
            recorder.record_fit(fit.number, &fit.facts);
        }
    });
}

/// Ends this thread's fit.
pub fn fit_end(since: Option<MarkId>) {
    let Some(lane) = existing_lane() else { return };
    let mark = recall(since, lane);
    with_fit(|fit| fit.end(mark));
    OPEN_FIT.set(None);
}

/// Whether a fit is open on this thread.
#[must_use]
pub fn fit_is_open() -> bool {
    open_fit().is_some()
}

/// The number of the fit that is open on this thread.
pub(crate) fn open_fit() -> Option<u32> {
    with_fit(|fit| fit.number)
}

/// Whether an epoch is open on this thread.
#[must_use]
pub(crate) fn epoch_is_open() -> bool {
    with_fit(|fit| fit.in_epoch).unwrap_or(false)
}

/// Begins an epoch and gives its number; without a fit, one of which nothing is known begins too.
pub fn epoch_begin(since: Option<MarkId>) -> Option<u32> {
    let lane = current_lane()?;
    if !fit_is_open() {
        fit_begin(FitFacts::default(), since);
    }
    let mark = recall(since, lane);
    with_fit(|fit| fit.begin_epoch(mark))
}

/// Ends the epoch that is open on this thread.
pub fn epoch_end(since: Option<MarkId>) {
    if let Some(lane) = existing_lane() {
        let mark = recall(since, lane);
        with_fit(|fit| fit.end_epoch(mark));
    }
}

/// Leaves the epoch that is open on this thread before its end.
pub(crate) fn epoch_abandon() {
    with_fit(FitLog::abandon_epoch);
}

/// The steps that follow belong to no epoch.
pub(crate) fn take_steps_only() {
    with_fit(FitLog::take_steps_only);
}

/// A moment between two steps of a fit without epochs, where a lap may be cut: at a mark, or now.
pub(crate) fn cut(since: Option<MarkId>) {
    if let Some(lane) = existing_lane() {
        let mark = recall(since, lane);
        with_fit(|fit| fit.cut(mark));
    }
}

/// Books all of this thread's time since a mark on one stage: it was an evaluation, as it turned out.
pub fn book_since(since: MarkId, stage: StageId) {
    if let Some((lane, mark)) = unsettled_since(since) {
        lane.book_since(&mark, stage, crate::clock::now());
    }
}

/// Begins a stage that began at a mark, as it turned out: everything since then is part of it.
pub(crate) fn enter_since(since: MarkId, stage: StageId) {
    match unsettled_since(since) {
        Some((lane, mark)) => lane.enter_since(&mark, stage, crate::clock::now()),
        None => enter(stage),
    }
}

/// This thread's lane, and from where on its time may be booked anew.
fn unsettled_since(since: MarkId) -> Option<(Lane, Moment)> {
    let lane = existing_lane()?;
    let mark = recall(Some(since), lane)?;
    let settled = with_fit(|fit| fit.unsettled_since(mark.clone()));
    Some((lane, settled.unwrap_or(mark)))
}

/// Puts a step on record.
pub(crate) fn step(start: Ticks, end: Ticks, samples: u32, loss: Option<f64>) {
    if let Some(lane) = current_lane() {
        push(lane, &Event::Step { start, end, samples, loss });
    }
}

/// Begins a stage on this thread; [`exit`] ends it.
#[inline]
pub fn enter(stage: StageId) {
    if let Some(lane) = current_lane() {
        lane.enter(stage, crate::clock::now());
    }
}

/// Begins a stage where this thread records already; says whether it did.
#[inline]
pub fn enter_if_recording(stage: StageId) -> bool {
    let lane = existing_lane();
    if let Some(lane) = lane {
        lane.enter(stage, crate::clock::now());
    }
    lane.is_some()
}

/// Ends a stage on this thread; one that was not begun here is passed over.
#[inline]
pub fn exit(stage: StageId) {
    if let Some(lane) = existing_lane()
        && lane.exit(stage, crate::clock::now()) == Pushed::Wake
    {
        wake_flusher();
    }
}

/// Ends a stage that [`enter_since`] began, as a span from `since` on.
pub(crate) fn exit_since(stage: StageId, since: Ticks) {
    if let Some(lane) = existing_lane()
        && lane.exit_since(stage, since, crate::clock::now()) == Pushed::Wake
    {
        wake_flusher();
    }
}
