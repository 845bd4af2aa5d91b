//! Tracks: the rows of a run as tracks of a trace, described when they are first met.
//!
//! The numbers of the fields are those of perfetto/protos/perfetto/trace.

use std::collections::HashMap;
use std::io::{self, Write};

use laptime_analyse::timeline::{Mark, Quantity, QuantityUnit, Row, Slice, Timeline, What};

use super::message::Message;

/// `Trace`.
const PACKET: u32 = 1;

/// `TracePacket`.
mod packet {
    pub(super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const INTERNED: u32 = 12;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
    /// Names of the sequence are forgotten; names of the sequence are used.
    pub(super) const CLEARED: u64 = 1;
    pub(super) const NEEDED: u64 = 2;
}

/// `TrackDescriptor`, with the parts of `ProcessDescriptor` and `CounterDescriptor`.
mod descriptor {
    pub(super) const UUID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const PROCESS: u32 = 3;
    pub(super) const PROCESS_PID: u32 = 1;
    pub(super) const PROCESS_NAME: u32 = 6;
    pub(super) const PARENT: u32 = 5;
    pub(super) const COUNTER: u32 = 8;
    pub(super) const COUNTER_UNIT: u32 = 3;
    pub(super) const COUNTER_UNIT_NAME: u32 = 6;
    pub(super) const ORDERING: u32 = 11;
    pub(super) const RANK: u32 = 12;
    /// The tracks of a process come as their ranks say.
    pub(super) const EXPLICIT: u64 = 3;
    pub(super) const UNIT_TIME_NS: u64 = 1;
    pub(super) const UNIT_COUNT: u64 = 2;
    pub(super) const UNIT_BYTES: u64 = 3;
}

/// `TrackEvent`.
mod event {
    pub(super) const TYPE: u32 = 9;
    pub(super) const NAME_ID: u32 = 10;
    pub(super) const TRACK: u32 = 11;
    pub(super) const NAME: u32 = 23;
    pub(super) const DOUBLE: u32 = 44;
    pub(super) const BEGIN: u64 = 1;
    pub(super) const END: u64 = 2;
    pub(super) const COUNTER: u64 = 4;
}

/// `BuiltinClock`: what the times of packets are by, and the wall clock.
const CLOCK_BOOT: u64 = 6;
const CLOCK_REAL: u64 = 1;

/// All packets are of one writer.
const SEQUENCE: u64 = 1;
/// What stands for the process id of a process that shares it with one of another machine; no system gives ids so high.
const FIRST_FREE_PID: u64 = 1 << 24;

/// A trace that is being written.
pub(super) struct Tracks<'a> {
    timeline: &'a Timeline<'a>,
    out: &'a mut dyn Write,
    packet: Message,
    room: [Message; 2],
    rows: HashMap<(usize, Row), u64>,
    /// Names that packets only have the numbers of.
    names: HashMap<(usize, Slice), u64>,
    processes: u64,
}

impl<'a> Tracks<'a> {
    /// Begins a trace with the clocks and the processes.
    pub(super) fn begin(timeline: &'a Timeline<'a>, out: &'a mut dyn Write) -> io::Result<Self> {
        let processes = timeline.processes();
        let mut tracks = Self {
            timeline,
            out,
            packet: Message::default(),
            room: Default::default(),
            rows: HashMap::new(),
            names: HashMap::new(),
            processes: processes.len() as u64,
        };
        tracks.clocks()?;
        let mut taken = HashMap::new();
        for (log, process) in processes.iter().enumerate() {
            let known = taken.insert(process.pid, log).is_some();
            let pid = if known { FIRST_FREE_PID + log as u64 } else { u64::from(process.pid) };
            let name = match &process.host {
                Some(host) => format!("{} on {host}", process.name),
                None => process.name.clone(),
            };
            tracks.describe(&|track| {
                track.number(descriptor::UUID, process_track(log));
                track.message(descriptor::PROCESS, |process| {
                    process.number(descriptor::PROCESS_PID, pid).text(descriptor::PROCESS_NAME, &name);
                });
                track.number(descriptor::ORDERING, descriptor::EXPLICIT);
            })?;
        }
        Ok(tracks)
    }

    /// Writes one mark.
    pub(super) fn put(&mut self, mark: &Mark) -> io::Result<()> {
        let track = self.track(mark.log, mark.row)?;
        let Mark { log, at_ns, what, .. } = *mark;
        let name = match what {
            What::Begin(slice) => Some(self.name(log, slice)?),
            What::End | What::Amount(_) => None,
        };
        self.write(Some(at_ns), packet::TRACK_EVENT, &|message| {
            message.number(event::TRACK, track);
            match (&name, what) {
                (Some(Name::Kept(id)), _) => {
                    message.number(event::TYPE, event::BEGIN).number(event::NAME_ID, *id)
                }
                (Some(Name::Once(name)), _) => {
                    message.number(event::TYPE, event::BEGIN).text(event::NAME, name)
                }
                (None, What::Amount(amount)) => {
                    message.number(event::TYPE, event::COUNTER).double(event::DOUBLE, amount)
                }
                (None, _) => message.number(event::TYPE, event::END),
            };
        })
    }

