//! The flusher: moves what the lanes hold into the log, reads the probes, and closes the log at the end.

use std::path::PathBuf;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;
use std::time::{Duration, Instant};

use laptime_core::{Anchor, Closing, LaneState, Record, Trouble};
use laptime_store::LogWriter;

use crate::active::Shared;
use crate::clock::Clock;
use crate::device::DeviceReader;
use crate::lane::Lane;
use crate::probe::Probes;
use crate::stage::stage_names_from;

/// Anchors in the log, so that steps of the wall clock and suspends show.
const ANCHOR_EVERY_NS: u64 = 10_000_000_000;
/// Readings of the probes.
const SAMPLE_EVERY_NS: u64 = 1_000_000_000;
/// How much a power cut may cost.
const SYNC_EVERY_NS: u64 = 5_000_000_000;

/// How long the end waits for what a device was given.
const DEVICE_PATIENCE: Duration = Duration::from_secs(1);
/// How often it looks meanwhile.
const DEVICE_LOOK: Duration = Duration::from_millis(2);

/// Drains lanes into a log. [`Flusher::tick`] does one round, so that tests need no thread and no sleep.
pub(crate) struct Flusher {
    shared: &'static Shared,
    writer: LogWriter,
    clock: Box<dyn Clock>,
    probes: Probes,
    devices: DeviceReader,
    ring: Option<PathBuf>,
    names_written: usize,
    threads_written: u64,
    anchor_due_ns: u64,
    sample_due_ns: u64,
    sync_due_ns: u64,
    /// Events and spans of lanes that were freed.
    spans_of_ended: u64,
}

impl Flusher {
    pub(crate) fn new(
        shared: &'static Shared,
        writer: LogWriter,
        clock: Box<dyn Clock>,
        probes: Probes,
        ring: Option<PathBuf>,
    ) -> Self {
        let sync_due_ns = clock.anchor().monotonic_ns + SYNC_EVERY_NS;
        Self {
            shared,
            writer,
            clock,
            probes,
            devices: DeviceReader::new(shared),
            ring,
            names_written: 0,
            threads_written: 0,
            anchor_due_ns: 0,
            sample_due_ns: 0,
            sync_due_ns,
            spans_of_ended: 0,
        }
    }

    /// Puts on disk who records, before the first event.
    pub(crate) fn write_head(&mut self) {
        let now = self.clock.anchor();
        self.shared.header.put_anchor(&now);
        self.write_names_and_notes();
        self.writer.flush(&now);
    }

    /// One round: lanes, and what is due.
    pub(crate) fn tick(&mut self) {
        self.read_devices();
        let now = self.clock.anchor();
        self.shared.header.put_anchor(&now);
        let drained = self.drain(&now);
        if now.monotonic_ns >= self.anchor_due_ns {
            self.anchor_due_ns = now.monotonic_ns + ANCHOR_EVERY_NS;
            self.writer.put(&Record::Anchor(now));
        }
        if now.monotonic_ns >= self.sample_due_ns {
            self.sample_due_ns = now.monotonic_ns + SAMPLE_EVERY_NS;
            self.writer.put(&Record::Sample(self.probes.sample(now.ticks)));
        }
        self.writer.flush(&now);
        // Only now may the places be used again: until here a kill would have found them in the ring.
        for (lane, tail) in drained {
            lane.0.tail.store(tail, Release);
        }
        if now.monotonic_ns >= self.sync_due_ns {
            self.sync_due_ns = now.monotonic_ns + SYNC_EVERY_NS;
            self.writer.sync();
        }
        self.free_ended();
    }

    /// Puts on the devices' lanes what they have done since.
    fn read_devices(&mut self) {
        if !self.devices.is_needed() {
            return;
        }
        let now = self.clock.anchor();
        for (lane, events) in self.devices.poll(&now) {
            for event in events {
                if lane.is_full() {
                    self.make_room(lane, &now);
                }
                // This thread drains the lane: it need not be woken.
                let _ = lane.push_event(&event);
            }
        }
    }

    /// Drains a lane that this thread itself fills.
    fn make_room(&mut self, lane: Lane, now: &Anchor) {
        self.write_names_and_notes();
        let tail = self.drain_lane(lane, lane.0.head.load(Acquire), now);
        self.writer.flush(now);
        lane.0.tail.store(tail, Release);
    }

