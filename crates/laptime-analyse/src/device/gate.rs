//! Gate: events of the host stand here until it is known when the device had done what it was given before them.

use std::collections::{BTreeMap, VecDeque};

use laptime_core::{Event, LaneState, OpenStage, StageId, Ticks};

use super::Passed;
use super::painted::Painted;
use crate::totals::Totals;

/// Events of a lane that wait at most; of more the oldest go on with what is known.
const MOST_EVENTS: usize = 65_536;
/// Boundaries and losses kept at most, and boundaries and spans kept that are older than all that waits: a mark may be
/// recorded long after the moment that it is of.
const MOST_PASSED: usize = 65_536;
const BEHIND: usize = 16_384;
/// Events looked at beyond the mark after an instant, for stages that were open at it.
const BEYOND: usize = 4_096;
/// A lane that says nothing for so long after an instant has no more to say of it.
const SILENT_NS: f64 = 1e9;
/// Steps that the host is ahead, counted one by one up to so many.
const MOST_AHEAD: usize = 64;

/// An event that goes on, its times those of the device.
#[derive(Clone, Debug)]
pub(crate) struct Released {
    /// The lane.
    pub(crate) lane: u32,
    /// What happened.
    pub(crate) event: Event,
    /// The thread's totals at a mark.
    pub(crate) totals: Option<Totals>,
}

/// Events of one lane that wait.
#[derive(Clone, Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    /// Totals as recorded before the newest event that went on.
    recorded: Totals,
    /// Where it stood last.
    at: Ticks,
    open: Vec<OpenStage>,
    /// The instant of the newest mark that went on.
    marked: Ticks,
    /// What time is that no stage claims, since that mark.
    background: StageId,
    /// Spans that went on, in the order they ended.
    spans: VecDeque<Event>,
}

/// Where the events of the host wait for a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    lanes: BTreeMap<u32, Queue>,
    passed: VecDeque<Passed>,
    losses: VecDeque<(Ticks, f64)>,
    /// The newest instant of the host that is on record.
    newest: Ticks,
    /// Whether no more boundaries will come.
    off: bool,
    /// When the process ended, past which nothing lies.
    end: Option<Ticks>,
    ahead: Vec<u64>,
}

impl Gate {
    /// Lets an event wait; `recorded` are the lane's totals when it is the first one.
    pub(crate) fn push(&mut self, lane: u32, event: Event, recorded: &Totals) {
        let fresh = || Queue { recorded: recorded.clone(), ..Queue::default() };
        self.lanes.entry(lane).or_insert_with(fresh).events.push_back(event);
        self.newest = self.newest.max(event.instant().unwrap_or_default());
    }

    /// Takes a boundary of a stream that computes.
    pub(crate) fn pass(&mut self, passed: Passed) {
        let last = self.passed.back().copied().unwrap_or(passed);
        let (host, done) = (passed.host.max(last.host), passed.done.max(last.done));
        self.passed.push_back(Passed { host, done, ..passed });
        if self.passed.len() > MOST_PASSED {
            self.passed.pop_front();
        }
    }

    /// Takes a loss that came late.
    pub(crate) fn take_loss(&mut self, at: Ticks, value: f64) {
        self.losses.push_back((at, value));
        if self.losses.len() > MOST_PASSED {
            self.losses.pop_front();
        }
    }

    /// Takes where a lane stands.
    pub(crate) fn take_state(&mut self, state: &LaneState) {
        self.newest = self.newest.max(state.at);
        if let Some(queue) = self.lanes.get_mut(&state.lane).filter(|queue| queue.at <= state.at) {
            (queue.at, queue.open) = (state.at, state.open.clone());
        }
    }

    /// No more boundaries will come: what waits goes on with what is known.
    pub(crate) fn switch_off(&mut self) {
        self.off = true;
    }

    /// The process ends.
    pub(crate) fn end(&mut self, at: Ticks) {
        self.end = Some(at);
    }

