//! The events of one device: made ahead, recorded by the training thread, read by the flusher, used again.

use std::fs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};

use laptime_core::{DeviceFacts, StageId, Ticks};

use super::driver::{Context, Driver, EventHandle, Fault, Pinned, Stream};
use super::handover::Handover;
use crate::active::wake_flusher;
use crate::clock::now;

/// Events that may wait for the device: some 2,000 steps with all their stages.
const MOST_EVENTS: usize = 16_384;
/// Events made when a device begins: 100 ms of steps of a millisecond.
const FIRST_EVENTS: usize = 1024;
/// So few left wake the flusher, which has some to give back or makes more.
const FEW: usize = 256;
/// Words of pinned memory for losses: one page.
const LOSSES: usize = 512;

/// How a loss is stored on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
    /// 16 bits, as IEEE 754 has them.
    F16,
    /// 16 bits, the upper half of 32.
    BF16,
}

impl LossKind {
    const ALL: [Self; 4] = [Self::F32, Self::F64, Self::F16, Self::BF16];

    fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::F16 | Self::BF16 => 2,
        }
    }

    /// The number in the first bytes of a word.
    fn value(self, word: u64) -> f64 {
        match self {
            Self::F32 => f64::from(f32::from_bits(word as u32)),
            Self::F64 => f64::from_bits(word),
            Self::F16 => half(word as u16),
            Self::BF16 => f64::from(f32::from_bits((word as u32) << 16)),
        }
    }
}

/// A number of IEEE 754's 16 bits.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    match i32::from(bits >> 10 & 0x1f) {
        0 => sign * fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        exponent => sign * (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

/// What an event stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The host launches work for this stage from here on.
    Boundary(StageId),
    /// A loss has been copied into this word.
    Loss(LossKind, usize),
}

impl Mark {
    fn word(self) -> u64 {
        match self {
            Self::Boundary(stage) => u64::from(stage.0) << 8,
            Self::Loss(kind, word) => (word as u64) << 8 | (kind as u64 + 1),
        }
    }

    fn from_word(word: u64) -> Self {
        match (word & 0xff).checked_sub(1) {
            None => Self::Boundary(StageId((word >> 8) as u16)),
            Some(kind) => Self::Loss(LossKind::ALL[kind as usize % 4], (word >> 8) as usize),
        }
    }
}

/// An event that was recorded and not yet read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) event: EventHandle,
    /// When the host recorded it.
    pub(crate) host: Ticks,
    pub(crate) stream: Stream,
    pub(crate) mark: Mark,
}

/// A device of this process. It is leaked: a thread may stand inside a boundary when it is turned off.
pub(crate) struct Device {
    pub(crate) index: u32,
    pub(crate) driver: &'static Driver,
    pub(crate) context: Context,
    pub(crate) facts: DeviceFacts,
    /// What waits for nothing that the user launches.
    pub(crate) private: Stream,
    /// To the flusher: events that were recorded.
    recorded: Handover<4>,
    /// To the training thread: events that can be recorded.
    free: Handover<1>,
    /// To the training thread: words of pinned memory that nothing is copied into.
    words: Handover<1>,
    pinned: Pinned,
    /// Held by whoever records, with an event that could not be; the flusher never takes it.
    recording: Mutex<Option<EventHandle>>,
    made: AtomicUsize,
    missed: AtomicU64,
}

