//! The newest records of one log.

use std::collections::{BTreeMap, VecDeque};

use laptime_core::{Event, Record, Role, Ticks};

use crate::histogram::Histogram;
use crate::timeline::{Quantity, Readings};

/// Readings kept of a quantity.
const KEPT: usize = 120;
/// Seconds over which what is counted is spread, so that a batch every second is a steady stream.
const SPREAD_S: u64 = 5;

/// What one log shows of now.
#[derive(Clone, Debug)]
pub(super) struct LogPulse {
    pub(super) role: Role,
    pub(super) ns_per_tick: f64,
    /// Times of its steps, in ticks.
    pub(super) steps: Histogram,
    is_over: bool,
    readings: Readings,
    courses: BTreeMap<Quantity, VecDeque<f64>>,
    counted: BTreeMap<Quantity, Counted>,
    /// The newest second of its clock.
    newest_s: u64,
}

/// What was counted in each of the newest seconds, the oldest first.
#[derive(Clone, Debug, Default)]
struct Counted {
    seconds: VecDeque<(u64, f64)>,
}

impl Default for LogPulse {
    fn default() -> Self {
        Self {
            role: Role::Trainer,
            ns_per_tick: 1.0,
            steps: Histogram::default(),
            is_over: false,
            readings: Readings::default(),
            courses: BTreeMap::new(),
            counted: BTreeMap::new(),
            newest_s: 0,
        }
    }
}

impl LogPulse {
    pub(super) fn take(&mut self, record: &Record) {
        match record {
            Record::Process(facts) => {
                (self.role, self.ns_per_tick) = (facts.role, facts.ns_per_tick);
            }
            Record::Event { event, .. } => self.take_event(event),
            Record::Sample(sample) => {
                self.newest_s = self.newest_s.max(self.second(sample.at));
                let (ns_per_tick, courses) = (self.ns_per_tick, &mut self.courses);
                let seconds = |length: Ticks| length.0 as f64 * ns_per_tick * 1e-9;
                self.readings.take(sample, seconds, &mut |quantity, amount| {
                    let course = courses.entry(quantity).or_default();
                    course.push_back(amount);
                    if course.len() > KEPT {
                        course.pop_front();
                    }
                });
            }
            Record::Closed { .. } => self.is_over = true,
            Record::Ended { status } => self.is_over = *status != laptime_core::Status::Running,
            _ => {}
        }
    }

    pub(super) fn is_live(&self) -> bool {
        !self.is_over
    }

    /// The newest readings of a quantity; of one that is counted, how much of it a second.
    pub(super) fn course(&self, quantity: Quantity) -> Vec<f64> {
        match self.counted.get(&quantity) {
            Some(counted) => counted.rates(self.newest_s),
            None => self.courses.get(&quantity).into_iter().flatten().copied().collect(),
        }
    }

    fn take_event(&mut self, event: &Event) {
        if let Some(at) = event.instant() {
            self.newest_s = self.newest_s.max(self.second(at));
        }
        match *event {
            Event::Step { start, end, .. } => self.steps.record(end.since(start).0),
            Event::Count { counter, at, amount } => {
                let second = self.second(at);
                self.counted.entry(Quantity::Counted(counter)).or_default().add(second, amount);
            }
            _ => {}
        }
    }

    fn second(&self, at: Ticks) -> u64 {
        (at.0 as f64 * self.ns_per_tick * 1e-9) as u64
    }
}

impl Counted {
    fn add(&mut self, second: u64, amount: u64) {
        match self.seconds.back_mut() {
            Some((newest, sum)) if *newest >= second => *sum += amount as f64,
            _ => self.seconds.push_back((second, amount as f64)),
        }
        if self.seconds.len() > KEPT {
            self.seconds.pop_front();
        }
    }

    /// Amounts a second up to the last one that is over, each spread over the seconds before it.
    fn rates(&self, newest_s: u64) -> Vec<f64> {
        let Some((first, _)) = self.seconds.front() else { return Vec::new() };
        let from = (*first).max(newest_s.saturating_sub(KEPT as u64));
        // The first second began somewhere before its first count, and the newest one is not over.
        let over = from + 1..newest_s;
        over.map(|second| {
            let since = second.saturating_sub(SPREAD_S - 1).max(from);
            let sum: f64 =
                self.seconds.iter().filter(|(at, _)| (since..=second).contains(at)).map(|(_, sum)| sum).sum();
            sum / (second - since + 1) as f64
        })
        .collect()
    }
}
