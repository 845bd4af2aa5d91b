//! Marks: moments of a lane that are remembered, so that what happened since can be decided later.
//!
//! Whether a pass over a loader is an epoch or an evaluation is known only while it runs, or at its end.
//! A mark taken at its begin holds the time and the totals of that moment.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use laptime_core::{OpenStage, StageId, StageTotal, Ticks};

use crate::clock::now;
use crate::lane::{BACKGROUNDS, Lane};
use crate::thread_lane::current_lane;

/// Marks a thread remembers; older ones are forgotten, and a forgotten mark means "now".
const MOST_MARKS: usize = 64;

/// The name of a mark, good on the thread that took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkId(pub u64);

/// A lane at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) at: Ticks,
    /// Totals of stages that had ended.
    ended: Vec<StageTotal>,
    /// Stages that were open, and their own time so far.
    open: Vec<(OpenStage, Ticks)>,
}

impl Mark {
    /// The lane as it stands at `at`.
    pub(crate) fn take(lane: Lane, at: Ticks) -> Self {
        Self { at, ended: lane.0.state(at).totals, open: lane.open_at(at) }
    }

    /// Own time and count of every stage up to the mark.
    pub(crate) fn totals(&self) -> Vec<StageTotal> {
        let mut totals = self.ended.clone();
        for (open, own) in &self.open {
            match totals.iter_mut().find(|total| total.stage == open.stage) {
                Some(total) => total.own = total.own.plus(*own),
                None => totals.push(StageTotal { stage: open.stage, own: *own, count: 0 }),
            }
        }
        totals
    }

    /// The same moment, with all of one stage's time booked on another.
    pub(crate) fn with_rebooked(mut self, from: StageId, to: StageId) -> Self {
        let stages = self.open.iter_mut().map(|(open, _)| &mut open.stage);
        stages.filter(|stage| **stage == from).for_each(|stage| *stage = to);
        let moved = self.ended.iter_mut().find(|total| total.stage == from);
        let own = moved.map_or(Ticks(0), |total| std::mem::take(&mut total.own));
        match self.ended.iter_mut().find(|total| total.stage == to) {
            Some(total) => total.own = total.own.plus(own),
            None => self.ended.push(StageTotal { stage: to, own, count: 0 }),
        }
        self
    }

    /// The same moment, with the time since an earlier one that no stage claimed booked on `to`.
    ///
    /// The background that was open at the mark has been closed since, so its time counts as ended.
    fn rebook_background_since(&mut self, earlier: &[StageTotal], to: StageId) {
        let is_background = |stage: StageId| BACKGROUNDS.contains(&stage);
        if let Some((open, own)) = self.open.first_mut().filter(|(open, _)| is_background(open.stage)) {
            let (stage, own) = (open.stage, std::mem::take(own));
            self.add(stage, own);
        }
        let mut moved = Ticks(0);
        for total in self.ended.iter_mut().filter(|total| is_background(total.stage) && total.stage != to) {
            let before = earlier.iter().find(|before| before.stage == total.stage);
            let gained = total.own.since(before.map_or(Ticks(0), |before| before.own));
            total.own = total.own.since(gained);
            moved = moved.plus(gained);
        }
        self.add(to, moved);
    }

    fn add(&mut self, stage: StageId, own: Ticks) {
        match self.ended.iter_mut().find(|total| total.stage == stage) {
            Some(total) => total.own = total.own.plus(own),
            None => self.ended.push(StageTotal { stage, own, count: 0 }),
        }
    }

    /// What a stage's ended spans had in own time and count before the mark, the part before the mark of
    /// spans that have ended since included.
    pub(crate) fn booked_before(&self, stage: StageId, open_now: &[OpenStage]) -> StageTotal {
        let ended = self.ended.iter().find(|total| total.stage == stage).copied();
        let mut booked = ended.unwrap_or(StageTotal { stage, ..StageTotal::default() });
        for (at, (open, own)) in self.open.iter().enumerate().filter(|(_, (open, _))| open.stage == stage) {
            // Of stretches that began at the same instant the innermost ends first.
            let earlier = self.open[..at].iter().filter(|(other, _)| same_stretch(other, open)).count();
            let still_open = open_now.iter().filter(|other| same_stretch(other, open)).count();
            if earlier >= still_open {
                booked.own = booked.own.plus(*own);
            }
        }
        booked
    }

    /// Own time before the mark of the stage that is open now at this place.
    pub(crate) fn own_before(&self, open_now: &[OpenStage], at: usize) -> Ticks {
        let earlier = open_now[..at].iter().filter(|other| same_stretch(other, &open_now[at])).count();
        let mut same = self.open.iter().filter(|(open, _)| same_stretch(open, &open_now[at]));
        same.nth(earlier).map_or(Ticks(0), |(_, own)| *own)
    }
}

fn same_stretch(a: &OpenStage, b: &OpenStage) -> bool {
    a.stage == b.stage && a.start == b.start
}

thread_local! {
    static MARKS: RefCell<VecDeque<(MarkId, u64, Mark)>> = const { RefCell::new(VecDeque::new()) };
}

/// Remembers this moment of this thread; without a recorder the mark means nothing.
pub fn mark() -> MarkId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let Some(lane) = current_lane() else { return MarkId(0) };
    let id = MarkId(NEXT.fetch_add(1, Relaxed));
    remember(id, lane, Mark::take(lane, now()));
    id
}

/// Moves a mark of this thread to this moment, or takes a new one: what is marked again and again must not
/// make the thread forget its other marks.
pub(crate) fn mark_again(known: Option<MarkId>) -> MarkId {
    let (Some(known), Some(lane)) = (known, current_lane()) else { return mark() };
    let mark = Mark::take(lane, now());
    let number = lane.0.number.load(Relaxed);
    let moved = MARKS.with_borrow_mut(|marks| {
        let at = marks.iter().rposition(|(id, of, _)| *id == known && *of == number)?;
        marks.remove(at)?;
        marks.push_back((known, number, mark));
        Some(known)
    });
    moved.unwrap_or_else(self::mark)
}

fn remember(id: MarkId, lane: Lane, mark: Mark) {
    MARKS.with_borrow_mut(|marks| {
        if marks.len() == MOST_MARKS {
            marks.pop_front();
        }
        marks.push_back((id, lane.0.number.load(Relaxed), mark));
    });
}

/// The mark with this name, if this thread took it on this lane and still remembers it.
pub(crate) fn recall(id: Option<MarkId>, lane: Lane) -> Option<Mark> {
    let (id, number) = (id?, lane.0.number.load(Relaxed));
    MARKS.with_borrow(|marks| {
        let found = marks.iter().rev().find(|(known, of, _)| *known == id && *of == number);
        found.map(|(_, _, mark)| mark.clone())
    })
}

/// Tells this thread's marks after an earlier moment that unclaimed time since then belongs to `to` now: what
/// is told of them later must agree with what is told already.
pub(crate) fn rebook_background_of_marks(earlier: &Mark, lane: Lane, to: StageId) {
    let (before, number) = (earlier.totals(), lane.0.number.load(Relaxed));
    MARKS.with_borrow_mut(|marks| {
        let later = marks.iter_mut().filter(|(_, of, mark)| *of == number && mark.at >= earlier.at);
        later.for_each(|(_, _, mark)| mark.rebook_background_since(&before, to));
    });
}

/// Forgets every mark of this thread: its lane belongs to another recorder now.
pub(crate) fn forget_marks() {
    MARKS.with_borrow_mut(VecDeque::clear);
}
