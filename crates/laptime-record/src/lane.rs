//! The lane of one thread: its stack of open stages, its totals and its ring.
//!
//! Everything here takes the time as an argument, so it can be tested without a clock. What must stay
//! true: the totals plus the open stages' own time so far equal the time since the lane began.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use laptime_core::{Event, OpenStage, StageId, StageTotal, Ticks};
use laptime_store::{Entry, FRAMES, Frame, LaneMemory, RING_ENTRIES};

use crate::moment::{BACKGROUNDS, Moment};

/// Places in the ring that spans leave free for steps and marks: an epoch must not get lost among its spans.
const SPAN_CAPACITY: u64 = RING_ENTRIES as u64 - 1024;
/// Steps and their counts leave as many free for marks: steps of microseconds fill the ring before it is drained.
const STEP_CAPACITY: u64 = RING_ENTRIES as u64 - 512;
/// The flusher is woken each time this many events have come since it last drained.
const WAKE_AT: u64 = RING_ENTRIES as u64 / 2;

/// A lane as its thread sees it. Only that thread may call what changes it.
#[derive(Clone, Copy)]
pub(crate) struct Lane(pub(crate) &'static LaneMemory);

/// Whether the flusher should be woken.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// There is room.
    Calm,
    /// The ring is half full.
    Wake,
}

impl Lane {
    /// Opens the background, the stage that all time belongs to which no other claims.
    pub(crate) fn begin(self, background: StageId, now: Ticks) {
        self.open(0, background, now);
        self.0.depth.store(1, Release);
    }

    /// The lane as it stands at `at`.
    pub(crate) fn moment(self, at: Ticks) -> Moment {
        Moment::new(at, self.0.stage_totals(), self.open_at(at))
    }

    /// Opens a stage.
    #[inline]
    pub(crate) fn enter(self, stage: StageId, now: Ticks) {
        let depth = self.0.depth.load(Relaxed);
        if (depth as usize) < FRAMES {
            self.open(depth as usize, stage, now);
            if stage.absorbs_children() && self.0.absorber.load(Relaxed) == 0 {
                self.0.absorber.store(depth + 1, Relaxed);
            }
        }
        self.0.depth.store(depth + 1, Release);
    }

    #[inline]
    fn open(self, at: usize, stage: StageId, now: Ticks) {
        let frame = &self.0.frames[at];
        frame.stage.store(u64::from(stage.0), Relaxed);
        frame.start.store(now.0, Relaxed);
        frame.children.store(0, Relaxed);
    }

    /// Ends a stage, wherever it stands in the stack: generators interleave.
    #[inline]
    pub(crate) fn exit(self, stage: StageId, now: Ticks) -> Pushed {
        self.exit_since(stage, Ticks(u64::MAX), now)
    }

    /// Ends a stage that was known only after it began: its span goes on record as begun at `since`.
    #[inline]
    pub(crate) fn exit_since(self, stage: StageId, since: Ticks, now: Ticks) -> Pushed {
        let depth = self.0.depth.load(Relaxed) as usize;
        let top = depth.wrapping_sub(1);
        // Frame 0 is the background, which is never ended by a guard.
        if top == 0 || top >= FRAMES || self.0.frames[top].stage.load(Relaxed) != u64::from(stage.0) {
            return self.exit_out_of_order(stage, now);
        }
        let frame = &self.0.frames[top];
        let start = frame.start.load(Relaxed);
        let length = now.0.saturating_sub(start);
        let own = length.saturating_sub(frame.children.load(Relaxed));
        let in_evaluate = self.close(top, stage, length, own);
        self.0.depth.store(top as u64, Release);
        let earlier = start.saturating_sub(since.0);
        let (start, end) = (Ticks(start - earlier), Ticks(start + length));
        self.push_span(Entry::span(stage, start, end, Ticks(own + earlier), in_evaluate))
    }

    /// Books the end of the frame at `at`; says whether an evaluation around it owns its time.
    #[inline]
    fn close(self, at: usize, stage: StageId, length: u64, own: u64) -> bool {
        let absorber = self.0.absorber.load(Relaxed) as usize;
        if absorber != 0 {
            if at >= absorber {
                return true;
            }
            if at + 1 == absorber {
                self.0.absorber.store(0, Relaxed);
            }
        }
        add(&self.0.frames[at - 1].children, length);
        self.0.add_span(stage, own);
        false
    }

