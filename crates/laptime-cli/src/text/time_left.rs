//! The time left in words, clock time first.

use laptime_core::{Estimate, units};
use laptime_launch::{clock_time, now_s};

/// Who waits less than this needs no clock, seconds.
pub(crate) const WITH_CLOCK_S: f64 = 60.0;

/// `done Tue 14:20, in 31h00m (29h40m–33h10m)`
pub(crate) fn done_text(left: Estimate, now: f64) -> String {
    format!("done {}, in {}", clock_time(now + left.mean, now), waiting_text(left))
}

/// The same as it stands now; `12.2 s left (11.1–14.3 s)` where that is too soon for a clock. A training that may end
/// early takes `at most` so long.
pub(super) fn left_text(left: Estimate, may_end_early: bool) -> String {
    let (mean, ends) = (units::waiting(left.mean), units::waiting_interval(left.low, left.high));
    let now = now_s();
    match (left.mean < WITH_CLOCK_S, may_end_early) {
        (true, true) => format!("at most {mean} left ({ends})"),
        (true, false) => format!("{mean} left ({ends})"),
        (false, true) => {
            format!("done by {}, in at most {}", clock_time(now + left.mean, now), waiting_text(left))
        }
        (false, false) => done_text(left, now),
    }
}

/// `31h00m (29h40m–33h10m)`
fn waiting_text(left: Estimate) -> String {
    format!("{} ({})", units::waiting(left.mean), units::waiting_interval(left.low, left.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(mean: f64) -> Estimate {
        Estimate { mean, low: mean * 0.9, high: mean * 1.1, level: 0.9 }
    }

    #[test]
    fn a_clock_comes_first_where_one_waits_for_a_minute_or_more() {
        assert_eq!(left_text(left(30.0), false), "30 s left (27–33 s)");
        assert_eq!(left_text(left(30.0), true), "at most 30 s left (27–33 s)");
        let long = left_text(left(7_200.0), false);
        assert!(long.starts_with("done ") && long.ends_with(", in 2h00m (1h48m–2h12m)"), "{long}");
        let most = left_text(left(7_200.0), true);
        assert!(most.starts_with("done by ") && most.contains(", in at most 2h00m ("), "{most}");
    }
}
