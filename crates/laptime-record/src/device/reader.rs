//! The flusher's side: reads events that have happened and puts them on the device's track, by the host's clock.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use laptime_core::{Anchor, Event, Metric, Record, Ticks, Timebase, Track, TrackKind, Trouble};

use super::clock_map::{ClockMap, Rate};
use super::driver::{EventHandle, Fault, Stream};
use super::events::{Device, Mark, Recorded};
use super::state;
use crate::active::Shared;
use crate::clock::now;
use crate::lane::Lane;

/// The longest the flusher looks for its own event on an idle stream.
const BASE_PATIENCE: Duration = Duration::from_millis(2);
/// While it has not looked longer than this it does not sleep in between, which would widen the bracket.
const BASE_EAGER: Duration = Duration::from_micros(100);
/// A device writes an event's time before the host can see that it happened: under a microsecond on an H200.
const SEEN_LATE_NS: f64 = 2_000.0;
/// A first bracket wider than this is tried again: nothing before can narrow it.
const WIDE_NS: f64 = 50_000.0;
const MOST_TRIES: usize = 5;
/// Times that are off by more show that a clock jumped.
const JUMP_NS: f64 = 10_000_000.0;
/// Streams of a device that are distinguished; frameworks have some dozens.
const MOST_STREAMS: usize = 1024;
/// The length of a tick is measured over at least this long, and anew after this long.
const RATE_NS: [u64; 2] = [50_000_000, 10_000_000_000];

/// What the devices have done, for one recorder.
pub(crate) struct DeviceReader {
    shared: &'static Shared,
    readings: Vec<Reading>,
    rate: MeasuredRate,
    relaxed: bool,
    trouble_on_record: bool,
    finished: bool,
}

impl DeviceReader {
    pub(crate) fn new(shared: &'static Shared) -> Self {
        state::resume();
        let rate = MeasuredRate::new(shared.header.identity().ns_per_tick, shared.began);
        Self { shared, readings: Vec::new(), rate, relaxed: false, trouble_on_record: false, finished: false }
    }

    /// Whether a poll can find anything.
    pub(crate) fn is_needed(&self) -> bool {
        (state::is_read() && !self.finished) || (!self.trouble_on_record && state::off_because().is_some())
    }

    /// How often the driver reported an error so far.
    pub(crate) fn faults(&self) -> u64 {
        state::faults()
    }

    /// From here on no boundary is taken.
    pub(crate) fn take_no_more(&self) {
        state::pause();
    }

    /// Whether the device has not yet come to some boundaries, and may still.
    pub(crate) fn waits(&self) -> bool {
        state::is_read() && self.readings.iter().any(|reading| reading.waiting() > 0)
    }

    /// The last poll was the last: what the device has not come to is missed.
    pub(crate) fn give_up(&mut self) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        self.readings.iter_mut().for_each(Reading::give_up);
        state::read_no_more(self.shared.generation);
    }

    /// What has happened since, for each device's lane.
    pub(crate) fn poll(&mut self, anchor: &Anchor) -> Vec<(Lane, Vec<Event>)> {
        self.rate.measure(anchor);
        let reads = state::is_read() && !self.finished && state::is_reader(self.shared.generation);
        let read = if reads { self.read_all() } else { Vec::new() };
        if let Some(because) = state::off_because().filter(|_| !self.trouble_on_record) {
            self.trouble_on_record = true;
            self.shared.note(Record::Trouble(Trouble::DeviceTimesOff { because }));
        }
        read
    }

    fn read_all(&mut self) -> Vec<(Lane, Vec<Event>)> {
        self.find_new();
        let rate = self.rate.rate();
        let mut read = Vec::new();
        for reading in &mut self.readings {
            let driver = reading.device.driver;
            if !self.relaxed {
                self.relaxed = state::reading().judge(driver, driver.relax_captures()).is_some();
            }
            let mut events = Vec::new();
            // Without the relaxed mode a query may spoil a capture of the user's.
            if self.relaxed && state::is_read() {
                reading.read(rate, &mut events);
            }
            reading.show_missed();
            read.push((reading.lane, events));
        }
        read
    }

    /// Gives devices that have begun a track.
    fn find_new(&mut self) {
        for device in (0..state::MOST_DEVICES as u32).filter_map(state::device) {
            if self.readings.iter().any(|reading| std::ptr::eq(reading.device, device)) {
                continue;
            }
            let track = Track { kind: TrackKind::Device, name: format!("cuda:{}", device.index) };
            let lane = self.shared.claim_track(&track);
            let Some((lane, number)) = lane.and_then(|lane| Some((lane, lane.0.number()?))) else {
                return state::turn_off(
                    "more threads and devices are recorded than there is room for".into(),
                );
            };
            self.shared.note(Record::Device { lane: number, facts: device.facts.clone() });
            self.readings.push(Reading::new(device, lane, self.shared.began.ticks));
        }
    }
}