    #[cold]
    fn exit_out_of_order(self, stage: StageId, now: Ticks) -> Pushed {
        let depth = self.0.depth.load(Relaxed) as usize;
        if depth > FRAMES {
            // Too deep to have a frame: its time is booked on the last stage that has one.
            self.0.depth.store(depth as u64 - 1, Release);
            return Pushed::Calm;
        }
        let found = (1..depth).rev().find(|at| self.0.frames[*at].stage.load(Relaxed) == u64::from(stage.0));
        let Some(at) = found else {
            add(&self.0.unmatched, 1);
            return Pushed::Calm;
        };
        self.remove(at, depth, stage, now)
    }

    /// Ends the span of a stage that began at `start`.
    pub(crate) fn exit_started(self, stage: StageId, start: Ticks, now: Ticks) -> Pushed {
        let depth = self.0.depth.load(Relaxed) as usize;
        let began = |at: &usize| self.0.frames[*at].open_stage();
        let found =
            (1..depth.min(FRAMES)).rev().find(|at| began(at).stage == stage && began(at).start == start);
        match found {
            Some(at) if at + 1 < depth => self.remove(at, depth.min(FRAMES), stage, now),
            _ => self.exit(stage, now),
        }
    }

    /// Whether a stage is open and has a frame.
    #[inline]
    pub(crate) fn is_open(self, stage: StageId) -> bool {
        let depth = (self.0.depth.load(Relaxed) as usize).min(FRAMES);
        (1..depth).any(|at| self.0.frames[at].stage.load(Relaxed) == u64::from(stage.0))
    }

    /// When the innermost span of a stage began, of those that `counts`.
    pub(crate) fn innermost_start(self, stage: StageId, counts: impl Fn(Ticks) -> bool) -> Option<Ticks> {
        let depth = (self.0.depth.load(Relaxed) as usize).min(FRAMES);
        let open = (1..depth).rev().map(|at| self.0.frames[at].open_stage());
        open.filter(|open| open.stage == stage).map(|open| open.start).find(|start| counts(*start))
    }

    /// Ends a stage while others opened after it are still open.
    ///
    /// Its own time ends where the next stage began; from there on the time belongs to that one. So the
    /// stage around it counts only that part as its child's, and no time is booked twice.
    fn remove(self, at: usize, depth: usize, stage: StageId, now: Ticks) -> Pushed {
        let frame = &self.0.frames[at];
        let start = frame.start.load(Relaxed);
        let until = if at + 1 < depth { self.0.frames[at + 1].start.load(Relaxed) } else { now.0 };
        let length = until.saturating_sub(start);
        let own = length.saturating_sub(frame.children.load(Relaxed));
        let in_evaluate = self.close(at, stage, length, own);
        for place in at + 1..depth {
            let above = self.0.frames[place].open_stage();
            self.open(place - 1, above.stage, above.start);
            self.0.frames[place - 1].children.store(above.children.0, Relaxed);
        }
        let absorber = self.0.absorber.load(Relaxed) as usize;
        if absorber > at + 1 {
            self.0.absorber.store(absorber as u64 - 1, Relaxed);
        }
        self.0.depth.store(depth as u64 - 1, Release);
        let end = Ticks(now.0.max(start + length));
        self.push_span(Entry::span(stage, Ticks(start), end, Ticks(own), in_evaluate))
    }

    /// From here on, time that no stage claims belongs to `stage`.
    pub(crate) fn set_background(self, stage: StageId, now: Ticks) {
        let depth = self.0.depth.load(Relaxed) as usize;
        let frame = &self.0.frames[0];
        let until = if depth > 1 { self.0.frames[1].start.load(Relaxed) } else { now.0 };
        let length = until.saturating_sub(frame.start.load(Relaxed));
        let own = length.saturating_sub(frame.children.load(Relaxed));
        add(&self.0.total(frame.open_stage().stage).own, own);
        self.open(0, stage, Ticks(until));
    }