    /// What the wall clock showed at the run's begin.
    fn clocks(&mut self) -> io::Result<()> {
        let begin = self.timeline.origin_unix_ns();
        self.write(Some(0), packet::CLOCK_SNAPSHOT, &|snapshot| {
            for (clock, at) in [(CLOCK_BOOT, 0), (CLOCK_REAL, begin)] {
                snapshot.message(1, |read| {
                    read.number(1, clock).number(2, at);
                });
            }
        })
    }

    /// The track of a row; described before it is used.
    fn track(&mut self, log: usize, row: Row) -> io::Result<u64> {
        if let Some(track) = self.rows.get(&(log, row)) {
            return Ok(*track);
        }
        let track = self.processes + 1 + self.rows.len() as u64;
        self.rows.insert((log, row), track);
        let name = self.timeline.row_name(log, row);
        self.describe(&|message| {
            message.number(descriptor::UUID, track).text(descriptor::NAME, &name);
            message.number(descriptor::PARENT, process_track(log)).number(descriptor::RANK, rank(row));
            if let Row::Amount(quantity) = row {
                message.message(descriptor::COUNTER, |counter| unit(quantity, counter));
            }
        })?;
        Ok(track)
    }

    /// The name of a slice; one that is used often has a number, which is written before it is used.
    fn name(&mut self, log: usize, slice: Slice) -> io::Result<Name> {
        if matches!(slice, Slice::Step(_) | Slice::Epoch(_)) {
            return Ok(Name::Once(self.timeline.slice_name(log, slice)));
        }
        if let Some(id) = self.names.get(&(log, slice)) {
            return Ok(Name::Kept(*id));
        }
        let id = 1 + self.names.len() as u64;
        self.names.insert((log, slice), id);
        let name = self.timeline.slice_name(log, slice);
        // InternedData.event_names, EventName.iid and name.
        self.write(None, packet::INTERNED, &|interned| {
            interned.message(2, |entry| {
                entry.number(1, id).text(2, &name);
            });
        })?;
        Ok(Name::Kept(id))
    }

    fn describe(&mut self, fill: &dyn Fn(&mut Message)) -> io::Result<()> {
        self.write(None, packet::TRACK_DESCRIPTOR, fill)
    }

    /// Writes a packet that holds one message.
    fn write(&mut self, at_ns: Option<u64>, field: u32, fill: &dyn Fn(&mut Message)) -> io::Result<()> {
        let [body, inner] = &mut self.room;
        let flags = if field == packet::CLOCK_SNAPSHOT { packet::CLEARED } else { packet::NEEDED };
        self.packet.0.clear();
        self.packet.message_in(PACKET, body, |message| {
            if let Some(at) = at_ns {
                message.number(packet::TIMESTAMP, at);
            }
            message.message_in(field, inner, fill);
            message.number(packet::SEQUENCE, SEQUENCE).number(packet::SEQUENCE_FLAGS, flags);
        });
        self.out.write_all(&self.packet.0)
    }
}

/// The name of a slice in a trace.
enum Name {
    /// Kept by the trace under a number.
    Kept(u64),
    /// Used once.
    Once(String),
}

/// The track of a process; 0 stands for the whole trace.
fn process_track(log: usize) -> u64 {
    log as u64 + 1
}

/// From the coarse to the fine, amounts last.
fn rank(row: Row) -> u64 {
    match row {
        Row::Fits { .. } => 0,
        Row::Epochs { .. } => 1,
        Row::Steps { .. } => 2,
        Row::Stages { .. } => 3,
        Row::Stream { .. } => 4,
        Row::Group { .. } => 5,
        Row::Amount(_) => 6,
    }
}

fn unit(quantity: Quantity, counter: &mut Message) {
    let named = |counter: &mut Message, name: &str| {
        counter.text(descriptor::COUNTER_UNIT_NAME, name);
    };
    let known = |counter: &mut Message, unit: u64| {
        counter.number(descriptor::COUNTER_UNIT, unit);
    };
    match quantity.unit() {
        QuantityUnit::Bytes => known(counter, descriptor::UNIT_BYTES),
        QuantityUnit::Nanoseconds => known(counter, descriptor::UNIT_TIME_NS),
        QuantityUnit::Count => known(counter, descriptor::UNIT_COUNT),
        QuantityUnit::BytesPerSecond => named(counter, "B/s"),
        QuantityUnit::Share => named(counter, "of 1"),
        QuantityUnit::Watts => named(counter, "W"),
        QuantityUnit::Celsius => named(counter, "°C"),
    }
}