impl Device {
    /// All that the device needs, made ahead.
    pub(crate) fn new(driver: &'static Driver, index: u32) -> Result<&'static Self, Fault> {
        let context = driver.primary_context(index)?;
        let facts = facts(driver, index)?;
        let (private, pinned, events) = driver.within(context, || {
            let events: Result<Vec<_>, _> = (0..FIRST_EVENTS).map(|_| driver.new_event()).collect();
            Ok((driver.private_stream()?, driver.pinned(LOSSES)?, events?))
        })?;
        let device = Self {
            index,
            driver,
            context,
            facts,
            private,
            recorded: Handover::with_room_for(MOST_EVENTS),
            free: Handover::with_room_for(MOST_EVENTS),
            words: Handover::with_room_for(LOSSES),
            pinned,
            recording: Mutex::new(None),
            made: AtomicUsize::new(events.len()),
            missed: AtomicU64::new(0),
        };
        events.into_iter().for_each(|event| device.give_back(event));
        (0..LOSSES).for_each(|word| device.give_back_word(word));
        Ok(Box::leak(Box::new(device)))
    }

    /// Records an event at a boundary of this stream.
    #[inline]
    pub(crate) fn boundary(&self, stream: Stream, stage: StageId) -> Result<(), Fault> {
        self.recording(stream, |spare| {
            let Some(event) = self.next_event(spare) else { return Ok(()) };
            self.record(event, spare, stream, Mark::Boundary(stage))
        })
    }

    /// Has a loss copied to the host, and records an event after that.
    pub(crate) fn loss(&self, stream: Stream, address: u64, kind: LossKind) -> Result<(), Fault> {
        self.recording(stream, |spare| {
            let Some(event) = self.next_event(spare) else { return Ok(()) };
            let Some([word]) = self.words.take() else {
                *spare = Some(event);
                return Ok(());
            };
            // A word whose copy fails is not used again: whether anything is under way is not known.
            let copied = self.driver.copy((&self.pinned, word as usize), address, kind.bytes(), stream);
            if copied.is_err() {
                *spare = Some(event);
                return copied;
            }
            self.record(event, spare, stream, Mark::Loss(kind, word as usize))
        })
    }

    /// Runs `body` as the only one that records, unless the stream is being captured.
    #[inline]
    fn recording(
        &self,
        stream: Stream,
        body: impl FnOnce(&mut Option<EventHandle>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut spare = match self.recording.try_lock() {
            Ok(spare) => spare,
            Err(TryLockError::Poisoned(spare)) => spare.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.miss(1);
                return Ok(());
            }
        };
        if self.driver.is_capturing(stream)? {
            return Ok(());
        }
        body(&mut spare)
    }

    #[inline]
    fn next_event(&self, spare: &mut Option<EventHandle>) -> Option<EventHandle> {
        if let Some(event) = spare.take() {
            return Some(event);
        }
        let event = self.free.take();
        match event {
            Some(_) if self.free.len() == FEW => wake_flusher(),
            None => self.miss(1),
            Some(_) => {}
        }
        event.map(|[event]| EventHandle(event))
    }

    #[inline]
    fn record(
        &self,
        event: EventHandle,
        spare: &mut Option<EventHandle>,
        stream: Stream,
        mark: Mark,
    ) -> Result<(), Fault> {
        let host = now();
        if let Err(fault) = self.driver.record(event, stream) {
            *spare = Some(event);
            return Err(fault);
        }
        // There is room for every event that was made.
        let _ = self.recorded.put([event.0, host.0, stream.0 as u64, mark.word()]);
        Ok(())
    }

    /// The next event that was recorded.
    pub(crate) fn take_recorded(&self) -> Option<Recorded> {
        let [event, host, stream, mark] = self.recorded.take()?;
        Some(Recorded {
            event: EventHandle(event),
            host: Ticks(host),
            stream: Stream(stream as usize),
            mark: Mark::from_word(mark),
        })
    }

    /// The event can be recorded again.
    pub(crate) fn give_back(&self, event: EventHandle) {
        let _ = self.free.put([event.0]);
    }

    /// The loss that was copied into a word, which can be used again.
    pub(crate) fn take_loss(&self, kind: LossKind, word: usize) -> f64 {
        let value = kind.value(self.pinned.word(word));
        self.give_back_word(word);
        value
    }

    /// Nothing is copied into a word any more.
    pub(crate) fn give_back_word(&self, word: usize) {
        let _ = self.words.put([word as u64]);
    }

    /// Makes as many events again when most are in use. Called by the flusher, in the device's context.
    pub(crate) fn make_more(&self) -> Result<(), Fault> {
        let made = self.made.load(Ordering::Relaxed);
        if self.free.len() >= made / 2 {
            return Ok(());
        }
        for _ in 0..made.min(MOST_EVENTS - made) {
            self.give_back(self.driver.new_event()?);
            self.made.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// So many events are not on record.
    pub(crate) fn miss(&self, events: u64) {
        self.missed.fetch_add(events, Ordering::Relaxed);
    }

    /// How many events are not on record.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

fn facts(driver: &Driver, index: u32) -> Result<DeviceFacts, Fault> {
    let own = fs::read_to_string("/sys/module/nvidia/version").ok().map(|text| text.trim().to_owned());
    let version =
        own.filter(|text| !text.is_empty()).or_else(|| Some(format!("CUDA {}", driver.version().ok()?)));
    Ok(DeviceFacts {
        name: driver.device_name(index)?,
        memory_bytes: driver.device_memory(index).ok(),
        driver: version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_every_kind_are_read_as_they_were_written() {
        assert_eq!(LossKind::F32.value(u64::from(0.75_f32.to_bits()) | 0xdead << 32), 0.75);
        assert_eq!(LossKind::F64.value(0.1_f64.to_bits()), 0.1);
        assert_eq!(LossKind::BF16.value(0xffff_3f40), 0.75);
        let halves =
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_953_125), (1, 2_f64.powi(-24)), (0, 0.0)];
        for (bits, value) in halves {
            assert_eq!(LossKind::F16.value(bits), value);
        }
        assert_eq!(LossKind::F16.value(0xfc00), f64::NEG_INFINITY);
        assert!(LossKind::F16.value(0x7e00).is_nan());
    }

    #[test]
    fn marks_come_out_of_a_word_as_they_went_in() {
        let losses = LossKind::ALL.map(|kind| Mark::Loss(kind, 511));
        for mark in [Mark::Boundary(StageId(0)), Mark::Boundary(StageId(255))].into_iter().chain(losses) {
            assert_eq!(Mark::from_word(mark.word()), mark);
        }
    }
}
