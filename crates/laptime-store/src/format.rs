//! The log's bytes, version 5. This comment is the specification.
//!
//! Version 1 had no `import` records and no sized events, version 2 no `track` records, version 3 no `device`
//! and `layer` records and no `boundary` events, version 4 no `group` records and no `collective` events; everything
//! else is as it was.
//!
//! A process writes segments `LOG.SSSSSS.ltlog` (segment number from 1) into the run's directory. LOG is
//! `rank-RRRRR` for the process that made the run, `rank-RRRRR-PID-START-N` for one that joined it (process
//! id, its start in clock ticks since boot, which recorder of that process), and `supervisor` for the one
//! that started the command. Which role a process has is in its process record.
//! A segment is a sequence of **blocks** and nothing else; each segment begins with a block
//! that repeats what is needed to read it alone (process, stage names, threads, fits).
//!
//! ```text
//! block   offset size
//!         0      8    magic 89 4C 54 4C 4F 47 0D 0A ("\x89LTLOG\r\n")
//!         8      2    version, 5
//!         10     2    kind: 0 written by the process, 1 salvaged from its ring
//!         12     4    length of the payload in bytes, at most 65,536
//!         16     4    rank
//!         20     4    events in the payload
//!         24     8    block number within the process, from 0; a gap means lost blocks
//!         32     8    recorder clock when written, ticks
//!         40     8    wall clock when written, nanoseconds since 1970
//!         48     4    CRC32C of the payload
//!         52     4    CRC32C of bytes 0..52
//!         56     …    payload
//! ```
//! All integers are little-endian. The payload is a sequence of **records**: type (1 byte), length
//! (varint), that many bytes. Records never span blocks. Unknown types are skipped by their length.
//! A varint is LEB128; a delta is a zigzag varint to add to the value before it; text is a varint
//! length and UTF-8.
//!
//! ```text
//! type  name      content
//! 1     process   JSON of ProcessFacts
//! 2     stage     varint stage, text name
//! 3     thread    varint lane, varint started, text name
//! 4     fit       varint fit, JSON of FitFacts
//! 5     events    varint lane, varint number of the first event on that lane, varint count,
//!                 varint base time, then the events (below)
//! 6     state     varint lane, varint at, varint dropped,
//!                 varint count of open stages × (varint stage, varint start, varint children),
//!                 varint count of totals × (varint stage, varint own, varint count)
//! 7     sample    varint at, then (varint gauge, varint value) to the end
//! 8     anchor    varint ticks, varint monotonic ns, varint real ns, varint boot ns
//! 9     trouble   JSON of Trouble
//! 10    closed    varint at, JSON of Closing
//! 11    import    varint length in ticks, text name
//! 12    track     varint lane, varint kind, varint started, text name; a thread has a record of type 3
//! 13    device    varint lane, JSON of DeviceFacts
//! 14    layer     varint fit, JSON of LayerFacts
//! 15    group     varint group, JSON of GroupFacts
//! 32-47           reserved for coarsened history of long runs
//! ```
//! An event is a tag byte and its fields; `time` is a delta to the time before it in the same record
//! (at first the base time). Tags below 16 are closed. An event with a tag from 16 on says how long it is
//! (varint) before its fields, so that a reader passes over one it does not know; where that has a time, no
//! later event counts from it.
//!
//! ```text
//! tag   event         fields
//! 0     span          varint stage, time end, varint length, varint time of children
//! 1     span inside an evaluation, the same fields
//! 2     step          time end, varint length, varint samples
//! 3     step + loss   the same, then loss as 8 bytes f64
//! 4     fit begin     varint fit, time
//! 5     fit end       varint fit, time
//! 6     epoch begin   varint epoch, time
//! 7     epoch end     varint epoch, time
//! 8     total         varint stage, varint own, varint count
//! 9     count         varint counter, time, varint amount
//! 10    measured      varint metric, time, value as 8 bytes f64
//! 16    cut           time
//! 17    boundary      time done, host time as a delta to it, varint stage, varint stream
//! 18    collective    time end, start as a delta to it, varint group, kind (1 byte), varint sequence, varint bytes
//! ```
//! A short last block is how a growing file ends, not damage. A block whose header or payload fails its
//! CRC is skipped by searching for the next magic, and costs that block alone.

use laptime_core::{
    Anchor, Gauge, LaneState, OpenStage, Record, Sample, StageId, StageTotal, Ticks, Track, TrackKind,
};

use crate::bytes::{Bytes, put_text, put_varint};
use crate::events::{decode_events, encode_events};

/// The first bytes of every block.
pub(crate) const MAGIC: [u8; 8] = *b"\x89LTLOG\r\n";
/// The version this build writes, and the newest it reads.
pub const LOG_VERSION: u16 = 5;
/// Bytes before a block's payload.
pub(crate) const HEADER_BYTES: usize = 56;
/// The most a payload may have; checked before anything is believed.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 65_536;

