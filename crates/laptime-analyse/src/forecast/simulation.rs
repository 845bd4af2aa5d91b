//! Simulation: workers that load batches ahead of a model that computes, step by step.
//!
//! The mean of a step is more than the longer of loading and computing in the mean: a slow batch is waited for, and a
//! quick one is not stored beyond what is loaded ahead. So the stages are drawn from those that were measured, in
//! stretches that keep their bursts. A change is simulated with the same draws as what it is held against.

use crate::chance::Chance;

/// Samples that are drawn together, so that bursts stay bursts.
const STRETCH: usize = 8;

/// The stages of a step: their means, and how they vary around them.
#[derive(Clone, Debug, PartialEq)]
pub struct StageTimes {
    /// Computing, seconds.
    pub compute_s: f64,
    /// Loading of a batch by one worker, seconds.
    pub load_s: f64,
    /// Computing of steps in time order over their mean; nothing where it does not vary.
    pub compute_shape: Vec<f64>,
    /// The same of loading.
    pub load_shape: Vec<f64>,
}

/// Processes that load batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loader {
    /// How many; 0 loads between the steps.
    pub workers: u64,
    /// Batches that each loads ahead.
    pub ahead: u64,
    /// What they take to start at the begin of an epoch, seconds.
    pub start_s: f64,
}

/// Mean time of a step over epochs of so many steps, until `steps` are done; seconds.
#[must_use]
pub fn simulated_step_s(stages: &StageTimes, loader: &Loader, epoch: u64, steps: u64) -> f64 {
    let mut draws = Draws::of(stages);
    let (epoch, steps) = (epoch.max(1), steps.max(1));
    let (mut seconds, mut done) = (0.0, 0_u64);
    while done < steps {
        let length = epoch.min(steps - done);
        seconds += match loader.workers {
            0 => (0..length).map(|_| draws.load() + draws.compute()).sum::<f64>(),
            _ => loader.start_s + epoch_s(&mut draws, loader, length),
        };
        done += length;
    }
    seconds / steps as f64
}

/// One epoch whose workers begin with nothing loaded: batch i is loaded by worker i modulo their number, once it has
/// loaded its last one and there is room; batches are taken in order.
fn epoch_s(draws: &mut Draws<'_>, loader: &Loader, steps: u64) -> f64 {
    let workers = usize::try_from(loader.workers).unwrap_or(usize::MAX).clamp(1, 4_096);
    let room = workers.saturating_mul(usize::try_from(loader.ahead).unwrap_or(1).clamp(1, 1_024));
    let mut loaded = vec![0.0_f64; workers];
    let mut taken = vec![0.0_f64; room];
    let mut now = 0.0_f64;
    let (mut worker, mut place) = (0, 0);
    for _ in 0..steps {
        // The place of this batch is free when the batch that had it before was taken.
        loaded[worker] = loaded[worker].max(taken[place]) + draws.load();
        now = now.max(loaded[worker]);
        taken[place] = now;
        now += draws.compute();
        worker = if worker + 1 == workers { 0 } else { worker + 1 };
        place = if place + 1 == room { 0 } else { place + 1 };
    }
    now
}

/// Draws of both stages, each with chance of its own: what one stage draws does not depend on the other.
struct Draws<'a> {
    compute: Draw<'a>,
    load: Draw<'a>,
}

impl<'a> Draws<'a> {
    fn of(stages: &'a StageTimes) -> Self {
        Self {
            compute: Draw::new(1, stages.compute_s, &stages.compute_shape),
            load: Draw::new(2, stages.load_s, &stages.load_shape),
        }
    }

    fn compute(&mut self) -> f64 {
        self.compute.next()
    }

    fn load(&mut self) -> f64 {
        self.load.next()
    }
}

/// Draws of one stage.
struct Draw<'a> {
    chance: Chance,
    mean: f64,
    shape: &'a [f64],
    at: usize,
    left: usize,
}

impl<'a> Draw<'a> {
    fn new(seed: u64, mean: f64, shape: &'a [f64]) -> Self {
        Self { chance: Chance::new(seed), mean, shape, at: 0, left: 0 }
    }

    fn next(&mut self) -> f64 {
        if self.shape.is_empty() {
            return self.mean;
        }
        if self.left == 0 {
            self.at = (self.chance.uniform() * self.shape.len() as f64) as usize;
            self.left = STRETCH;
        }
        let value = self.shape[self.at.min(self.shape.len() - 1)];
        self.at = if self.at + 1 >= self.shape.len() { 0 } else { self.at + 1 };
        self.left -= 1;
        self.mean * value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn even(compute_s: f64, load_s: f64) -> StageTimes {
        StageTimes { compute_s, load_s, compute_shape: Vec::new(), load_shape: Vec::new() }
    }

    fn workers(workers: u64) -> Loader {
        Loader { workers, ahead: 2, start_s: 0.0 }
    }

    fn step_s(stages: &StageTimes, loader: &Loader) -> f64 {
        simulated_step_s(stages, loader, 10_000, 10_000)
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.01, "{found}, not {expected}");
    }

    #[test]
    fn without_workers_a_step_loads_and_then_computes() {
        near(step_s(&even(0.02, 0.03), &workers(0)), 0.05);
    }

    #[test]
    fn even_stages_take_as_long_as_the_longer_one() {
        near(step_s(&even(0.02, 0.03), &workers(1)), 0.03);
        near(step_s(&even(0.02, 0.03), &workers(2)), 0.02);
        near(step_s(&even(0.01, 0.06), &workers(3)), 0.02);
    }

    #[test]
    fn stages_that_vary_take_longer_than_the_longer_one_and_less_so_the_more_is_loaded_ahead() {
        let shape: Vec<f64> = (0..40).map(|at| if at % 10 == 0 { 5.5 } else { 0.5 }).collect();
        let stages = StageTimes { load_shape: shape, ..even(0.02, 0.02) };
        let (short, long) = (Loader { ahead: 1, ..workers(1) }, Loader { ahead: 32, ..workers(1) });
        let (short, long) = (step_s(&stages, &short), step_s(&stages, &long));
        assert!(short > 1.2 * 0.02 && long < short && long >= 0.02, "{short} {long}");
    }

    #[test]
    fn short_epochs_pay_for_the_start_of_workers_and_for_the_first_batch() {
        let started = Loader { start_s: 0.5, ..workers(2) };
        near(simulated_step_s(&even(0.02, 0.03), &started, 10, 1_000), 0.02 + (0.5 + 0.03) / 10.0);
    }

    proptest! {
        #[test]
        fn a_step_takes_at_least_each_stage_and_at_most_both(
            compute in 0.001..0.1_f64, load in 0.001..0.1_f64, count in 1_u64..9, ahead in 1_u64..5
        ) {
            let loader = Loader { workers: count, ahead, start_s: 0.0 };
            let found = simulated_step_s(&even(compute, load), &loader, 2_000, 2_000);
            let least = compute.max(load / count as f64);
            prop_assert!(found >= least * 0.999 && found <= (compute + load) * 1.001, "{}", found);
        }

        #[test]
        fn more_workers_are_never_slower(
            compute in 0.001..0.1_f64, load in 0.001..0.1_f64, count in 1_u64..9,
            shape in prop::collection::vec(0.1..3.0_f64, 1..30)
        ) {
            let stages = StageTimes { load_shape: shape, ..even(compute, load) };
            let of = |count| simulated_step_s(&stages, &workers(count), 2_000, 2_000);
            prop_assert!(of(count + 1) <= of(count) * 1.001);
        }
    }
}
