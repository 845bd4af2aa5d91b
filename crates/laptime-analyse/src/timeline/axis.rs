//! Axis: the clocks of all processes of a run on one axis of time.

use std::collections::BTreeMap;

use laptime_core::{Anchor, Role, Ticks};

use super::TimelineMarks;
use super::steps::StepRows;
use crate::process::Process;

/// The processes of a run and one axis of time for all of them, for a second reading of its records.
///
/// Processes of one machine are placed by its monotonic clock, so that they agree to the nanosecond also where its
/// wall clock was set; machines are placed against each other by their wall clocks.
pub struct Timeline<'a> {
    pub(super) processes: &'a [Process],
    scales: Vec<Scale>,
    origin_unix_ns: u64,
}

/// Who wrote a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineProcess {
    /// What it does in the run: `rank 0`, `loader worker 1`.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// Its machine, where known.
    pub host: Option<String>,
}

/// The clock of one log: an instant, when that was, and the length of a tick.
#[derive(Clone, Copy, Debug)]
struct Scale {
    ticks: Ticks,
    at_ns: i64,
    ns_per_tick: f64,
}

impl<'a> Timeline<'a> {
    pub(crate) fn new(processes: &'a [Process], started_real_ns: u64) -> Self {
        let mut ahead = BTreeMap::new();
        let unix: Vec<Option<i128>> = processes.iter().map(|process| unix_ns(process, &mut ahead)).collect();
        let begins = processes.iter().zip(&unix).filter_map(|(process, at)| {
            let anchor = process.clock.first()?;
            Some((*at)? - length_ns(process.facts.started, anchor.ticks, process.timebase().ns_per_tick))
        });
        let origin = begins.min().unwrap_or(i128::from(started_real_ns));
        let scales = processes.iter().zip(&unix).map(|(process, at)| scale(process, *at, origin)).collect();
        Self { processes, scales, origin_unix_ns: u64::try_from(origin).unwrap_or(0) }
    }

    /// The wall clock at the run's begin, nanoseconds since 1970.
    #[must_use]
    pub fn origin_unix_ns(&self) -> u64 {
        self.origin_unix_ns
    }

    /// Who wrote each log, by its number.
    #[must_use]
    pub fn processes(&self) -> Vec<TimelineProcess> {
        self.processes.iter().map(process_of).collect()
    }

    /// When an instant of a log was, nanoseconds since the run's begin.
    #[must_use]
    pub fn at_ns(&self, log: usize, at: Ticks) -> u64 {
        let Some(scale) = self.scales.get(log) else { return 0 };
        let after = length_ns(scale.ticks, at, scale.ns_per_tick);
        u64::try_from(i128::from(scale.at_ns) + after).unwrap_or(0)
    }

    /// How long a length of time on a log's clock is, seconds.
    pub(super) fn length_s(&self, log: usize, length: Ticks) -> f64 {
        self.scales.get(log).map_or(0.0, |scale| length.0 as f64 * scale.ns_per_tick * 1e-9)
    }

    /// The marks of the run, from two more readings of its records.
    #[must_use]
    pub fn marks(&self) -> TimelineMarks<'_> {
        TimelineMarks::new(self)
    }

    /// The steps of the run, from one more reading of its records.
    #[must_use]
    pub fn steps(&self) -> StepRows<'_> {
        StepRows::new(self)
    }
}

/// The wall clock at a log's first anchor. `ahead` keeps by how much it is ahead of the monotonic clock of each boot.
fn unix_ns(process: &Process, ahead: &mut BTreeMap<String, i128>) -> Option<i128> {
    let Anchor { monotonic_ns, real_ns, .. } = process.clock.first()?;
    let own = i128::from(real_ns) - i128::from(monotonic_ns);
    let ahead = *ahead.entry(process.facts.boot_id.clone()).or_insert(own);
    Some(i128::from(monotonic_ns) + ahead)
}

fn scale(process: &Process, unix_ns: Option<i128>, origin: i128) -> Scale {
    let ns_per_tick = process.timebase().ns_per_tick;
    match (process.clock.first(), unix_ns) {
        (Some(anchor), Some(at)) => {
            Scale { ticks: anchor.ticks, at_ns: i64::try_from(at - origin).unwrap_or(0), ns_per_tick }
        }
        // Killed before its first anchor: it began with the run, as far as is known.
        _ => Scale { ticks: process.facts.started, at_ns: 0, ns_per_tick },
    }
}

/// From one instant to another, negative when that is earlier.
fn length_ns(from: Ticks, to: Ticks, ns_per_tick: f64) -> i128 {
    ((i128::from(to.0) - i128::from(from.0)) as f64 * ns_per_tick).round() as i128
}

fn process_of(process: &Process) -> TimelineProcess {
    let facts = &process.facts;
    let name = match (facts.role, facts.worker, facts.parent) {
        (Role::Supervisor, ..) => format!("laptime run, rank {}", facts.rank),
        (_, Some(worker), _) => format!("rank {} loader worker {worker}", facts.rank),
        (_, None, Some(_)) => format!("rank {} process {}", facts.rank, facts.pid),
        (_, None, None) => format!("rank {}", facts.rank),
    };
    TimelineProcess { name, pid: facts.pid, host: facts.host.clone() }
}
