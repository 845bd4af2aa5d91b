//! Events as bytes: the inside of an `events` record, see `format.rs`.

use laptime_core::{CollectiveKind, Counter, Event, Metric, StageId, StageTotal, Ticks};

use crate::bytes::{Bytes, put_delta, put_varint};

mod tag {
    pub(super) const SPAN: u8 = 0;
    pub(super) const SPAN_IN_EVALUATE: u8 = 1;
    pub(super) const STEP: u8 = 2;
    pub(super) const STEP_WITH_LOSS: u8 = 3;
    pub(super) const FIT_BEGIN: u8 = 4;
    pub(super) const FIT_END: u8 = 5;
    pub(super) const EPOCH_BEGIN: u8 = 6;
    pub(super) const EPOCH_END: u8 = 7;
    pub(super) const TOTAL: u8 = 8;
    pub(super) const COUNT: u8 = 9;
    pub(super) const MEASURED: u8 = 10;
    /// From here on an event says how long it is, so that a reader can pass over those it does not know.
    pub(super) const FIRST_SIZED: u8 = 16;
    pub(super) const CUT: u8 = 16;
    pub(super) const BOUNDARY: u8 = 17;
    pub(super) const COLLECTIVE: u8 = 18;
}

/// Appends the count, the base time and the events.
pub(crate) fn encode_events(out: &mut Vec<u8>, events: &[Event]) {
    put_varint(out, events.len() as u64);
    let mut time = events.iter().find_map(Event::instant).map_or(0, |at| at.0);
    put_varint(out, time);
    for event in events {
        encode_event(out, event, &mut time);
    }
}