mod kind {
    pub(super) const PROCESS: u8 = 1;
    pub(super) const STAGE: u8 = 2;
    pub(super) const THREAD: u8 = 3;
    pub(super) const FIT: u8 = 4;
    pub(super) const EVENTS: u8 = 5;
    pub(super) const STATE: u8 = 6;
    pub(super) const SAMPLE: u8 = 7;
    pub(super) const ANCHOR: u8 = 8;
    pub(super) const TROUBLE: u8 = 9;
    pub(super) const CLOSED: u8 = 10;
    pub(super) const IMPORT: u8 = 11;
    pub(super) const TRACK: u8 = 12;
    pub(super) const DEVICE: u8 = 13;
    pub(super) const LAYER: u8 = 14;
    pub(super) const GROUP: u8 = 15;
}

/// Events of one lane, numbered without a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LaneEvents {
    pub(crate) lane: u32,
    /// The number of the first one on its lane: what distinguishes a salvaged event from a logged one.
    pub(crate) first: u64,
    pub(crate) events: Vec<laptime_core::Event>,
}

/// What a record decodes to: one record, or many events at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decoded {
    Record(Record),
    Events(LaneEvents),
}

/// Appends one framed record; `None` for what is never stored (single events, `Ended`).
pub(crate) fn encode_record(out: &mut Vec<u8>, record: &Record) -> Option<()> {
    let mut body = Vec::new();
    let kind = match record {
        Record::Process(facts) => json(&mut body, facts).map(|()| kind::PROCESS)?,
        Record::Stage { stage, name } => {
            put_varint(&mut body, u64::from(stage.0));
            put_text(&mut body, name);
            kind::STAGE
        }
        Record::Track { lane, track, started } => {
            put_varint(&mut body, u64::from(*lane));
            let kind = if track.kind == TrackKind::Thread { kind::THREAD } else { kind::TRACK };
            if kind == kind::TRACK {
                put_varint(&mut body, track.kind as u64);
            }
            put_varint(&mut body, started.0);
            put_text(&mut body, &track.name);
            kind
        }
        Record::Device { lane, facts } => {
            put_varint(&mut body, u64::from(*lane));
            json(&mut body, facts).map(|()| kind::DEVICE)?
        }
        Record::Fit { fit, facts } => {
            put_varint(&mut body, u64::from(*fit));
            json(&mut body, facts).map(|()| kind::FIT)?
        }
        Record::Layer { fit, facts } => {
            put_varint(&mut body, u64::from(*fit));
            json(&mut body, facts).map(|()| kind::LAYER)?
        }
        Record::Group { group, facts } => {
            put_varint(&mut body, u64::from(*group));
            json(&mut body, facts).map(|()| kind::GROUP)?
        }
        Record::Import { name, length } => {
            put_varint(&mut body, length.0);
            put_text(&mut body, name);
            kind::IMPORT
        }
        Record::State(state) => {
            encode_state(&mut body, state);
            kind::STATE
        }
        Record::Sample(sample) => {
            encode_sample(&mut body, sample);
            kind::SAMPLE
        }
        Record::Anchor(anchor) => {
            for value in [anchor.ticks.0, anchor.monotonic_ns, anchor.real_ns, anchor.boot_ns] {
                put_varint(&mut body, value);
            }
            kind::ANCHOR
        }
        Record::Trouble(trouble) => json(&mut body, trouble).map(|()| kind::TROUBLE)?,
        Record::Closed { at, closing } => {
            put_varint(&mut body, at.0);
            json(&mut body, closing).map(|()| kind::CLOSED)?
        }
        Record::Event { .. } | Record::Ended { .. } => return None,
    };
    frame(out, kind, &body);
    Some(())
}

/// Appends the events of one lane as one framed record.
pub(crate) fn encode_lane_events(out: &mut Vec<u8>, events: &LaneEvents) {
    let mut body = Vec::with_capacity(16 + events.events.len() * 12);
    put_varint(&mut body, u64::from(events.lane));
    put_varint(&mut body, events.first);
    encode_events(&mut body, &events.events);
    frame(out, kind::EVENTS, &body);
}

pub(crate) fn frame(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    put_varint(out, body.len() as u64);
    out.extend_from_slice(body);
}

pub(crate) fn json(out: &mut Vec<u8>, value: &impl serde::Serialize) -> Option<()> {
    serde_json::to_writer(out, value).ok()
}

fn encode_state(out: &mut Vec<u8>, state: &LaneState) {
    put_varint(out, u64::from(state.lane));
    put_varint(out, state.at.0);
    put_varint(out, state.dropped);
    put_varint(out, state.open.len() as u64);
    for open in &state.open {
        put_varint(out, u64::from(open.stage.0));
        put_varint(out, open.start.0);
        put_varint(out, open.children.0);
    }
    put_varint(out, state.totals.len() as u64);
    for total in &state.totals {
        put_varint(out, u64::from(total.stage.0));
        put_varint(out, total.own.0);
        put_varint(out, total.count);
    }
}

