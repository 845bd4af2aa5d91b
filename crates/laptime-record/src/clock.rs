//! The clock: the CPU's time stamp counter where the kernel trusts it, else `CLOCK_MONOTONIC`.

#![expect(unsafe_code, reason = "reading the time stamp counter")]

use std::fs;
use std::sync::atomic::{AtomicU8, Ordering};

use laptime_core::{Anchor, Ticks, Timebase};
use rustix::time::{ClockId, clock_gettime};

/// What the flusher needs of a clock; the training thread reads [`now`] directly.
pub(crate) trait Clock: Send {
    /// All clocks at one moment.
    fn anchor(&self) -> Anchor;
}

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn anchor(&self) -> Anchor {
        anchor()
    }
}

const UNKNOWN: u8 = 0;
const TSC: u8 = 1;
const MONOTONIC: u8 = 2;
static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// A reading of the recorder's clock: about 9 ns where the time stamp counter can be used, else 22.
#[inline]
#[must_use]
pub fn now() -> Ticks {
    #[cfg(target_arch = "x86_64")]
    if SOURCE.load(Ordering::Relaxed) == TSC {
        // SAFETY: every x86-64 processor has the instruction, and it touches no memory.
        return Ticks(unsafe { core::arch::x86_64::_rdtsc() });
    }
    slow_now()
}

#[cold]
fn slow_now() -> Ticks {
    if SOURCE.load(Ordering::Relaxed) == UNKNOWN {
        SOURCE.store(choose_source(), Ordering::Relaxed);
        return now();
    }
    Ticks(nanoseconds(ClockId::Monotonic))
}

/// The kernel uses the counter for its own clock only when it is steady and the same on all CPUs.
fn choose_source() -> u8 {
    let trusted = cfg!(target_arch = "x86_64")
        && fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|source| source.trim() == "tsc");
    if trusted { TSC } else { MONOTONIC }
}

/// The name of the clock in use.
pub fn source_name() -> &'static str {
    let _ = now();
    if SOURCE.load(Ordering::Relaxed) == TSC { "tsc" } else { "monotonic" }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// All clocks at one moment: the tightest of a few tries, since a thread may be interrupted in between.
#[must_use]
pub fn anchor() -> Anchor {
    let tries = [(); 5].map(|()| {
        let before = now();
        let monotonic_ns = nanoseconds(ClockId::Monotonic);
        let after = now();
        (after.since(before).0, Ticks(before.0 + after.since(before).0 / 2), monotonic_ns)
    });
    let (_, ticks, monotonic_ns) = tries.into_iter().min().unwrap_or_default();
    Anchor {
        ticks,
        monotonic_ns,
        real_ns: nanoseconds(ClockId::Realtime),
        boot_ns: nanoseconds(ClockId::Boottime),
    }
}

/// How far apart two anchors must be to measure the length of a tick: each is good to some 30 ns, so half
/// a millisecond gives 0.01 %. Later anchors refine it.
const CALIBRATION_NS: u64 = 500_000;

/// The length of a tick from `began` to now, waiting until that can be measured.
pub fn calibrate(began: &Anchor) -> Timebase {
    loop {
        let later = anchor();
        if later.monotonic_ns.saturating_sub(began.monotonic_ns) >= CALIBRATION_NS {
            return Timebase::between(began, &later).unwrap_or(Timebase::NANOSECONDS);
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_monotonic_time_agree_over_a_millisecond() {
        let began = anchor();
        let rate = calibrate(&began);
        let from = anchor();
        while anchor().monotonic_ns < from.monotonic_ns + 2_000_000 {}
        let to = anchor();
        let by_ticks = rate.seconds(to.ticks.since(from.ticks)) * 1e9;
        let by_kernel = (to.monotonic_ns - from.monotonic_ns) as f64;
        assert!((by_ticks / by_kernel - 1.0).abs() < 0.02, "{by_ticks} against {by_kernel}");
    }
}
