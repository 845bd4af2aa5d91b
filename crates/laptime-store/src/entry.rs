//! An event as it stands in a lane's ring: four words.

use laptime_core::{CollectiveKind, Counter, Event, Metric, StageId, StageTotal, Ticks};

/// One event as four words; see [`Entry::event`] for their meaning by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(pub [u64; 4]);

mod kind {
    pub(super) const SPAN: u64 = 1;
    pub(super) const STEP: u64 = 2;
    pub(super) const FIT_BEGIN: u64 = 3;
    pub(super) const FIT_END: u64 = 4;
    pub(super) const EPOCH_BEGIN: u64 = 5;
    pub(super) const EPOCH_END: u64 = 6;
    pub(super) const TOTAL: u64 = 7;
    pub(super) const COUNT: u64 = 8;
    pub(super) const MEASURED: u64 = 9;
    pub(super) const CUT: u64 = 10;
    pub(super) const BOUNDARY: u64 = 11;
    pub(super) const COLLECTIVE: u64 = 12;
}

/// Word 0 of an entry: kind in bits 0-7, a flag in bit 8, an id in bits 16-31, a number above. A collective has what
/// it does in bits 8-15.
const fn word(kind: u64, flag: bool, id: u16, number: u32) -> u64 {
    kind | (flag as u64) << 8 | (id as u64) << 16 | (number as u64) << 32
}

impl Entry {
    /// A span; the shortest way from a guard's end into the ring.
    #[inline]
    #[must_use]
    pub fn span(stage: StageId, start: Ticks, end: Ticks, own: Ticks, in_evaluate: bool) -> Self {
        Self([word(kind::SPAN, in_evaluate, stage.0, 0), start.0, end.0, own.0])
    }

    /// A step; the shortest way from a loop over batches into the ring.
    #[inline]
    #[must_use]
    pub fn step(start: Ticks, end: Ticks, samples: u32, loss: Option<f64>) -> Self {
        let bits = loss.unwrap_or_default().to_bits();
        Self([word(kind::STEP, loss.is_some(), 0, samples), start.0, end.0, bits])
    }

    /// Any event as an entry.
    #[must_use]
    pub fn from_event(event: &Event) -> Self {
        match *event {
            Event::Span { stage, start, end, own, in_evaluate } => {
                Self::span(stage, start, end, own, in_evaluate)
            }
            Event::Step { start, end, samples, loss } => Self::step(start, end, samples, loss),
            Event::FitBegin { fit, at } => Self([word(kind::FIT_BEGIN, false, 0, fit), at.0, 0, 0]),
            Event::FitEnd { fit, at } => Self([word(kind::FIT_END, false, 0, fit), at.0, 0, 0]),
            Event::EpochBegin { epoch, at } => Self([word(kind::EPOCH_BEGIN, false, 0, epoch), at.0, 0, 0]),
            Event::EpochEnd { epoch, at } => Self([word(kind::EPOCH_END, false, 0, epoch), at.0, 0, 0]),
            Event::Cut { at } => Self([word(kind::CUT, false, 0, 0), at.0, 0, 0]),
            Event::Boundary { stream, stage, host, done } => {
                Self([word(kind::BOUNDARY, false, stage.0, u32::from(stream)), host.0, done.0, 0])
            }
            Event::Collective { group, kind, sequence, start, end, bytes } => {
                let head = word(kind::COLLECTIVE, false, group, sequence) | (kind as u64) << 8;
                Self([head, start.0, end.0, bytes])
            }
            Event::Total(total) => {
                Self([word(kind::TOTAL, false, total.stage.0, 0), total.own.0, total.count, 0])
            }
            Event::Count { counter, at, amount } => {
                Self([word(kind::COUNT, false, counter as u16, 0), at.0, amount, 0])
            }
            Event::Measured { metric, at, value } => {
                Self([word(kind::MEASURED, false, metric as u16, 0), at.0, value.to_bits(), 0])
            }
        }
    }

    /// The event, or `None` for words of a newer version.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        let [head, first, second, third] = self.0;
        let (flag, id, number) = (head & 0x100 != 0, (head >> 16) as u16, (head >> 32) as u32);
        let at = Ticks(first);
        Some(match head & 0xff {
            kind::SPAN => Event::Span {
                stage: StageId(id),
                start: at,
                end: Ticks(second),
                own: Ticks(third),
                in_evaluate: flag,
            },
            kind::STEP => Event::Step {
                start: at,
                end: Ticks(second),
                samples: number,
                loss: flag.then(|| f64::from_bits(third)),
            },
            kind::FIT_BEGIN => Event::FitBegin { fit: number, at },
            kind::FIT_END => Event::FitEnd { fit: number, at },
            kind::EPOCH_BEGIN => Event::EpochBegin { epoch: number, at },
            kind::EPOCH_END => Event::EpochEnd { epoch: number, at },
            kind::CUT => Event::Cut { at },
            kind::BOUNDARY => Event::Boundary {
                stream: u16::try_from(number).ok()?,
                stage: StageId(id),
                host: at,
                done: Ticks(second),
            },
            kind::COLLECTIVE => Event::Collective {
                group: id,
                kind: CollectiveKind::from_number((head >> 8) as u8),
                sequence: number,
                start: at,
                end: Ticks(second),
                bytes: third,
            },
            kind::TOTAL => Event::Total(StageTotal { stage: StageId(id), own: at, count: second }),
            kind::COUNT => Event::Count { counter: Counter::from_number(id)?, at, amount: second },
            kind::MEASURED => {
                Event::Measured { metric: Metric::from_number(id)?, at, value: f64::from_bits(second) }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::events::tests::any_event;

    proptest! {
        #[test]
        fn an_event_survives_its_entry(event in any_event()) {
            prop_assert_eq!(Entry::from_event(&event).event(), Some(event));
        }

        #[test]
        fn any_words_give_an_event_or_none(words in any::<[u64; 4]>()) {
            let _ = Entry(words).event();
        }
    }
}