fn encode_sample(out: &mut Vec<u8>, sample: &Sample) {
    put_varint(out, sample.at.0);
    for (gauge, value) in &sample.readings {
        put_varint(out, *gauge as u64);
        put_varint(out, *value);
    }
}

/// Gives every record of a payload that this build understands to `sink`.
pub(crate) fn decode_payload(payload: &[u8], sink: &mut dyn FnMut(Decoded)) {
    let mut bytes = Bytes::new(payload);
    while !bytes.is_empty() {
        let Some((kind, body)) = next_frame(&mut bytes) else { return };
        if let Some(decoded) = decode_record(kind, body) {
            sink(decoded);
        }
    }
}

pub(crate) fn next_frame<'a>(bytes: &mut Bytes<'a>) -> Option<(u8, &'a [u8])> {
    let kind = bytes.byte()?;
    let length = bytes.varint_as::<usize>()?;
    Some((kind, bytes.take(length)?))
}

fn decode_record(kind: u8, body: &[u8]) -> Option<Decoded> {
    let mut bytes = Bytes::new(body);
    let record = match kind {
        kind::PROCESS => Record::Process(serde_json::from_slice(body).ok()?),
        kind::STAGE => Record::Stage { stage: stage(&mut bytes)?, name: bytes.text()? },
        kind::THREAD => {
            let lane = bytes.varint_as()?;
            let started = Ticks(bytes.varint()?);
            Record::Track { lane, started, track: Track::thread(bytes.text()?) }
        }
        kind::TRACK => {
            let (lane, kind) = (bytes.varint_as()?, TrackKind::from_number(bytes.varint_as()?)?);
            let started = Ticks(bytes.varint()?);
            Record::Track { lane, started, track: Track { kind, name: bytes.text()? } }
        }
        kind::DEVICE => {
            let lane = bytes.varint_as()?;
            Record::Device { lane, facts: serde_json::from_slice(bytes.rest()).ok()? }
        }
        kind::FIT => {
            Record::Fit { fit: bytes.varint_as()?, facts: serde_json::from_slice(bytes.rest()).ok()? }
        }
        kind::LAYER => {
            Record::Layer { fit: bytes.varint_as()?, facts: serde_json::from_slice(bytes.rest()).ok()? }
        }
        kind::GROUP => {
            Record::Group { group: bytes.varint_as()?, facts: serde_json::from_slice(bytes.rest()).ok()? }
        }
        kind::IMPORT => {
            let length = Ticks(bytes.varint()?);
            Record::Import { length, name: bytes.text()? }
        }
        kind::EVENTS => return decode_lane_events(&mut bytes).map(Decoded::Events),
        kind::STATE => Record::State(decode_state(&mut bytes)?),
        kind::SAMPLE => Record::Sample(decode_sample(&mut bytes)?),
        kind::ANCHOR => Record::Anchor(Anchor {
            ticks: Ticks(bytes.varint()?),
            monotonic_ns: bytes.varint()?,
            real_ns: bytes.varint()?,
            boot_ns: bytes.varint()?,
        }),
        kind::TROUBLE => Record::Trouble(serde_json::from_slice(body).ok()?),
        kind::CLOSED => {
            let at = Ticks(bytes.varint()?);
            Record::Closed { at, closing: serde_json::from_slice(bytes.rest()).ok()? }
        }
        _ => return None,
    };
    Some(Decoded::Record(record))
}

fn stage(bytes: &mut Bytes<'_>) -> Option<StageId> {
    bytes.varint_as().map(StageId)
}

fn decode_lane_events(bytes: &mut Bytes<'_>) -> Option<LaneEvents> {
    let lane = bytes.varint_as()?;
    let first = bytes.varint()?;
    Some(LaneEvents { lane, first, events: decode_events(bytes)? })
}

fn decode_state(bytes: &mut Bytes<'_>) -> Option<LaneState> {
    let mut state =
        LaneState { lane: bytes.varint_as()?, at: Ticks(bytes.varint()?), ..LaneState::default() };
    state.dropped = bytes.varint()?;
    for _ in 0..bytes.varint()? {
        state.open.push(OpenStage {
            stage: stage(bytes)?,
            start: Ticks(bytes.varint()?),
            children: Ticks(bytes.varint()?),
        });
    }
    for _ in 0..bytes.varint()? {
        state.totals.push(StageTotal {
            stage: stage(bytes)?,
            own: Ticks(bytes.varint()?),
            count: bytes.varint()?,
        });
    }
    Some(state)
}

fn decode_sample(bytes: &mut Bytes<'_>) -> Option<Sample> {
    let mut sample = Sample { at: Ticks(bytes.varint()?), readings: Vec::new() };
    while !bytes.is_empty() {
        let number = bytes.varint()?;
        let value = bytes.varint()?;
        // A gauge of a newer version is passed over.
        if let Some(gauge) = u16::try_from(number).ok().and_then(Gauge::from_number) {
            sample.readings.push((gauge, value));
        }
    }
    Some(sample)
}