fn encode_event(out: &mut Vec<u8>, event: &Event, time: &mut u64) {
    match *event {
        Event::Span { stage, start, end, own, in_evaluate } => {
            out.push(if in_evaluate { tag::SPAN_IN_EVALUATE } else { tag::SPAN });
            put_varint(out, u64::from(stage.0));
            put_time(out, time, end);
            let length = end.since(start);
            put_varint(out, length.0);
            put_varint(out, length.since(own).0);
        }
        Event::Step { start, end, samples, loss } => {
            out.push(if loss.is_some() { tag::STEP_WITH_LOSS } else { tag::STEP });
            put_time(out, time, end);
            put_varint(out, end.since(start).0);
            put_varint(out, u64::from(samples));
            if let Some(loss) = loss {
                out.extend_from_slice(&loss.to_le_bytes());
            }
        }
        Event::FitBegin { fit, at } => put_mark(out, time, tag::FIT_BEGIN, fit, at),
        Event::FitEnd { fit, at } => put_mark(out, time, tag::FIT_END, fit, at),
        Event::EpochBegin { epoch, at } => put_mark(out, time, tag::EPOCH_BEGIN, epoch, at),
        Event::EpochEnd { epoch, at } => put_mark(out, time, tag::EPOCH_END, epoch, at),
        Event::Cut { at } => put_sized(out, tag::CUT, |fields| put_delta(fields, *time, at.0)),
        Event::Boundary { stream, stage, host, done } => put_sized(out, tag::BOUNDARY, |fields| {
            put_delta(fields, *time, done.0);
            put_delta(fields, done.0, host.0);
            put_varint(fields, u64::from(stage.0));
            put_varint(fields, u64::from(stream));
        }),
        Event::Collective { group, kind, sequence, start, end, bytes } => {
            put_sized(out, tag::COLLECTIVE, |fields| {
                put_delta(fields, *time, end.0);
                put_delta(fields, end.0, start.0);
                put_varint(fields, u64::from(group));
                fields.push(kind as u8);
                put_varint(fields, u64::from(sequence));
                put_varint(fields, bytes);
            });
        }
        Event::Total(total) => {
            out.push(tag::TOTAL);
            put_varint(out, u64::from(total.stage.0));
            put_varint(out, total.own.0);
            put_varint(out, total.count);
        }
        Event::Count { counter, at, amount } => {
            put_mark(out, time, tag::COUNT, counter as u32, at);
            put_varint(out, amount);
        }
        Event::Measured { metric, at, value } => {
            put_mark(out, time, tag::MEASURED, metric as u32, at);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

fn put_mark(out: &mut Vec<u8>, time: &mut u64, tag: u8, number: u32, at: Ticks) {
    out.push(tag);
    put_varint(out, u64::from(number));
    put_time(out, time, at);
}

fn put_sized(out: &mut Vec<u8>, tag: u8, put_fields: impl FnOnce(&mut Vec<u8>)) {
    let mut fields = Vec::new();
    put_fields(&mut fields);
    out.push(tag);
    put_varint(out, fields.len() as u64);
    out.extend_from_slice(&fields);
}

fn put_time(out: &mut Vec<u8>, time: &mut u64, at: Ticks) {
    put_delta(out, *time, at.0);
    *time = at.0;
}

/// Reads what [`encode_events`] wrote; `None` when it is malformed.
pub(crate) fn decode_events(bytes: &mut Bytes<'_>) -> Option<Vec<Event>> {
    let count = bytes.varint_as::<usize>()?;
    let mut time = bytes.varint()?;
    // An event takes at least two bytes: a count that claims more than there is must not allocate.
    let mut events = Vec::with_capacity(count.min(bytes.rest().len() / 2));
    for _ in 0..count {
        match decode_event(bytes, &mut time)? {
            Some(event) => events.push(event),
            None => continue,
        }
    }
    Some(events)
}

/// One event; `Some(None)` for a counter, metric or sized event of a newer version.
fn decode_event(bytes: &mut Bytes<'_>, time: &mut u64) -> Option<Option<Event>> {
    let event = match bytes.byte()? {
        tag @ (tag::SPAN | tag::SPAN_IN_EVALUATE) => {
            let stage = StageId(bytes.varint_as()?);
            let (start, end) = stretch(bytes, time)?;
            let own = end.since(start).since(Ticks(bytes.varint()?));
            Event::Span { stage, start, end, own, in_evaluate: tag == tag::SPAN_IN_EVALUATE }
        }
        tag @ (tag::STEP | tag::STEP_WITH_LOSS) => {
            let (start, end) = stretch(bytes, time)?;
            let samples = bytes.varint_as()?;
            let loss = if tag == tag::STEP_WITH_LOSS { Some(bytes.f64()?) } else { None };
            Event::Step { start, end, samples, loss }
        }
        tag::FIT_BEGIN => Event::FitBegin { fit: bytes.varint_as()?, at: moment(bytes, time)? },
        tag::FIT_END => Event::FitEnd { fit: bytes.varint_as()?, at: moment(bytes, time)? },
        tag::EPOCH_BEGIN => Event::EpochBegin { epoch: bytes.varint_as()?, at: moment(bytes, time)? },
        tag::EPOCH_END => Event::EpochEnd { epoch: bytes.varint_as()?, at: moment(bytes, time)? },
        tag::TOTAL => Event::Total(StageTotal {
            stage: StageId(bytes.varint_as()?),
            own: Ticks(bytes.varint()?),
            count: bytes.varint()?,
        }),
        tag::COUNT => {
            let counter = Counter::from_number(bytes.varint_as()?);
            let at = moment(bytes, time)?;
            let amount = bytes.varint()?;
            return Some(counter.map(|counter| Event::Count { counter, at, amount }));
        }
        tag::MEASURED => {
            let metric = Metric::from_number(bytes.varint_as()?);
            let at = moment(bytes, time)?;
            let value = bytes.f64()?;
            return Some(metric.map(|metric| Event::Measured { metric, at, value }));
        }
        tag if tag >= tag::FIRST_SIZED => return decode_sized(tag, bytes, *time),
        _ => return None,
    };
    Some(Some(event))
}

fn decode_sized(tag: u8, bytes: &mut Bytes<'_>, time: u64) -> Option<Option<Event>> {
    let length = bytes.varint_as::<usize>()?;
    let mut fields = Bytes::new(bytes.take(length)?);
    Some(match tag {
        // The time of an event that others pass over must not move theirs.
        tag::CUT => Some(Event::Cut { at: Ticks(fields.delta(time)?) }),
        tag::BOUNDARY => {
            let done = fields.delta(time)?;
            Some(Event::Boundary {
                host: Ticks(fields.delta(done)?),
                done: Ticks(done),
                stage: StageId(fields.varint_as()?),
                stream: fields.varint_as()?,
            })
        }
        tag::COLLECTIVE => {
            let end = fields.delta(time)?;
            Some(Event::Collective {
                start: Ticks(fields.delta(end)?),
                end: Ticks(end),
                group: fields.varint_as()?,
                kind: CollectiveKind::from_number(fields.byte()?),
                sequence: fields.varint_as()?,
                bytes: fields.varint()?,
            })
        }
        _ => None,
    })
}

fn moment(bytes: &mut Bytes<'_>, time: &mut u64) -> Option<Ticks> {
    *time = bytes.delta(*time)?;
    Some(Ticks(*time))
}

fn stretch(bytes: &mut Bytes<'_>, time: &mut u64) -> Option<(Ticks, Ticks)> {
    let end = moment(bytes, time)?;
    let length = bytes.varint()?;
    Some((Ticks(end.0.saturating_sub(length)), end))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn any_event() -> impl Strategy<Value = Event> {
        let time = 0..1_u64 << 62;
        let stretch = (time.clone(), 0..1_u64 << 40, any::<u64>());
        prop_oneof![
            (any::<u16>(), stretch.clone(), any::<bool>()).prop_map(
                |(stage, (start, length, share), in_evaluate)| Event::Span {
                    stage: StageId(stage),
                    start: Ticks(start),
                    end: Ticks(start + length),
                    own: Ticks(share % (length + 1)),
                    in_evaluate,
                }
            ),
            (stretch, any::<u32>(), prop::option::of(-1e30..1e30)).prop_map(
                |((start, length, _), samples, loss)| Event::Step {
                    start: Ticks(start),
                    end: Ticks(start + length),
                    samples,
                    loss
                }
            ),
            (any::<u32>(), time.clone()).prop_map(|(fit, at)| Event::FitBegin { fit, at: Ticks(at) }),
            (any::<u32>(), time.clone()).prop_map(|(fit, at)| Event::FitEnd { fit, at: Ticks(at) }),
            (any::<u32>(), time.clone()).prop_map(|(epoch, at)| Event::EpochBegin { epoch, at: Ticks(at) }),
            (any::<u32>(), time.clone()).prop_map(|(epoch, at)| Event::EpochEnd { epoch, at: Ticks(at) }),
            (any::<u16>(), any::<u64>(), any::<u64>()).prop_map(|(stage, own, count)| Event::Total(
                StageTotal { stage: StageId(stage), own: Ticks(own), count }
            )),
            time.clone().prop_map(|at| Event::Cut { at: Ticks(at) }),
            (any::<u16>(), any::<u16>(), time.clone(), time.clone()).prop_map(
                |(stream, stage, host, done)| Event::Boundary {
                    stream,
                    stage: StageId(stage),
                    host: Ticks(host),
                    done: Ticks(done),
                }
            ),
            ((any::<u16>(), any::<u32>(), 0..12_u8), time.clone(), time.clone(), any::<u64>()).prop_map(
                |((group, sequence, kind), start, end, bytes)| Event::Collective {
                    group,
                    kind: CollectiveKind::from_number(kind),
                    sequence,
                    start: Ticks(start),
                    end: Ticks(end),
                    bytes,
                }
            ),
            (0..8_u16, time.clone(), any::<u64>()).prop_map(|(number, at, amount)| Event::Count {
                counter: Counter::from_number(number).unwrap(),
                at: Ticks(at),
                amount
            }),
            (0..4_u16, time, -1e300..1e300).prop_map(|(number, at, value)| Event::Measured {
                metric: Metric::from_number(number).unwrap(),
                at: Ticks(at),
                value
            }),
        ]
    }

    proptest! {
        #[test]
        fn events_come_back_as_they_were_put(events in prop::collection::vec(any_event(), 0..60)) {
            let mut out = Vec::new();
            encode_events(&mut out, &events);
            let mut bytes = Bytes::new(&out);
            prop_assert_eq!(decode_events(&mut bytes), Some(events));
            prop_assert!(bytes.is_empty());
        }
    }

    #[test]
    fn a_sized_event_of_a_newer_version_is_passed_over() {
        let mut out = Vec::new();
        put_varint(&mut out, 2);
        put_varint(&mut out, 100);
        put_sized(&mut out, 200, |fields| fields.extend_from_slice(b"anything"));
        let mut time = 100;
        encode_event(&mut out, &Event::Cut { at: Ticks(107) }, &mut time);
        assert_eq!(decode_events(&mut Bytes::new(&out)), Some(vec![Event::Cut { at: Ticks(107) }]));
    }

    #[test]
    fn a_count_that_claims_more_than_there_is_allocates_nothing() {
        let mut out = Vec::new();
        put_varint(&mut out, 1 << 60);
        put_varint(&mut out, 0);
        assert_eq!(decode_events(&mut Bytes::new(&out)), None);
    }
}
