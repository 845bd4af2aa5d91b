//! The bytes of a profile, version 1. This comment is the specification.
//!
//! A profile is the file `profile-RRRRR.ltprof` (the rank of the command) in the run's folder. It is a
//! sequence of the same **blocks** as a log has (`format.rs`), each with its checksums; what ends short or is
//! damaged costs that block alone. The payload is a sequence of records: type (1 byte), length (varint),
//! that many bytes. Unknown types are skipped by their length.
//!
//! ```text
//! type  name      content
//! 1     began     JSON of ProfileFacts
//! 2     process   varint process, varint pid, varint start of the process, text runtime
//! 3     thread    varint thread, varint process, varint thread id, varint lane + 1 (0: records nothing)
//! 4     function  varint function, varint line, text name, text file
//! 5     node      varint node, varint caller + 1 (0: outermost), varint function
//! 6     seen      varint thread, varint stage + 1 (0: none), varint 1 where it waits else 0,
//!                 varint node, varint samples, varint microseconds
//! 7     cost      varint wall ns, varint CPU ns, varint samples, varint unread, varint rate mHz
//! 8     trouble   JSON of ProfileTrouble
//! ```

use laptime_core::{
    CallNode, ProfileCost, ProfileRecord, SampledFunction, SampledProcess, SampledThread, Sighting, StageId,
};

use crate::bytes::{Bytes, put_text, put_varint};
use crate::format::{frame, json, next_frame};

mod kind {
    pub(super) const BEGAN: u8 = 1;
    pub(super) const PROCESS: u8 = 2;
    pub(super) const THREAD: u8 = 3;
    pub(super) const FUNCTION: u8 = 4;
    pub(super) const NODE: u8 = 5;
    pub(super) const SEEN: u8 = 6;
    pub(super) const COST: u8 = 7;
    pub(super) const TROUBLE: u8 = 8;
}

/// Appends one framed record.
pub(crate) fn encode(out: &mut Vec<u8>, record: &ProfileRecord) {
    let mut body = Vec::new();
    let kind = match record {
        ProfileRecord::Began(facts) => json(&mut body, facts).map(|()| kind::BEGAN),
        ProfileRecord::Process(process) => {
            put_all(&mut body, &[process.process.into(), process.pid.into(), process.pid_start]);
            put_text(&mut body, &process.runtime);
            Some(kind::PROCESS)
        }
        ProfileRecord::Thread(thread) => {
            let lane = optional(thread.lane.map(u64::from));
            put_all(&mut body, &[thread.thread.into(), thread.process.into(), thread.tid.into(), lane]);
            Some(kind::THREAD)
        }
        ProfileRecord::Function(function) => {
            put_all(&mut body, &[function.function.into(), function.line.into()]);
            put_text(&mut body, &function.name);
            put_text(&mut body, &function.file);
            Some(kind::FUNCTION)
        }
        ProfileRecord::Node(node) => {
            let caller = optional(node.caller.map(u64::from));
            put_all(&mut body, &[node.node.into(), caller, node.function.into()]);
            Some(kind::NODE)
        }
        ProfileRecord::Seen(seen) => {
            let stage = optional(seen.stage.map(|stage| u64::from(stage.0)));
            let waiting = u64::from(seen.waiting);
            let values = [seen.thread.into(), stage, waiting, seen.node.into(), seen.samples, seen.micros];
            put_all(&mut body, &values);
            Some(kind::SEEN)
        }
        ProfileRecord::Cost(cost) => {
            put_all(&mut body, &[cost.wall_ns, cost.cpu_ns, cost.samples, cost.unread, cost.rate_mhz]);
            Some(kind::COST)
        }
        ProfileRecord::Trouble(trouble) => json(&mut body, trouble).map(|()| kind::TROUBLE),
    };
    if let Some(kind) = kind {
        frame(out, kind, &body);
    }
}

fn put_all(out: &mut Vec<u8>, values: &[u64]) {
    values.iter().for_each(|value| put_varint(out, *value));
}

/// A number that may be missing, moved up by one.
fn optional(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value.saturating_add(1))
}

/// Gives every record of a payload that this build understands to `sink`.
pub(crate) fn decode(payload: &[u8], sink: &mut dyn FnMut(ProfileRecord)) {
    let mut bytes = Bytes::new(payload);
    while !bytes.is_empty() {
        let Some((kind, body)) = next_frame(&mut bytes) else { return };
        if let Some(record) = decode_record(kind, body) {
            sink(record);
        }
    }
}

fn decode_record(kind: u8, body: &[u8]) -> Option<ProfileRecord> {
    let mut bytes = Bytes::new(body);
    Some(match kind {
        kind::BEGAN => ProfileRecord::Began(serde_json::from_slice(body).ok()?),
        kind::PROCESS => ProfileRecord::Process(SampledProcess {
            process: bytes.varint_as()?,
            pid: bytes.varint_as()?,
            pid_start: bytes.varint()?,
            runtime: bytes.text()?,
        }),
        kind::THREAD => ProfileRecord::Thread(SampledThread {
            thread: bytes.varint_as()?,
            process: bytes.varint_as()?,
            tid: bytes.varint_as()?,
            lane: maybe(&mut bytes)?,
        }),
        kind::FUNCTION => {
            let (function, line) = (bytes.varint_as()?, bytes.varint_as()?);
            ProfileRecord::Function(SampledFunction {
                function,
                line,
                name: bytes.text()?,
                file: bytes.text()?,
            })
        }
        kind::NODE => ProfileRecord::Node(CallNode {
            node: bytes.varint_as()?,
            caller: maybe(&mut bytes)?,
            function: bytes.varint_as()?,
        }),
        kind::SEEN => ProfileRecord::Seen(Sighting {
            thread: bytes.varint_as()?,
            stage: maybe(&mut bytes)?.map(StageId),
            waiting: bytes.varint()? == 1,
            node: bytes.varint_as()?,
            samples: bytes.varint()?,
            micros: bytes.varint()?,
        }),
        kind::COST => ProfileRecord::Cost(ProfileCost {
            wall_ns: bytes.varint()?,
            cpu_ns: bytes.varint()?,
            samples: bytes.varint()?,
            unread: bytes.varint()?,
            rate_mhz: bytes.varint()?,
        }),
        kind::TROUBLE => ProfileRecord::Trouble(serde_json::from_slice(body).ok()?),
        _ => return None,
    })
}

/// A number that may be missing; `None` outside means malformed.
fn maybe<T: TryFrom<u64>>(bytes: &mut Bytes<'_>) -> Option<Option<T>> {
    match bytes.varint()?.checked_sub(1) {
        None => Some(None),
        Some(value) => T::try_from(value).ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_behind_a_good_checksum_are_read_without_a_panic(
            payload in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            decode(&payload, &mut |record| {
                let mut again = Vec::new();
                encode(&mut again, &record);
            });
        }
    }
}
