//! Where a program begins: the moment, and what its process had used by then.

use laptime_core::{Anchor, Sample};

use crate::clock;
use crate::probe::{Probes, RealSystem, nothing_used_at};

/// The beginning of a program: all clocks, and what the kernel had counted for its process so far.
///
/// A process that became this program by `exec` keeps its counters, and an interpreter may have run for hours:
/// what was used before this moment is not the program's.
#[derive(Clone, Debug)]
pub struct ProgramStart {
    anchor: Anchor,
    used: Sample,
    pid: u32,
}

impl ProgramStart {
    /// Now: the first thing a program does.
    #[must_use]
    pub fn now() -> Self {
        let anchor = clock::anchor();
        let used = Probes::new(Box::new(RealSystem)).process_and_machine(anchor.ticks);
        Self { anchor, used, pid: std::process::id() }
    }

    /// When that was.
    #[must_use]
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// What this process had used then. One that was forked since had used nothing.
    pub(crate) fn used(&self) -> Sample {
        if self.pid == std::process::id() { self.used.clone() } else { nothing_used_at(self.anchor.ticks) }
    }
}

#[cfg(test)]
mod tests {
    use laptime_core::Gauge;

    use super::*;

    fn reading(sample: &Sample, gauge: Gauge) -> Option<u64> {
        sample.readings.iter().find(|(read, _)| *read == gauge).map(|(_, value)| *value)
    }

    #[test]
    fn what_the_process_used_before_is_in_the_first_reading() {
        for _ in 0..2_000_000 {
            std::hint::black_box(std::time::Instant::now());
        }
        let start = ProgramStart::now();
        let cpu = |gauge| reading(&start.used(), gauge).unwrap();
        assert!(cpu(Gauge::CpuUserNs) + cpu(Gauge::CpuSystemNs) >= 5_000_000);
        // The flusher's own time is another thread's.
        assert_eq!(reading(&start.used(), Gauge::RecorderCpuNs), None);
    }

    #[test]
    fn a_process_that_was_forked_since_had_used_nothing() {
        let start = ProgramStart { pid: std::process::id() + 1, ..ProgramStart::now() };
        assert_eq!(reading(&start.used(), Gauge::CpuUserNs), Some(0));
        assert_eq!(start.used().at, start.anchor().ticks);
    }
}
