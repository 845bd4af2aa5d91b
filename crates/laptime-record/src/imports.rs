//! Imports: what a program loads before its first fit, separate from the rest of its start-up.
//!
//! Most imports end before there is a recorder, so they are kept until one starts. Only time that no stage
//! claimed becomes `imports`: a stage that is used inside an import keeps its own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use laptime_core::{Anchor, Record, StageId, Ticks, Timebase};

use crate::active::{Shared, active, wake_flusher};
use crate::clock::{anchor, now};
use crate::lane::{Lane, Pushed};
use crate::mark::rebook_background_of_marks;
use crate::moment::Moment;
use crate::thread_lane::existing_lane;

/// Imports that are named in the log: the slowest ones.
const MOST_NAMED: usize = 20;
/// Imports that are kept for a recorder.
const MOST_EARLY: usize = 4096;

static IMPORTS: Mutex<Imports> = Mutex::new(Imports { early: Vec::new(), open: None, named: 0 });

/// What is known of imports. Nothing else is locked while this is, so that a fork can wait for it.
pub(crate) struct Imports {
    early: Vec<Import>,
    open: Option<Open>,
    named: usize,
}

/// One import, on the clock `CLOCK_MONOTONIC`.
struct Import {
    name: String,
    start_ns: u64,
    end_ns: u64,
}

/// Where the lane stood when the import that may be going on began, or the recorder inside it.
struct Open {
    generation: u32,
    mark: Moment,
    is_start: bool,
}

pub(crate) fn imports() -> MutexGuard<'static, Imports> {
    IMPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An import begins that is not inside another one.
pub fn import_begins() {
    imports().open = None;
    let Some((recorder, lane)) = active().zip(existing_lane()) else { return };
    let open = Open { generation: recorder.generation, mark: lane.moment(now()), is_start: false };
    imports().open = Some(open);
}

/// An import has ended that began and ended at these nanoseconds of `CLOCK_MONOTONIC`; says whether more are
/// wanted: once a fit has begun, imports are part of it.
pub fn imported(name: String, start_ns: u64, end_ns: u64) -> bool {
    let import = Import { name, start_ns, end_ns };
    let Some(recorder) = active() else {
        let mut imports = imports();
        imports.early.push(import);
        return imports.early.len() < MOST_EARLY;
    };
    if recorder.any_fit() {
        return false;
    }
    let (open, is_named) = {
        let mut imports = imports();
        imports.named += 1;
        (imports.open.take(), imports.named <= MOST_NAMED)
    };
    let times = Times::of(recorder);
    if let (Some(lane), Some(open)) = (existing_lane(), open)
        && open.generation == recorder.generation
    {
        book(lane, &open, &times, import.start_ns);
    }
    if is_named {
        recorder.note(times.record(import));
    }
    true
}

fn book(lane: Lane, open: &Open, times: &Times, start_ns: u64) {
    let (mark, now) = (&open.mark, times.anchor.ticks);
    if open.is_start {
        // The recorder started inside this import: before that nothing else was recorded.
        wake_if(lane.book_past(StageId::IMPORTS, times.ticks(start_ns), mark.at));
    }
    wake_if(lane.book_background_as_span(mark, StageId::IMPORTS, now));
    rebook_background_of_marks(mark, lane, StageId::IMPORTS);
}

/// A recorder has started on this lane: books what was imported before it, and names the slowest.
pub(crate) fn take_early_imports(recorder: &Shared, lane: Option<Lane>) {
    let mut early = std::mem::take(&mut imports().early);
    let times = Times::of(recorder);
    // What ended before the recorder's time began is not part of its run.
    early.retain(|import| times.ticks(import.end_ns) > times.began);
    if let Some(lane) = lane {
        early.sort_by_key(|import| import.start_ns);
        let mut booked = times.began;
        for import in &early {
            let (start, end) = (times.ticks(import.start_ns).max(booked), times.ticks(import.end_ns));
            wake_if(lane.book_past(StageId::IMPORTS, start, end));
            booked = booked.max(end);
        }
    }
    early.sort_by_key(|import| std::cmp::Reverse(import.end_ns.saturating_sub(import.start_ns)));
    early.truncate(MOST_NAMED);
    let named = early.len();
    early.into_iter().for_each(|import| recorder.note(times.record(import)));
    let open = lane.map(|lane| {
        let (generation, mark) = (recorder.generation, lane.moment(now()));
        Open { generation, mark, is_start: true }
    });
    let mut imports = imports();
    (imports.named, imports.open) = (named, open);
}

fn wake_if(pushed: Pushed) {
    if pushed == Pushed::Wake {
        wake_flusher();
    }
}

impl Imports {
    /// In a forked child: what the parent imported is the parent's.
    pub(crate) fn forget(&mut self) {
        (self.early, self.open) = (Vec::new(), None);
    }
}

/// From the kernel's clock to the recorder's.
struct Times {
    began: Ticks,
    anchor: Anchor,
    rate: Timebase,
}

impl Times {
    fn of(recorder: &Shared) -> Self {
        let anchor = anchor();
        let rate = Timebase::between(&recorder.began, &anchor).unwrap_or(Timebase::NANOSECONDS);
        Self { began: recorder.began.ticks, anchor, rate }
    }

    /// The moment in ticks, not before the recorder's time.
    fn ticks(&self, ns: u64) -> Ticks {
        let ago = self.anchor.monotonic_ns.saturating_sub(ns) as f64 / self.rate.ns_per_tick;
        Ticks(self.anchor.ticks.0.saturating_sub(ago as u64)).max(self.began)
    }

    fn record(&self, import: Import) -> Record {
        let length = self.ticks(import.end_ns).since(self.ticks(import.start_ns));
        Record::Import { name: import.name, length }
    }
}