impl Drop for DeviceReader {
    /// The next recorder has a use for the events.
    fn drop(&mut self) {
        self.give_up();
    }
}

/// The length of a tick, over the last seconds.
struct MeasuredRate {
    rate: Rate,
    from: Anchor,
}

impl MeasuredRate {
    fn new(ns_per_tick: f64, from: Anchor) -> Self {
        // As good as the calibration at the recorder's start.
        Self { rate: Rate { timebase: Timebase { ns_per_tick }, error: 200e-6 }, from }
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn measure(&mut self, to: &Anchor) {
        let from = self.from;
        let slept = to.boot_ns.wrapping_sub(from.boot_ns)
            > to.monotonic_ns.wrapping_sub(from.monotonic_ns) + 1_000_000;
        let passed = to.monotonic_ns.saturating_sub(from.monotonic_ns);
        if slept || passed > RATE_NS[1] {
            self.from = *to;
        }
        if let Some(timebase) = Timebase::between(&from, to).filter(|_| !slept && passed >= RATE_NS[0])
            && (timebase.ns_per_tick / self.rate.timebase.ns_per_tick - 1.0).abs() < 0.01
        {
            self.rate = Rate { timebase, error: 5e-6 };
        }
    }
}

/// What one stream has not yet come to, oldest first.
struct StreamQueue {
    stream: Stream,
    waiting: VecDeque<Recorded>,
    last_done: Ticks,
}

/// The base of a device's times: an event of ours on a stream that is always idle.
struct Bases {
    /// Two, so that the time from one to the next is known; made when first needed.
    events: Option<[EventHandle; 2]>,
    /// Which of them is the newest that happened.
    newest: Option<usize>,
    /// Which of them is still to happen: the device was too busy for it.
    late: Option<usize>,
    map: ClockMap,
}

/// One device as it is read.
struct Reading {
    device: &'static Device,
    lane: Lane,
    streams: Vec<StreamQueue>,
    bases: Bases,
    missed_before: u64,
    /// When the recorder began: what was recorded before is not its own.
    began: Ticks,
}

impl Reading {
    fn new(device: &'static Device, lane: Lane, began: Ticks) -> Self {
        let bases = Bases { events: None, newest: None, late: None, map: ClockMap::default() };
        Self { device, lane, streams: Vec::new(), bases, missed_before: device.missed(), began }
    }

    fn waiting(&self) -> usize {
        self.streams.iter().map(|stream| stream.waiting.len()).sum()
    }

    /// Boundaries that are not on record count like events that found the lane full.
    fn show_missed(&self) {
        let missed = self.device.missed().saturating_sub(self.missed_before);
        self.lane.0.dropped.store(missed, Relaxed);
    }

    /// Puts what has happened into `events`, oldest first.
    fn read(&mut self, rate: Rate, events: &mut Vec<Event>) {
        let driver = self.device.driver;
        self.take_recorded();
        if !self.enter_context() {
            return;
        }
        state::reading().judge(driver, self.device.make_more());
        let happened: Vec<usize> = self.streams.iter().map(|stream| stream.happened(self.device)).collect();
        if happened.iter().all(|count| *count == 0) {
            return;
        }
        state::reading().judge(driver, self.bases.rebase(self.device, rate));
        let Some(base) = self.bases.newest() else { return };
        let mut read = Vec::new();
        let mut jumped = false;
        for (number, (stream, count)) in self.streams.iter_mut().zip(happened).enumerate() {
            let place = Place { device: self.device, base, map: &self.bases.map, rate };
            jumped |= stream.read(&place, count, number as u16, &mut read);
        }
        if jumped {
            self.bases.map.forget();
        }
        read.sort_by_key(|(done, _)| *done);
        events.extend(read.into_iter().map(|(_, event)| event));
    }

