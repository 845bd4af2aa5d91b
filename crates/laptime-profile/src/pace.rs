//! The pace of sampling: when the next sample is due, and how the rate keeps its cost small.

use std::time::Duration;

/// Samples a second of each thread. 97 and not 100, and with jitter, so that it does not march in step with
/// loops that take round times.
pub(crate) const DEFAULT_HZ: f64 = 97.0;
const SLOWEST_HZ: f64 = 2.0;
/// The share of a CPU that sampling may take; the bar is 0.02, and finding processes comes on top.
const BUDGET: f64 = 0.014;
/// How long the cost is added up before the rate is judged.
const JUDGED_EVERY: Duration = Duration::from_secs(1);

/// How fast to sample.
#[derive(Debug)]
pub(crate) struct Pace {
    hz: f64,
    random: fastrand::Rng,
    /// How long since the rate was judged, and what CPU time the thread had then.
    wall: Duration,
    cpu: Duration,
}

impl Pace {
    /// The default rate.
    pub(crate) fn new() -> Self {
        Self { hz: DEFAULT_HZ, random: fastrand::Rng::new(), wall: Duration::ZERO, cpu: Duration::ZERO }
    }

    /// Samples a second now.
    pub(crate) fn hz(&self) -> f64 {
        self.hz
    }

    /// The time to the next sample: anything from a half to one and a half of the mean.
    pub(crate) fn next_pause(&mut self) -> Duration {
        Duration::from_secs_f64((0.5 + self.random.f64()) / self.hz)
    }

    /// Notes how long it was since the sample before; `cpu` returns what all samples have cost so far, and is
    /// asked seldom. Says whether the rate was lowered.
    pub(crate) fn note(&mut self, wall: Duration, cpu: impl FnOnce() -> Duration) -> bool {
        self.wall += wall;
        if self.wall < JUDGED_EVERY {
            return false;
        }
        let cpu = cpu();
        let share = cpu.saturating_sub(self.cpu).as_secs_f64() / self.wall.as_secs_f64();
        (self.wall, self.cpu) = (Duration::ZERO, cpu);
        let affordable = if share > 0.0 { self.hz * BUDGET / share } else { DEFAULT_HZ };
        let before = self.hz;
        // Up in small steps: a rate that swings would count the same work differently.
        self.hz = affordable.clamp(SLOWEST_HZ, (before * 1.25).min(DEFAULT_HZ));
        // What is almost the rate that was asked for is not worth a word.
        self.hz < before && self.hz < 0.9 * DEFAULT_HZ
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Duration = Duration::from_millis(10);

    fn after(pace: &mut Pace, rounds: u32, cost: Duration) -> bool {
        let before = pace.cpu;
        let lowered = (1..=rounds).filter(|round| pace.note(ROUND, || before + cost * *round));
        lowered.count() > 0
    }

    #[test]
    fn a_cheap_command_is_sampled_at_the_full_rate() {
        let mut pace = Pace::new();
        assert!(!after(&mut pace, 1000, Duration::from_micros(40)));
        assert_eq!(pace.hz(), DEFAULT_HZ);
    }

    #[test]
    fn what_costs_too_much_is_sampled_less_often_and_comes_back_slowly() {
        let mut pace = Pace::new();
        assert!(after(&mut pace, 100, Duration::from_micros(560)));
        assert!((pace.hz() - DEFAULT_HZ / 4.0).abs() < 0.1, "{}", pace.hz());
        assert!(!after(&mut pace, 100, Duration::from_micros(10)));
        assert!((pace.hz() - DEFAULT_HZ / 4.0 * 1.25).abs() < 0.1, "{}", pace.hz());
        after(&mut pace, 100, Duration::from_secs(10));
        assert_eq!(pace.hz(), SLOWEST_HZ);
    }

    #[test]
    fn pauses_vary_about_their_mean() {
        let mut pace = Pace { random: fastrand::Rng::with_seed(1), ..Pace::new() };
        let pauses: Vec<f64> = (0..10_000).map(|_| pace.next_pause().as_secs_f64() * DEFAULT_HZ).collect();
        assert!(pauses.iter().all(|pause| (0.5..=1.5).contains(pause)));
        assert!((pauses.iter().sum::<f64>() / 10_000.0 - 1.0).abs() < 0.01);
    }
}
