//! Suspends of the machine and steps of the wall clock: what lay between two anchors.

use laptime_core::Anchor;

use crate::report::Warning;

/// A machine that slept for longer than this was suspended.
const SUSPEND_NS: i128 = 500_000_000;
/// The wall clock is slewed by less than 5 ms between anchors; more than this is a step.
const STEP_NS: i128 = 500_000_000;

/// Whether the machine slept from one anchor to the next, and whether the wall clock was set.
pub(crate) fn suspends_and_steps(before: &Anchor, after: &Anchor) -> impl Iterator<Item = Warning> {
    let grown = |after: u64, before: u64| i128::from(after) - i128::from(before);
    let monotonic = grown(after.monotonic_ns, before.monotonic_ns);
    // A kernel without CLOCK_BOOTTIME leaves zeros, which say nothing.
    let has_boottime = before.boot_ns > 0 && after.boot_ns > 0;
    let slept = if has_boottime { grown(after.boot_ns, before.boot_ns) - monotonic } else { 0 };
    // The wall clock goes on while the machine sleeps: that part is no step.
    let stepped = grown(after.real_ns, before.real_ns) - monotonic - slept.max(0);
    let suspend = (slept > SUSPEND_NS).then(|| Warning::Suspended { seconds: slept as f64 / 1e9 });
    let step = (stepped.abs() > STEP_NS).then(|| Warning::ClockStepped { seconds: stepped as f64 / 1e9 });
    suspend.into_iter().chain(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What is found 10 s of the monotonic clock after an anchor, when the others show this, in milliseconds.
    fn found(real: u64, boot: u64) -> Vec<Warning> {
        let anchor = |monotonic: u64, real: u64, boot: u64| Anchor {
            monotonic_ns: monotonic * MS,
            real_ns: real * MS,
            boot_ns: boot * MS,
            ..Anchor::default()
        };
        suspends_and_steps(&anchor(10_000, 1_010_000, 10_000), &anchor(20_000, real, boot)).collect()
    }

    #[test]
    fn a_step_of_the_wall_clock_is_reported_with_its_size_and_sign() {
        assert_eq!(found(1_017_000, 20_000), [Warning::ClockStepped { seconds: -3.0 }]);
    }

    #[test]
    fn a_suspend_is_no_step_of_the_wall_clock() {
        assert_eq!(found(1_080_000, 80_000), [Warning::Suspended { seconds: 60.0 }]);
    }

    #[test]
    fn half_a_second_is_neither_a_suspend_nor_a_step() {
        assert_eq!(found(1_020_500, 20_000), []);
        assert_eq!(found(1_020_500, 20_500), []);
    }

    #[test]
    fn a_kernel_that_does_not_say_how_long_it_slept_reports_a_step() {
        assert_eq!(found(1_080_000, 0), [Warning::ClockStepped { seconds: 60.0 }]);
    }
}
