//! The pace of a loader: samples a second while batches come, how sure that is, and when it is sure enough.

use crate::statistics::{lag_one_correlation, mean, t_width, variance};

/// The half-width of the 95 % interval to aim for, as a share of the rate.
const PRECISION: f64 = 0.03;
/// A setting that is so much faster than the best so far is only a step on the way to the next.
const CLEARLY_AHEAD: f64 = 1.15;
/// One that can at best be so fast, as a share of the best so far, is not measured on.
const CLEARLY_BEHIND: f64 = 0.98;
/// Seconds that a trial takes at least: shorter, and a scheduler's slice decides.
const SHORTEST_S: f64 = 0.4;
/// Seconds after which a noisy setting is left as it is.
const LONGEST_S: f64 = 3.0;
/// Groups of batches that an interval rests on, and into how many the batches are put.
const FEWEST_GROUPS: usize = 5;
const MOST_GROUPS: usize = 20;

/// What a trial is for, which decides when it has seen enough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Aim {
    /// Samples a second of the best setting so far.
    pub best: Option<f64>,
    /// Whether a setting that is clearly better is followed by the next anyway.
    pub goes_on: bool,
    /// Whether the rate is wanted as sure as can be, however it compares.
    pub in_full: bool,
}

/// Why a trial has seen enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Enough {
    /// Its rate is known to 3 %.
    Precise,
    /// It is slower than the best so far, beyond doubt.
    Behind,
    /// It is so much faster than the best so far that the next is measured instead.
    Ahead,
    /// Its time was over.
    TimeOver,
}

/// Batches as they came, without the first of each worker.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Batches that come together: one a worker.
    round: usize,
    /// Seconds since the batch before, and samples.
    batches: Vec<(f64, u64)>,
}

impl Pace {
    /// Nothing yet, of a loader with so many workers.
    #[must_use]
    pub fn of(workers: u32) -> Self {
        Self { round: workers.max(1) as usize, batches: Vec::new() }
    }

    /// A batch came so many seconds after the one before.
    pub fn take(&mut self, gap_s: f64, samples: u64) {
        self.batches.push((gap_s, samples));
    }

    /// Seconds that the batches took.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.batches.iter().map(|(gap, _)| gap).sum()
    }

    /// Mean time between batches, seconds.
    #[must_use]
    pub fn batch_s(&self) -> Option<f64> {
        (!self.batches.is_empty()).then(|| self.seconds() / self.batches.len() as f64)
    }

    /// Samples a second, over whole rounds of the workers where there are any.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        // Workers keep step, so their batches come in bursts: half a round would be counted as a whole.
        let whole = self.batches.len() / self.round * self.round;
        rate_of(&self.batches[..if whole > 0 { whole } else { self.batches.len() }])
    }

    /// Half the width of the rate's 95 % interval, as a share of it; `None` where batches are too few.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let rates = self.group_rates(MOST_GROUPS);
        if rates.len() < FEWEST_GROUPS {
            return None;
        }
        let count = rates.len() as f64;
        let (mean, variance) = (mean(&rates)?, variance(&rates)?);
        // Neighbours that are alike say less than their number.
        let alike = lag_one_correlation(&rates).clamp(0.0, 0.8);
        let apart = count * (1.0 - alike) / (1.0 + alike);
        Some(t_width(0.95, count - 1.0) * (variance / apart.max(1.0)).sqrt() / mean)
    }

    /// Standard deviation of the rounds' times as a share of their mean: prefetching evens out what is large.
    #[must_use]
    pub fn unevenness(&self) -> Option<f64> {
        let times: Vec<f64> = self
            .batches
            .chunks_exact(self.round)
            .map(|round| round.iter().map(|(gap, _)| gap).sum())
            .collect();
        Some(variance(&times)?.sqrt() / mean(&times)?)
    }

    /// Whether the trial has seen enough, and why.
    #[must_use]
    pub fn enough(&self, aim: &Aim) -> Option<Enough> {
        let seconds = self.seconds();
        let rate = self.rate()?;
        let Some(error) = self.error().filter(|_| seconds >= SHORTEST_S) else {
            return (seconds >= 2.0 * LONGEST_S).then_some(Enough::TimeOver);
        };
        let best = aim.best.filter(|_| !aim.in_full);
        if error <= PRECISION {
            Some(Enough::Precise)
        } else if best.is_some_and(|best| rate * (1.0 + error) < best * CLEARLY_BEHIND) {
            Some(Enough::Behind)
        } else if aim.goes_on && best.is_some_and(|best| rate * (1.0 - error) > best * CLEARLY_AHEAD) {
            Some(Enough::Ahead)
        } else {
            (seconds >= LONGEST_S).then_some(Enough::TimeOver)
        }
    }

    /// Rates of at most so many groups of whole rounds.
    fn group_rates(&self, most: usize) -> Vec<f64> {
        let rounds = self.batches.len() / self.round;
        let group = rounds.div_ceil(most).max(1) * self.round;
        self.batches.chunks_exact(group).filter_map(rate_of).collect()
    }
}