    /// Books all of one stage's time on another.
    pub(crate) fn rebook(self, from: StageId, to: StageId) {
        let own = self.0.total(from).own.swap(0, Relaxed);
        add(&self.0.total(to).own, own);
    }

    /// Books all time since the mark on one stage, as one span of it.
    pub(crate) fn book_since(self, mark: &Moment, to: StageId, now: Ticks) {
        self.take_since(mark, to, now);
        add(&self.0.total(to).count, 1);
    }

    /// Books all time since the mark on one stage that goes on: its span is counted when it ends.
    pub(crate) fn enter_since(self, mark: &Moment, stage: StageId, now: Ticks) {
        self.take_since(mark, stage, now);
        self.enter(stage, now);
    }

    fn take_since(self, mark: &Moment, to: StageId, now: Ticks) {
        let open = self.open_at(now);
        let mut moved = self.take_open_since(mark, &open, |stage| stage != to);
        for StageTotal { stage, count, .. } in self.0.stage_totals() {
            if stage != to {
                let before = mark.booked_before(stage, &open);
                moved += self.take_ended_since(stage, before.own);
                self.0.total(stage).count.store(count.min(before.count), Relaxed);
            }
        }
        add(&self.0.total(to).own, moved);
    }

    /// Books the time since the mark that no stage claimed on another background.
    pub(crate) fn book_background_since(self, mark: &Moment, to: StageId, now: Ticks) {
        let _ = self.move_background_since(mark, to, now);
    }

    /// Books the time since the mark that no stage claimed on a stage, as one span of it.
    pub(crate) fn book_background_as_span(self, mark: &Moment, stage: StageId, now: Ticks) -> Pushed {
        let own = self.move_background_since(mark, stage, now);
        if own == 0 {
            return Pushed::Calm;
        }
        add(&self.0.total(stage).count, 1);
        // A clock that went back must not make a span whose own time is longer than it.
        let own = Ticks(own).min(now.since(mark.at));
        self.push_span(Entry::span(stage, mark.at, now, own, false))
    }

    /// Books a stretch of the past in which only the background was open on a stage, as one span of it.
    pub(crate) fn book_past(self, stage: StageId, start: Ticks, end: Ticks) -> Pushed {
        let background = &self.0.frames[0];
        let start = start.max(Ticks(background.start.load(Relaxed)));
        let own = end.since(start);
        if own == Ticks(0) {
            return Pushed::Calm;
        }
        add(&background.children, own.0);
        self.0.add_span(stage, own.0);
        self.push_span(Entry::span(stage, start, end, own, false))
    }

    /// Moves time since the mark that no stage claimed; says how much.
    fn move_background_since(self, mark: &Moment, to: StageId, now: Ticks) -> u64 {
        let open = self.open_at(now);
        let moves = |stage: &StageId| *stage != to && BACKGROUNDS.contains(stage);
        let mut moved = self.take_open_since(mark, &open, |stage| moves(&stage));
        for stage in BACKGROUNDS.into_iter().filter(moves) {
            moved += self.take_ended_since(stage, mark.booked_before(stage, &open).own);
        }
        add(&self.0.total(to).own, moved);
        moved
    }

    /// Takes what a stage's ended spans have beyond `before`; says how much that was.
    fn take_ended_since(self, stage: StageId, before: Ticks) -> u64 {
        let own = &self.0.total(stage).own;
        let taken = own.load(Relaxed).saturating_sub(before.0);
        own.store(own.load(Relaxed) - taken, Relaxed);
        taken
    }

    /// Takes own time since the mark of stages that go on; says how much that was.
    fn take_open_since(
        self,
        mark: &Moment,
        open: &[(OpenStage, Ticks)],
        moves: impl Fn(StageId) -> bool,
    ) -> u64 {
        // An evaluation that is open keeps its time: what runs inside it may claim that when it ends.
        let takes = |stage: StageId| moves(stage) && !stage.absorbs_children();
        let mut taken = 0;
        for (at, (_, own)) in open.iter().enumerate().filter(|(_, (open, _))| takes(open.stage)) {
            // Time that is taken from a stage that goes on counts as a child's.
            let own = own.since(mark.own_before(open, at)).0;
            add(&self.0.frames[at].children, own);
            taken += own;
        }
        taken
    }