    /// When the device had done all that it was given until an instant of the host.
    fn done(&self, at: Ticks) -> Ticks {
        let before = self.passed.partition_point(|passed| passed.host <= at);
        let last = before.checked_sub(1).and_then(|last| self.passed.get(last));
        last.map_or(at, |last| last.done.min(self.end.unwrap_or(last.done)).max(at))
    }

    /// The newest instant of the host that is on record.
    pub(crate) fn newest(&self) -> Ticks {
        self.newest
    }

    /// The next event that goes on: one of which all is known, or one up to an instant of which no more will be.
    pub(crate) fn release(&mut self, until: Option<Ticks>, ns_per_tick: f64) -> Option<Released> {
        let goes = |(lane, queue): (&u32, &Queue)| {
            let event = queue.events.front()?;
            let is_old = || until >= Some(event.instant().unwrap_or_default());
            let goes = self.off
                || is_old()
                || queue.events.len() > MOST_EVENTS
                || self.is_known(event, queue, ns_per_tick);
            goes.then_some(*lane)
        };
        let lane = self.lanes.iter().find_map(goes)?;
        let event = self.lanes.get_mut(&lane)?.events.pop_front()?;
        let released = self.adjusted(lane, event);
        self.forget();
        Some(released)
    }

    /// Whether all is known that an event waits for.
    fn is_known(&self, event: &Event, queue: &Queue, ns_per_tick: f64) -> bool {
        let is_passed = |at: Ticks| self.passed.back().is_some_and(|newest| newest.host > at);
        match (mark_at(event), event) {
            (Some(at), _) if is_passed(at) => {
                let (done, silent) = (self.done(at), Ticks((SILENT_NS / ns_per_tick.max(1e-3)) as u64));
                done == at || queue.at >= done || self.newest >= done.plus(silent)
            }
            (None, Event::Step { end, .. }) => is_passed(*end),
            (mark, _) => mark.is_none(),
        }
    }

    fn adjusted(&mut self, lane: u32, event: Event) -> Released {
        if let Some(at) = mark_at(&event) {
            return self.adjusted_mark(lane, event, at);
        }
        let event = match event {
            Event::Step { start, end, samples, loss } => {
                let loss = loss.or_else(|| self.loss_of(start, end));
                let begins = self.done(start);
                self.count_ahead(lane, end, begins);
                Event::Step { start: begins, end: self.done(end).max(begins), samples, loss }
            }
            Event::Total(total) => {
                if let Some(queue) = self.lanes.get_mut(&lane) {
                    queue.recorded.set(total);
                }
                event
            }
            Event::Span { .. } => {
                if let Some(queue) = self.lanes.get_mut(&lane) {
                    queue.remember(event);
                }
                event
            }
            Event::Measured { metric, at, value } => Event::Measured { metric, at: self.done(at), value },
            other => other,
        };
        Released { lane, event, totals: None }
    }

    fn adjusted_mark(&mut self, lane: u32, mark: Event, at: Ticks) -> Released {
        let done = self.done(at);
        let Some(queue) = self.lanes.get_mut(&lane) else {
            return Released { lane, event: mark, totals: None };
        };
        let done = done.max(queue.marked);
        queue.marked = done;
        queue.background = background(&mark, queue.background);
        let totals = queue.totals_at(at, done);
        let event = match mark {
            Event::FitBegin { fit, .. } => Event::FitBegin { fit, at: done },
            Event::FitEnd { fit, .. } => Event::FitEnd { fit, at: done },
            Event::EpochBegin { epoch, .. } => Event::EpochBegin { epoch, at: done },
            Event::EpochEnd { epoch, .. } => Event::EpochEnd { epoch, at: done },
            _ => Event::Cut { at: done },
        };
        Released { lane, event, totals: Some(totals) }
    }

