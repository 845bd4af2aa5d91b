//! How long a batch has been waited for.

use std::time::{Duration, Instant};

/// The time after which somebody who waits looks again.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// The most that counts from one look to the next. A process that was stopped in between, by Ctrl-Z, a debugger or a
/// batch system, did not wait for its disk.
const MOST: Duration = Duration::from_secs(2);

/// Counts for how long a batch has been waited for.
#[derive(Debug, Default)]
pub(super) struct Stopwatch {
    counted: Duration,
    looked: Option<Instant>,
}

impl Stopwatch {
    /// The time since the first look, as far as it counts.
    pub(super) fn look(&mut self, now: Instant) -> Duration {
        if let Some(before) = self.looked.replace(now) {
            self.counted += now.saturating_duration_since(before).min(MOST);
        }
        self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_from_the_first_look_but_not_while_the_process_was_stopped() {
        let (mut stopwatch, begin) = (Stopwatch::default(), Instant::now());
        let mut look = |seconds| stopwatch.look(begin + Duration::from_secs(seconds)).as_secs();
        assert_eq!([look(5), look(6), look(6), look(7)], [0, 1, 1, 2]);
        // Stopped for ten minutes.
        assert_eq!([look(607), look(608)], [4, 5]);
    }
}