    /// Makes the device's context this thread's, unless a script has reset the device: its events are gone then.
    fn enter_context(&self) -> bool {
        let driver = self.device.driver;
        match state::reading().judge(driver, driver.is_in_use(self.device.index)) {
            Some(true) => state::reading().judge(driver, driver.make_current(self.device.context)).is_some(),
            Some(false) => {
                state::turn_off("the device was reset".into());
                false
            }
            None => false,
        }
    }

    /// Sorts what was recorded by stream.
    fn take_recorded(&mut self) {
        while let Some(recorded) = self.device.take_recorded() {
            let known = self.streams.iter().position(|queue| queue.stream == recorded.stream);
            let at = known.unwrap_or(self.streams.len());
            if recorded.host < self.began || at >= MOST_STREAMS {
                self.device.miss(u64::from(recorded.host >= self.began));
                self.device.give_back(recorded.event);
                continue;
            }
            if known.is_none() {
                let (stream, waiting) = (recorded.stream, VecDeque::new());
                self.streams.push(StreamQueue { stream, waiting, last_done: Ticks(0) });
            }
            self.streams[at].waiting.push_back(recorded);
        }
    }

    /// An event can be recorded again whether or not it has happened. A word that a copy may still be made into
    /// is not used again.
    fn give_up(&mut self) {
        self.take_recorded();
        self.device.miss(self.waiting() as u64);
        self.show_missed();
        for recorded in self.streams.iter_mut().flat_map(|stream| stream.waiting.drain(..)) {
            self.device.give_back(recorded.event);
        }
    }
}

impl StreamQueue {
    /// How many of the oldest events have happened: those of a stream happen in order.
    fn happened(&self, device: &Device) -> usize {
        let has = |recorded: &Recorded| {
            let driver = device.driver;
            state::reading().judge(driver, driver.has_happened(recorded.event)).unwrap_or(false)
        };
        // All of them, most of the time.
        if self.waiting.back().is_some_and(has) {
            return self.waiting.len();
        }
        self.waiting.partition_point(has)
    }

    /// Reads the oldest `count` events, as far as the driver has their times; says whether a clock jumped.
    fn read(&mut self, place: &Place<'_>, count: usize, number: u16, read: &mut Vec<(Ticks, Event)>) -> bool {
        let driver = place.device.driver;
        let mut jumped = false;
        for _ in 0..count {
            let Some(recorded) = self.waiting.front().copied() else { break };
            let elapsed = driver.elapsed_ns(place.base, recorded.event);
            if elapsed == Err(Fault::NotReady) || !state::is_read() {
                break;
            }
            self.waiting.pop_front();
            place.device.give_back(recorded.event);
            let elapsed = state::reading().judge(driver, elapsed);
            let Some(at) = elapsed.and_then(|ns| place.map.host(ns, place.rate)) else {
                place.device.miss(1);
                continue;
            };
            state::reading().forgive();
            jumped |= is_absurd(at, recorded.host, place.rate);
            let done = self.bounded(at, recorded.host);
            read.push((done, event_of(place.device, &recorded, number, done)));
        }
        jumped
    }

    /// The device comes to an event after the host recorded it, after the event before, and before now.
    fn bounded(&mut self, at: Ticks, host: Ticks) -> Ticks {
        self.last_done = at.min(now()).max(host).max(self.last_done);
        self.last_done
    }
}

/// What the times of a device's events are taken by.
struct Place<'a> {
    device: &'static Device,
    base: EventHandle,
    map: &'a ClockMap,
    rate: Rate,
}

fn is_absurd(at: Ticks, host: Ticks, rate: Rate) -> bool {
    let jump = JUMP_NS / rate.timebase.ns_per_tick;
    host.since(at).0 as f64 > jump || at.since(now()).0 as f64 > jump
}