    /// Reads what the devices were given to the end, unless that takes too long or the driver reports errors.
    fn finish_devices(&mut self) {
        if !self.devices.is_needed() {
            return;
        }
        self.devices.take_no_more();
        let began = Instant::now();
        loop {
            let faults = self.devices.faults();
            self.read_devices();
            let is_healthy = faults == self.devices.faults();
            if !is_healthy || !self.devices.waits() || began.elapsed() > DEVICE_PATIENCE {
                break;
            }
            thread::sleep(DEVICE_LOOK);
        }
        self.devices.give_up();
    }

    /// Puts everything new into the writer; says how far each lane was read.
    fn drain(&mut self, now: &Anchor) -> Vec<(Lane, u64)> {
        let lanes: Vec<Lane> = {
            let lanes = self.shared.lanes();
            lanes.used.iter().chain(&lanes.ended).copied().collect()
        };
        // Heads first, names after: a stage is named before its first event can be on a lane.
        let heads: Vec<u64> = lanes.iter().map(|lane| lane.0.head.load(Acquire)).collect();
        self.write_names_and_notes();
        lanes.into_iter().zip(heads).map(|(lane, head)| (lane, self.drain_lane(lane, head, now))).collect()
    }

    fn write_names_and_notes(&mut self) {
        for (stage, name) in stage_names_from(self.names_written) {
            self.names_written += 1;
            self.writer.put(&Record::Stage { stage, name });
        }
        for note in self.shared.take_notes() {
            self.writer.put(&note);
        }
        let threads = self.shared.threads_not_recorded();
        if threads > self.threads_written {
            self.threads_written = threads;
            self.writer.put(&Record::Trouble(Trouble::ThreadsNotRecorded { threads }));
        }
    }

    fn drain_lane(&mut self, lane: Lane, head: u64, now: &Anchor) -> u64 {
        let Some(number) = lane.0.number() else { return head };
        let tail = lane.0.tail.load(Acquire);
        if head > tail {
            let (first, mut events) = lane.0.events_from(tail);
            events.truncate(usize::try_from(head.saturating_sub(first)).unwrap_or(0));
            self.writer.put_events(number, first, &events);
        }
        self.writer.put(&Record::State(lane.0.state(now.ticks)));
        head
    }

    /// Frees lanes whose thread has ended and whose events are all in the log.
    fn free_ended(&mut self) {
        let drained: Vec<Lane> = {
            let mut lanes = self.shared.lanes();
            let is_drained = |lane: &Lane| lane.0.head.load(Acquire) == lane.0.tail.load(Acquire);
            let drained = lanes.ended.iter().copied().filter(is_drained).collect();
            lanes.ended.retain(|lane| !is_drained(lane));
            drained
        };
        for lane in drained {
            self.spans_of_ended += spans(&lane.0.state(laptime_core::Ticks(0)));
            self.shared.free(lane);
        }
    }

    /// The last round: every lane to its end, the last readings, and how it ended.
    pub(crate) fn close(mut self, closing: Closing) -> LogWriter {
        self.finish_devices();
        self.tick();
        let now = self.clock.anchor();
        let drained = self.drain(&now);
        self.writer.put(&Record::Sample(self.probes.sample(now.ticks)));
        self.writer.put(&Record::Anchor(now));
        let open: u64 = drained.iter().map(|(lane, _)| spans(&lane.0.state(now.ticks))).sum();
        let closing = Closing { spans: self.spans_of_ended + open, ..closing };
        self.writer.flush(&now);
        if let Some(trouble) = self.writer.trouble() {
            self.writer.put(&Record::Trouble(trouble));
        }
        self.writer.put(&Record::Closed { at: now.ticks, closing });
        self.writer.flush(&now);
        self.writer.sync();
        if let Some(ring) = &self.ring {
            // A ring that cannot be removed now is removed by the next laptime command.
            let _ = std::fs::remove_file(ring);
        }
        self.writer
    }
}

fn spans(state: &LaneState) -> u64 {
    state.totals.iter().map(|total| total.count).sum()
}