    /// Whether an evaluation is open.
    pub(crate) fn in_evaluation(self) -> bool {
        self.0.absorber.load(Relaxed) != 0
    }

    /// The innermost stage that is open and has a frame.
    #[inline]
    pub(crate) fn innermost(self) -> (usize, &'static Frame) {
        let depth = (self.0.depth.load(Relaxed) as usize).clamp(1, FRAMES);
        (depth, &self.0.frames[depth - 1])
    }

    /// Books the innermost stage's own time since `since` on another stage, as a span that ends now.
    ///
    /// `children` is what that stage's children had at `since`.
    #[inline]
    pub(crate) fn split_off(self, stage: StageId, since: Ticks, children: Ticks, now: Ticks) -> Pushed {
        let (_, frame) = self.innermost();
        let inside = frame.children.load(Relaxed).saturating_sub(children.0);
        let own = now.since(since).0.saturating_sub(inside);
        let in_evaluate = self.in_evaluation();
        if !in_evaluate {
            add(&frame.children, own);
            self.0.add_span(stage, own);
        }
        self.push_span(Entry::span(stage, since, now, Ticks(own), in_evaluate))
    }

    /// Open stages that time is booked on, with their own time up to `now`.
    pub(crate) fn open_at(self, now: Ticks) -> Vec<(OpenStage, Ticks)> {
        let depth = (self.0.depth.load(Relaxed) as usize).min(FRAMES);
        let absorber = self.0.absorber.load(Relaxed) as usize;
        let visible = if absorber == 0 { depth } else { absorber.min(depth) };
        let frames = &self.0.frames[..visible];
        let own = |at: usize, open: OpenStage| {
            let until = frames.get(at + 1).map_or(now, |inner| inner.open_stage().start);
            until.since(open.start).since(open.children)
        };
        let open = frames.iter().map(Frame::open_stage).enumerate();
        open.map(|(at, open)| (open, own(at, open))).collect()
    }

    /// Own time and count of every stage, open stages' time up to `now` included.
    #[cfg(test)]
    pub(crate) fn totals_at(self, now: Ticks) -> Vec<StageTotal> {
        self.moment(now).totals().collect()
    }

    #[inline]
    fn push_span(self, entry: Entry) -> Pushed {
        self.push(entry, SPAN_CAPACITY)
    }

    /// Puts a step on record.
    #[inline]
    pub(crate) fn push_step(self, start: Ticks, end: Ticks, samples: u32) -> Pushed {
        self.push(Entry::step(start, end, samples, None), STEP_CAPACITY)
    }

    /// Puts a mark, a step or a count on record; marks and their totals may use the last places of the ring.
    pub(crate) fn push_event(self, event: &Event) -> Pushed {
        let capacity = match event {
            Event::Step { .. } | Event::Count { .. } => STEP_CAPACITY,
            _ => RING_ENTRIES as u64,
        };
        self.push(Entry::from_event(event), capacity)
    }

    /// Whether the next event would get lost.
    pub(crate) fn is_full(self) -> bool {
        let waiting = self.0.head.load(Relaxed).wrapping_sub(self.0.tail.load(Acquire));
        waiting >= RING_ENTRIES as u64
    }

    #[inline]
    fn push(self, entry: Entry, capacity: u64) -> Pushed {
        let head = self.0.head.load(Relaxed);
        let waiting = head.wrapping_sub(self.0.tail.load(Acquire));
        if waiting >= capacity {
            add(&self.0.dropped, 1);
            return Pushed::Calm;
        }
        let slot = &self.0.entries[head as usize % RING_ENTRIES];
        for (place, word) in slot.iter().zip(entry.0) {
            place.store(word, Relaxed);
        }
        // The entry is there before it counts: this store is what acknowledges it.
        self.0.head.store(head + 1, Release);
        if waiting == WAKE_AT { Pushed::Wake } else { Pushed::Calm }
    }
}

/// Adds without a locked instruction: only the lane's thread writes.
#[inline]
fn add(word: &std::sync::atomic::AtomicU64, amount: u64) {
    word.store(word.load(Relaxed).wrapping_add(amount), Relaxed);
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