fn rate_of(batches: &[(f64, u64)]) -> Option<f64> {
    let seconds: f64 = batches.iter().map(|(gap, _)| gap).sum();
    let samples: u64 = batches.iter().map(|(_, samples)| samples).sum();
    (seconds > 0.0).then(|| samples as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(workers: u32, gaps: impl IntoIterator<Item = f64>) -> Pace {
        let mut pace = Pace::of(workers);
        gaps.into_iter().for_each(|gap| pace.take(gap, 32));
        pace
    }

    #[test]
    fn batches_that_come_in_bursts_have_the_rate_of_whole_rounds() {
        // Four workers: three batches at once, then a wait; the last round is unfinished.
        let gaps = [0.08, 0.0, 0.0, 0.0].into_iter().cycle().take(4 * 10 + 1);
        let bursts = pace(4, gaps);
        assert!((bursts.rate().unwrap() - 32.0 * 4.0 / 0.08).abs() < 1e-6, "{:?}", bursts.rate());
        assert!(bursts.error().unwrap() < 1e-9 && bursts.unevenness().unwrap() < 1e-9);
    }

    #[test]
    fn an_even_loader_is_known_after_the_shortest_time() {
        let aim = Aim::default();
        assert_eq!(pace(0, vec![0.01; 39]).enough(&aim), None);
        assert_eq!(pace(0, vec![0.01; 41]).enough(&aim), Some(Enough::Precise));
    }

    #[test]
    fn a_loader_that_is_far_behind_is_cut_off_and_one_far_ahead_makes_way() {
        let noisy = pace(0, [0.008, 0.012, 0.009, 0.013, 0.007].into_iter().cycle().take(50));
        let rate = noisy.rate().unwrap();
        let aim = |best: f64| Aim { best: Some(best), goes_on: true, in_full: false };
        assert!(noisy.error().unwrap() > PRECISION, "{:?}", noisy.error());
        assert_eq!(noisy.enough(&aim(rate)), None);
        assert_eq!(noisy.enough(&aim(rate * 2.0)), Some(Enough::Behind));
        assert_eq!(noisy.enough(&aim(rate / 2.0)), Some(Enough::Ahead));
        assert_eq!(noisy.enough(&Aim { in_full: true, ..aim(rate * 2.0) }), None);
    }

    #[test]
    fn noise_that_does_not_settle_ends_with_the_time() {
        let gaps = || [0.005, 0.06, 0.01, 0.09, 0.02, 0.001].into_iter().cycle();
        assert_eq!(pace(0, gaps().take(60)).enough(&Aim::default()), None);
        assert_eq!(pace(0, gaps().take(200)).enough(&Aim::default()), Some(Enough::TimeOver));
    }

    #[test]
    fn two_slow_batches_are_no_measurement_yet() {
        let slow = pace(0, [1.0, 1.1]);
        assert_eq!((slow.error(), slow.enough(&Aim::default())), (None, None));
    }
}
