//! When something has to be done: the instant that a deadline comes to, and how it is said.

use std::time::Duration;

use laptime_core::units;
use laptime_launch::{clock_time, next_at, now_s};

/// The variable in which Slurm says when it ends a job, seconds since 1970.
const SLURM_END: &str = "SLURM_JOB_END_TIME";

/// A deadline as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// So long after the start.
    After(Duration),
    /// The next time that clocks show this.
    At {
        /// 0 to 23.
        hour: u32,
        /// 0 to 59.
        minute: u32,
    },
}

/// An instant by which something has to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Due {
    /// Seconds since 1970.
    pub(crate) at_s: f64,
    /// Whether it is the end of the batch job rather than what was asked for.
    pub(crate) is_job_end: bool,
}

impl Due {
    /// What a deadline comes to from now on.
    pub(crate) fn from_now(deadline: Deadline) -> Option<Self> {
        let now = now_s();
        let at_s = match deadline {
            Deadline::After(time) => Some(now + time.as_secs_f64()),
            Deadline::At { hour, minute } => next_at(hour, minute, now),
        }?;
        Some(Self { at_s, is_job_end: false })
    }

    /// When the batch job that this process is part of will be ended.
    fn of_job() -> Option<Self> {
        let at_s = std::env::var(SLURM_END).ok()?.trim().parse::<u32>().ok()?;
        Some(Self { at_s: at_s.into(), is_job_end: true })
    }

    /// The earlier of what was asked for and the end of the job.
    pub(crate) fn of_run(deadline: Option<Deadline>) -> Option<Self> {
        let due = [deadline.and_then(Self::from_now), Self::of_job()].into_iter().flatten();
        due.min_by(|a, b| a.at_s.total_cmp(&b.at_s))
    }

    /// How long it is until then, seconds; negative when it has passed.
    pub(crate) fn left_s(self, now: f64) -> f64 {
        self.at_s - now
    }

    /// `06:00, in 55m00s`
    pub(crate) fn words(self, now: f64) -> String {
        let time = clock_time(self.at_s, now);
        let name = if self.is_job_end { format!("the job's end at {time}") } else { time };
        match self.left_s(now) {
            left if left > 0.0 => format!("{name}, in {}", units::waiting(left)),
            _ => name,
        }
    }
}