fn event_of(device: &Device, recorded: &Recorded, stream: u16, done: Ticks) -> Event {
    match recorded.mark {
        Mark::Boundary(stage) => Event::Boundary { stream, stage, host: recorded.host, done },
        Mark::Loss(kind, word) => {
            Event::Measured { metric: Metric::Loss, at: recorded.host, value: device.take_loss(kind, word) }
        }
    }
}

impl Bases {
    /// The newest base that has a place on the host's clock.
    fn newest(&self) -> Option<EventHandle> {
        self.events.zip(self.newest).filter(|_| self.map.is_known()).map(|(events, at)| events[at])
    }

    /// Records a base and looks for it a while; the one before stays when the device is too busy.
    fn rebase(&mut self, device: &Device, rate: Rate) -> Result<(), Fault> {
        let began = Instant::now();
        let is_first = !self.map.is_known();
        for _ in 0..MOST_TRIES {
            let found = self.rebase_once(device, rate)?;
            let is_wide = self.map.width_ns(rate).is_some_and(|width| width > WIDE_NS);
            if !(is_first && found && is_wide) || began.elapsed() > BASE_PATIENCE {
                break;
            }
        }
        Ok(())
    }

    fn rebase_once(&mut self, device: &Device, rate: Rate) -> Result<bool, Fault> {
        let driver = device.driver;
        let events = match self.events {
            Some(events) => events,
            None => *self.events.insert([driver.new_event()?, driver.new_event()?]),
        };
        if let Some(late) = self.late {
            if !driver.has_happened(events[late])? {
                return Ok(false);
            }
            // When it happened is known too badly to be of use.
            self.late = None;
        }
        let next = self.newest.map_or(0, |newest| 1 - newest);
        let Some(bracket) = self.bracket(device, events[next], rate, next)? else { return Ok(false) };
        let since = self.newest.map(|newest| driver.elapsed_ns(events[newest], events[next])).transpose()?;
        self.map.rebase(since, bracket, rate);
        self.newest = Some(next);
        Ok(true)
    }

    /// Between which two moments an event on the idle stream happened; `None` when it has not yet.
    fn bracket(
        &mut self,
        device: &Device,
        event: EventHandle,
        rate: Rate,
        number: usize,
    ) -> Result<Option<(Ticks, Ticks)>, Fault> {
        let began = Instant::now();
        let before = now();
        device.driver.record(event, device.private)?;
        self.late = Some(number);
        let mut not_yet = before;
        loop {
            let asked = now();
            if device.driver.has_happened(event)? {
                break;
            }
            not_yet = asked;
            let looked = began.elapsed();
            if looked > BASE_PATIENCE {
                return Ok(None);
            }
            if looked > BASE_EAGER {
                thread::sleep(Duration::from_micros(20));
            }
        }
        self.late = None;
        let seen_late = Ticks((SEEN_LATE_NS / rate.timebase.ns_per_tick) as u64);
        Ok(Some((before.max(not_yet.since(seen_late)), now())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(ticks: u64, monotonic_ns: u64, boot_ns: u64) -> Anchor {
        Anchor { ticks: Ticks(ticks), monotonic_ns, real_ns: 0, boot_ns }
    }

    #[test]
    fn a_tick_is_measured_over_the_last_seconds_and_not_across_a_suspend() {
        let mut measured = MeasuredRate::new(0.4001, anchor(0, 0, 0));
        let length = |measured: &MeasuredRate| measured.rate().timebase.ns_per_tick;
        measured.measure(&anchor(25_000_000, 10_000_000, 10_000_000));
        assert_eq!(length(&measured), 0.4001, "too short to tell");
        measured.measure(&anchor(250_000_000, 100_000_000, 100_000_000));
        assert_eq!(length(&measured), 0.4);
        // Asleep for a minute, in which the counter went on.
        let minute = 60_000_000_000;
        measured.measure(&anchor(500_000_000 + minute, 200_000_000, 200_000_000 + minute));
        assert_eq!(length(&measured), 0.4);
        measured.measure(&anchor(750_000_000 + minute, 300_000_000, 300_000_000 + minute));
        assert_eq!(length(&measured), 0.4);
        assert!(measured.rate().error < 1e-5);
    }
}
