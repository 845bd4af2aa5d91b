//! The newest spans of a process, and the newest step of the usual length: what the timeline of a step is made of.

use std::collections::{BTreeMap, VecDeque};

use laptime_core::{Event, StageId, Ticks};

/// Spans kept of each track; what is older is forgotten.
const NEWEST: usize = 512;
/// A step whose length differs from the usual one by less than this share is a typical one.
const TYPICAL: f64 = 0.1;
/// Spans of one track that are shown.
pub(crate) const MOST_SHOWN: usize = 400;

/// A span, or what a device did between two boundaries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) stage: StageId,
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
}

/// The newest spans of a process, and the newest step of the usual length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newest {
    pub(crate) lanes: BTreeMap<u32, VecDeque<Stretch>>,
    /// The newest boundary of each stream of a device.
    streams: BTreeMap<(u32, u16), Stretch>,
    usual: UsualLength,
    pub(crate) step: Option<TypicalStep>,
}

/// A step of the usual length.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypicalStep {
    pub(crate) lane: u32,
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    /// What the lane did in it, kept because a long pause would push it out.
    pub(crate) spans: Vec<Stretch>,
}

/// The median length, approached in steps that become smaller.
#[derive(Clone, Copy, Debug, Default)]
struct UsualLength {
    ticks: f64,
    seen: u64,
}

impl UsualLength {
    /// Takes the next length; says whether it is a usual one.
    fn take(&mut self, length: Ticks) -> bool {
        let length = length.0 as f64;
        self.seen = self.seen.saturating_add(1);
        if self.ticks <= 0.0 {
            self.ticks = length;
        }
        let rate = (1.0 / self.seen as f64).max(0.01);
        self.ticks *= if length > self.ticks { 1.0 + rate } else { 1.0 / (1.0 + rate) };
        (length - self.ticks).abs() <= TYPICAL * self.ticks
    }
}

impl Newest {
    /// Takes the next event of a lane.
    pub(crate) fn take(&mut self, lane: u32, event: &Event) {
        match *event {
            Event::Span { stage, start, end, .. } => self.push(lane, Stretch { stage, start, end }),
            Event::Collective { start, end, .. } => {
                self.push(lane, Stretch { stage: StageId::COMMUNICATION, start, end });
            }
            Event::Boundary { stream, stage, host, done } => {
                self.take_boundary((lane, stream), Stretch { stage, start: host, end: done });
            }
            Event::Step { start, end, .. } => self.take_step(lane, start, end),
            _ => {}
        }
    }

    fn push(&mut self, lane: u32, stretch: Stretch) {
        let newest = self.lanes.entry(lane).or_default();
        if newest.len() >= NEWEST {
            newest.pop_front();
        }
        newest.push_back(stretch);
    }

    /// What was launched since the boundary before runs from when that was done, or from its launch, until now.
    fn take_boundary(&mut self, stream: (u32, u16), passed: Stretch) {
        if let Some(before) = self.streams.insert(stream, passed) {
            let start = before.end.max(before.start);
            let stretch = Stretch { stage: before.stage, start, end: passed.end };
            if stretch.start < stretch.end && before.stage != StageId::UNACCOUNTED {
                self.push(stream.0, stretch);
            }
        }
    }

    fn take_step(&mut self, lane: u32, start: Ticks, end: Ticks) {
        if !self.usual.take(end.since(start)) {
            return;
        }
        let newest = self.lanes.get(&lane).into_iter().flatten().rev();
        let inside = newest.take_while(|span| span.end > start).take(MOST_SHOWN);
        let spans = inside.filter(|span| span.start < end).copied().collect();
        self.step = Some(TypicalStep { lane, start, end, spans });
    }
}
