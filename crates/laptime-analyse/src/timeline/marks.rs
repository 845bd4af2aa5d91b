//! Marks: the rows of a run, from two readings of its records in memory that does not grow with them.

use std::collections::BTreeMap;

use laptime_core::{Counter, Event, Record, StageId, Ticks};

use super::axis::Timeline;
use super::in_order::Stretch;
use super::lanes::{LaneRows, Sink, turned};
use super::nest::Nest;
use super::steps::Place;
use super::{Mark, Quantity, Readings, Row, Slice, What};

/// Gives the marks of a run: [`Self::scan`] takes all its records once, then [`Self::take`] takes them again.
pub struct TimelineMarks<'a> {
    timeline: &'a Timeline<'a>,
    logs: BTreeMap<usize, LogRows>,
    is_second: bool,
}

/// The rows of one log.
#[derive(Default)]
struct LogRows {
    lanes: BTreeMap<u32, LaneRows>,
    places: BTreeMap<u32, Place>,
    /// The newest boundary of each stream of each device: what it works on from there, and from when.
    streams: BTreeMap<(u32, u16), (StageId, Ticks)>,
    groups: BTreeMap<u16, Nest>,
    counted: BTreeMap<Counter, u64>,
    readings: Readings,
    steps: BTreeMap<u32, Nest>,
    has_ended: bool,
}

impl<'a> TimelineMarks<'a> {
    pub(super) fn new(timeline: &'a Timeline<'a>) -> Self {
        Self { timeline, logs: BTreeMap::new(), is_second: false }
    }

    /// Takes the next record of a log in the first reading.
    pub fn scan(&mut self, log: usize, record: &Record) {
        let rows = self.logs.entry(log).or_default();
        match record {
            Record::Event { lane, event: Event::Span { stage, start, end, .. } } => {
                let span = Stretch { start: *start, end: Some(*end), stage: *stage };
                rows.lanes.entry(*lane).or_default().scan(span);
            }
            Record::State(state) => rows.lanes.entry(state.lane).or_default().scan_state(state),
            Record::Closed { .. } => rows.has_ended = true,
            _ => {}
        }
    }

    /// Takes the next record of a log in the second reading, and gives the marks that are known by then.
    pub fn take(&mut self, log: usize, record: &Record, sink: &mut dyn FnMut(Mark)) {
        self.begin_second();
        let timeline = self.timeline;
        let rows = self.logs.entry(log).or_default();
        let mut mark = |row, at, what| sink(Mark { log, row, at_ns: timeline.at_ns(log, at), what });
        match record {
            Record::Event { lane, event } => rows.take_event(*lane, event, &mut mark),
            Record::Sample(sample) => {
                rows.readings.take(
                    sample,
                    |length| timeline.length_s(log, length),
                    &mut |quantity, amount| {
                        mark(Row::Amount(quantity), sample.at, What::Amount(amount));
                    },
                );
            }
            _ => {}
        }
    }

    /// Gives what is left.
    pub fn finish(mut self, sink: &mut dyn FnMut(Mark)) {
        self.begin_second();
        let timeline = self.timeline;
        for (log, rows) in &mut self.logs {
            let mut mark =
                |row, at, what| sink(Mark { log: *log, row, at_ns: timeline.at_ns(*log, at), what });
            for (lane, stages) in &mut rows.lanes {
                stages.finish(*lane, &mut mark);
            }
            for (lane, nest) in &mut rows.steps {
                nest.finish(&mut |beside, turn| {
                    turned(Row::Steps { lane: *lane, beside }, turn, None, &mut mark);
                });
            }
            for (group, nest) in &mut rows.groups {
                nest.finish(&mut |beside, turn| {
                    turned(Row::Group { group: *group, beside }, turn, None, &mut mark);
                });
            }
        }
    }

    fn begin_second(&mut self) {
        if !self.is_second {
            self.is_second = true;
            for rows in self.logs.values_mut() {
                let has_ended = rows.has_ended;
                rows.lanes.values_mut().for_each(|lane| lane.scanned(has_ended));
            }
        }
    }
}

impl LogRows {
    fn take_event(&mut self, lane: u32, event: &Event, mark: &mut Sink<'_>) {
        match *event {
            Event::Span { stage, start, end, .. } => {
                let span = Stretch { start, end: Some(end), stage };
                self.lanes.entry(lane).or_default().take(lane, span, mark);
            }
            Event::Step { start, end, .. } => {
                let slice = Slice::Step(self.places.entry(lane).or_default().step);
                let nest = self.steps.entry(lane).or_default();
                nest.place(start, Some(end), &mut |beside, turn| {
                    turned(Row::Steps { lane, beside }, turn, Some(slice), mark);
                });
            }
            Event::FitBegin { at, .. } | Event::FitEnd { at, .. } => self.take_fit(lane, event, at, mark),
            Event::EpochBegin { at, .. } | Event::EpochEnd { at, .. } => {
                self.take_epoch(lane, event, at, mark);
            }
            Event::Boundary { stream, stage, host, done } => {
                self.take_boundary((lane, stream), (stage, host, done), mark);
            }
            Event::Collective { group, kind, start, end, .. } => {
                let nest = self.groups.entry(group).or_default();
                nest.place(start, Some(end), &mut |beside, turn| {
                    turned(Row::Group { group, beside }, turn, Some(Slice::Collective(kind)), mark);
                });
            }
            Event::Count { counter, at, amount } => {
                let sum = self.counted.entry(counter).or_default();
                *sum = sum.saturating_add(amount);
                mark(Row::Amount(Quantity::Counted(counter)), at, What::Amount(*sum as f64));
            }
            Event::Measured { metric, at, value } => {
                mark(Row::Amount(Quantity::Measured(metric)), at, What::Amount(value));
            }
            Event::Total(_) | Event::Cut { .. } => {}
        }
        self.places.entry(lane).or_default().follow(event);
    }

    fn take_fit(&self, lane: u32, event: &Event, at: Ticks, mark: &mut Sink<'_>) {
        // Of a damaged log one of a pair may be missing.
        if self.places.get(&lane).is_some_and(|place| place.fit.is_some()) {
            mark(Row::Fits { lane }, at, What::End);
        }
        if let Event::FitBegin { fit, .. } = *event {
            mark(Row::Fits { lane }, at, What::Begin(Slice::Fit(fit)));
        }
    }

    fn take_epoch(&self, lane: u32, event: &Event, at: Ticks, mark: &mut Sink<'_>) {
        if self.places.get(&lane).is_some_and(|place| place.epoch.is_some()) {
            mark(Row::Epochs { lane }, at, What::End);
        }
        if let Event::EpochBegin { epoch, .. } = *event {
            mark(Row::Epochs { lane }, at, What::Begin(Slice::Epoch(epoch)));
        }
    }

    /// A stream works on what was launched between two boundaries: from when it was launched, or the stream was done
    /// with what came before, until it is done.
    fn take_boundary(
        &mut self,
        (lane, stream): (u32, u16),
        (stage, host, done): (StageId, Ticks, Ticks),
        mark: &mut Sink<'_>,
    ) {
        let before = self.streams.insert((lane, stream), (stage, host.max(done)));
        let Some((stage, from)) =
            before.filter(|(stage, from)| *stage != StageId::UNACCOUNTED && *from < done)
        else {
            return;
        };
        mark(Row::Stream { lane, stream }, from, What::Begin(Slice::Stage(stage)));
        mark(Row::Stream { lane, stream }, done, What::End);
    }
}
