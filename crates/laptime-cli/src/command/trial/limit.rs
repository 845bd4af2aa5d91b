//! How long an execution of a trial may take: a change that makes a training hang must not hang the trial.

use std::cell::Cell;
use std::time::Duration;

/// As many times as long as the longest so far.
const TIMES: u32 = 10;
/// However short that was: compiling takes its time, and machines are busy at times.
const LEAST: Duration = Duration::from_secs(180);

/// The limit of executions, by those that have ended.
#[derive(Debug, Default)]
pub(in crate::command) struct Limit {
    longest: Cell<Option<Duration>>,
}

impl Limit {
    /// For the next execution; none for the first, which may take as long as it likes.
    pub(super) fn of_next(&self) -> Option<Duration> {
        self.longest.get().map(|longest| longest.saturating_mul(TIMES).max(LEAST))
    }

    /// An execution has ended well, and took so long.
    pub(super) fn take(&self, took: Duration) {
        self.longest.set(self.longest.get().max(Some(took)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_execution_has_no_limit_and_later_ones_ten_times_the_longest() {
        let limit = Limit::default();
        assert_eq!(limit.of_next(), None);
        limit.take(Duration::from_secs(60));
        limit.take(Duration::from_secs(30));
        assert_eq!(limit.of_next(), Some(Duration::from_secs(600)));
    }

    #[test]
    fn a_short_training_still_has_time_to_compile() {
        let limit = Limit::default();
        limit.take(Duration::from_millis(200));
        assert_eq!(limit.of_next(), Some(LEAST));
    }
}