    /// The mean of the losses that were of a step.
    fn loss_of(&mut self, start: Ticks, end: Ticks) -> Option<f64> {
        while self.losses.front().is_some_and(|loss| loss.0 <= start) {
            self.losses.pop_front();
        }
        let losses = self.losses.iter().take_while(|loss| loss.0 <= end);
        let (sum, count) = losses.fold((0.0, 0_u32), |(sum, count), loss| (sum + loss.1, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Counts the steps that had begun on the host when the device began one.
    fn count_ahead(&mut self, lane: u32, end: Ticks, begins: Ticks) {
        let behind = self.lanes.get(&lane).into_iter().flat_map(|queue| &queue.events);
        let ends = behind.filter_map(|event| match event {
            Event::Step { end, .. } => Some(*end),
            _ => None,
        });
        let ahead =
            std::iter::once(end).chain(ends).take_while(|end| *end <= begins).take(MOST_AHEAD).count();
        self.ahead.resize(self.ahead.len().max(ahead + 1), 0);
        self.ahead[ahead] += 1;
    }

    /// How many steps the host is ahead of the device, the median; `None` where no step was seen.
    pub(crate) fn steps_ahead(&self) -> Option<u64> {
        let all: u64 = self.ahead.iter().sum();
        let mut below = 0;
        let median = self.ahead.iter().position(|count| {
            below += count;
            2 * below >= all
        });
        median.filter(|_| all > 0 && !self.passed.is_empty()).map(|ahead| ahead as u64)
    }

    /// What is older has gone on.
    fn horizon(&self) -> Ticks {
        let oldest = self.lanes.values().filter_map(|queue| queue.events.iter().find_map(Event::instant));
        oldest.min().unwrap_or(self.newest)
    }

    fn forget(&mut self) {
        let horizon = self.horizon();
        while self.passed.get(BEHIND).is_some_and(|passed| passed.host < horizon) {
            self.passed.pop_front();
        }
    }
}

impl Queue {
    fn remember(&mut self, span: Event) {
        self.spans.push_back(span);
        if self.spans.len() > BEHIND {
            self.spans.pop_front();
        }
    }

    /// The thread's totals at an instant after a mark: as recorded at the last mark before it, and what its spans
    /// say of the time since.
    fn totals_at(&self, at: Ticks, done: Ticks) -> Totals {
        let (mut totals, mut from, mut background) = (self.recorded.clone(), at, self.background);
        if done <= at {
            return totals;
        }
        let mut recorded = self.recorded.clone();
        let mut until = self.events.len();
        for (place, event) in self.events.iter().enumerate() {
            match (event, mark_at(event)) {
                (Event::Total(total), _) => recorded.set(*total),
                (_, Some(next)) if next > done => {
                    until = place;
                    break;
                }
                (_, Some(next)) => {
                    (totals, from) = (recorded.clone(), next.max(from));
                    background = self::background(event, background);
                }
                _ => {}
            }
        }
        // A mark may be recorded after spans that are later than it, and a stage that is open at it ends after it.
        let until = until.saturating_add(BEYOND);
        let older = self.spans.partition_point(|span| span.instant() <= Some(from));
        let mut painted = Painted::new(from, done);
        for event in self.spans.iter().skip(older).chain(self.events.iter().take(until)) {
            if let Event::Span { stage, start, end, in_evaluate, .. } = *event {
                let stage = if in_evaluate { StageId::EVALUATE } else { stage };
                totals.add(stage, painted.claim(start, end));
            }
        }
        if self.at >= done {
            painted.claim_open(&self.open, &mut totals);
        }
        painted.leave(background, &mut totals);
        totals
    }
}

/// When a mark is; `None` of other events.
fn mark_at(event: &Event) -> Option<Ticks> {
    match *event {
        Event::FitBegin { at, .. }
        | Event::FitEnd { at, .. }
        | Event::EpochBegin { at, .. }
        | Event::EpochEnd { at, .. }
        | Event::Cut { at } => Some(at),
        _ => None,
    }
}

/// What time after a mark is that no stage claims.
fn background(mark: &Event, before: StageId) -> StageId {
    match mark {
        Event::FitEnd { .. } => StageId::TEAR_DOWN,
        Event::FitBegin { .. } | Event::EpochEnd { .. } => StageId::BETWEEN_EPOCHS,
        Event::EpochBegin { .. } => StageId::UNACCOUNTED,
        _ => before,
    }
}
