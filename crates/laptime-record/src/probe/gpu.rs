//! What the card that trains did, as NVML shows it: busy times, memory, clocks, power, heat, PCIe.
//!
//! Nothing here links NVML: it is opened once a device trains ([`watch`]), and where it is absent, old or
//! answers with errors its readings are left out. A thread of its own opens it, because that can take long;
//! what stays slow afterwards is not read any more, so that the flusher never waits for it.

mod nvml;
mod shares;
#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use laptime_core::Gauge;

use self::nvml::{Card, Counters};
use self::shares::{Shares, Sums};
use super::Readings;

/// The library as the driver installs it.
const NVML: &CStr = c"libnvidia-ml.so.1";
/// A reading that takes longer than this, twice in a row, is not taken any more. Once is forgiven: the thread may
/// have been without a CPU.
const SLOW: Duration = Duration::from_millis(50);
/// Counters of the card that are closer together than this say nothing.
const SHORTEST_SHARE: Duration = Duration::from_millis(100);

/// The card that trains, by the process that said so. It is leaked: a process has one, and no lock can be left
/// behind in a forked child.
static WATCHED: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

struct Watched {
    pid: u32,
    pci_bus_id: String,
}

/// Has the card at this PCI bus id read from now on; of several cards of a process the first.
#[doc(hidden)]
#[expect(unsafe_code, reason = "what lost the race is freed again")]
pub fn watch(pci_bus_id: &str) {
    let watched = Box::new(Watched { pid: std::process::id(), pci_bus_id: pci_bus_id.to_owned() });
    let watched = Box::into_raw(watched);
    let null = ptr::null_mut();
    if WATCHED.compare_exchange(null, watched, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: it was made above and nobody else has seen it.
        drop(unsafe { Box::from_raw(watched) });
    }
}

/// The card that this process watches; none in a child that was forked from such a process.
#[expect(unsafe_code, reason = "a leaked pointer is given out for ever")]
fn watched() -> Option<&'static Watched> {
    // SAFETY: the pointer is null or comes from `Box::into_raw` and is never freed once it is here.
    let watched = unsafe { WATCHED.load(Ordering::Acquire).as_ref() }?;
    (watched.pid == std::process::id()).then_some(watched)
}

/// The probe of the card: nothing until one is watched.
#[derive(Default)]
pub(super) enum GpuProbe {
    #[default]
    Unwatched,
    Opening(Receiver<CardProbe>),
    Open(Box<CardProbe>),
    Absent,
}

impl GpuProbe {
    /// Adds what the card answers.
    pub(super) fn read(&mut self, readings: &mut Readings) {
        if matches!(self, Self::Unwatched) {
            let Some(watched) = watched() else { return };
            *self = open_aside(watched);
        }
        if let Self::Opening(opened) = self {
            match opened.try_recv() {
                Ok(card) => *self = Self::Open(Box::new(card)),
                Err(TryRecvError::Disconnected) => *self = Self::Absent,
                Err(TryRecvError::Empty) => {}
            }
        }
        if let Self::Open(card) = self {
            card.read(readings);
        }
    }
}

/// Opens the card on a thread that ends with it.
fn open_aside(watched: &'static Watched) -> GpuProbe {
    let (give, opened) = mpsc::channel();
    let body = move || {
        let card = std::panic::catch_unwind(|| CardProbe::open(NVML, &watched.pci_bus_id));
        if let Ok(Some(card)) = card {
            // Nobody listens any more once the recorder has finished.
            let _ = give.send(card);
        }
    };
    match thread::Builder::new().name("laptime-nvml".into()).spawn(body) {
        Ok(_) => GpuProbe::Opening(opened),
        Err(_) => GpuProbe::Absent,
    }
}

/// One way to ask the card something: errors end it, and so does being slow.
struct Question<F> {
    ask: Option<F>,
    slow: bool,
}

impl<F> Question<F> {
    fn new(ask: Option<F>) -> Self {
        Self { ask, slow: false }
    }

    fn answer<T>(&mut self, answered: impl FnOnce(&mut F) -> Option<T>) -> Option<T> {
        let ask = self.ask.as_mut()?;
        let asked = Instant::now();
        let answer = answered(ask);
        let slow = asked.elapsed() > SLOW;
        if answer.is_none() || slow && self.slow {
            self.ask = None;
        }
        self.slow = slow;
        answer
    }
}

/// Levels of the card, each with its gauges.
type Level = fn(&Card) -> Option<Readings>;

/// A card that is read, and its times so far.
pub(super) struct CardProbe {
    card: Card,
    levels: Vec<Question<Level>>,
    /// Counters of the card; where they never answered, the driver's own figure stands in.
    counters: Question<Counters>,
    utilization: Question<fn(&Card) -> Option<f64>>,
    sums: Sums,
    summed_at: Instant,
}

impl CardProbe {
    /// Opens the card and learns what it answers; `None` where there is no NVML or no such card.
    fn open(library: &CStr, pci_bus_id: &str) -> Option<Self> {
        let card = Card::open(library, pci_bus_id)?;
        let counters = card.counters().and_then(|mut counters| {
            // A first interval shows whether they may be read here.
            thread::sleep(SHORTEST_SHARE);
            counters.shares()?.busy.map(|_| counters)
        });
        let utilization: fn(&Card) -> Option<f64> = Card::utilization;
        let utilization = counters.is_none().then_some(utilization);
        let levels: [Level; 7] = [
            Card::memory,
            Card::clock,
            Card::highest_clock,
            Card::power,
            Card::power_limit,
            Card::temperature,
            Card::clock_reasons,
        ];
        Some(Self {
            card,
            levels: levels.map(|level| Question::new(Some(level))).into(),
            counters: Question::new(counters),
            utilization: Question::new(utilization),
            sums: Sums::default(),
            summed_at: Instant::now(),
        })
    }

    fn read(&mut self, readings: &mut Readings) {
        let card = &self.card;
        for level in &mut self.levels {
            readings.extend(level.answer(|level| level(card)).into_iter().flatten());
        }
        let (now, before) = (Instant::now(), self.summed_at);
        // Two readings in quick succession, as at a run's end, are one.
        if now.duration_since(before) >= SHORTEST_SHARE {
            if let Some(shares) = self.shares() {
                self.sums.add(&shares, now.duration_since(before));
            }
            self.summed_at = now;
        }
        self.sums.put(readings);
    }

    /// What the card did since it was asked last.
    fn shares(&mut self) -> Option<Shares> {
        let card = &self.card;
        self.counters.answer(Counters::shares).or_else(|| {
            let busy = self.utilization.answer(|ask| ask(card))?;
            Some(Shares { busy: Some(busy), ..Shares::default() })
        })
    }
}

/// A reading and its gauge.
fn reading(gauge: Gauge, value: impl Into<u64>) -> (Gauge, u64) {
    (gauge, value.into())
}
