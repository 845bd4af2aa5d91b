//! Planted laws: simulated sweeps over programs whose law is known.
//!
//! The sweeps are as people make them: five to seven values a factor of 2 or 3 apart (batch, rows), six
//! counts of workers, sixteen even values for stairs; five repeats of each. The mean of a repeat varies by 3 %
//! (standard deviation; evenly, or right-skewed as timings are) or by 3 % with one repeat in ten hit by a
//! burst that makes it 12 % slower. The planted times are means, so every noise has a mean of one.

use super::model::Shape;
use super::*;
use crate::chance::Chance;

/// Trials of each law under each noise.
const TRIALS: u64 = 200;
const REPEATS: usize = 5;

/// How the repeats of a simulated sweep vary, each by this share of the time.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Even(f64),
    Skewed(f64),
    Bursts(f64),
}

const NOISES: [Noise; 3] = [Noise::Even(0.03), Noise::Skewed(0.03), Noise::Bursts(0.03)];

impl Noise {
    fn factor(self, chance: &mut Chance) -> f64 {
        match self {
            Self::Even(size) => 1.0 + size * chance.normal(),
            // An exponential tail above a fastest possible time.
            Self::Skewed(size) => 1.0 - size - size * (1.0 - chance.uniform()).ln(),
            Self::Bursts(size) => {
                let burst = if chance.uniform() < 0.1 { 4.0 * size } else { 0.0 };
                1.0 - 0.4 * size + burst + size * chance.normal()
            }
        }
    }
}

/// A program whose law is known.
struct Planted {
    axis: Axis,
    shape: Shape,
    xs: Vec<f64>,
    truths: Vec<(&'static str, f64)>,
}

/// What became of the trials, as shares of them.
#[derive(Debug)]
struct Rates {
    right: f64,
    /// Of each coefficient: how often its interval held the truth where the model was right.
    covered: Vec<(&'static str, f64)>,
    /// How often one more repeat at twice the largest value fell into its interval.
    predicted: f64,
}

fn doubling() -> Vec<f64> {
    (0..7).map(|step| 16.0 * 2f64.powi(step)).collect()
}

fn planted(axis: Axis, model: Model, linear: [f64; 3], bend: f64, xs: Vec<f64>) -> Planted {
    let [a, b, c] = linear;
    let truths = match model {
        Model::Constant => vec![("level", a)],
        Model::Proportional => vec![("slope", a)],
        Model::Linear => vec![("intercept", a), ("slope", b)],
        Model::Power => vec![("factor", a), ("exponent", bend)],
        Model::Usl => vec![("lambda", 1.0 / a), ("sigma", b / a), ("kappa", c / a)],
        Model::Hinge => vec![("level", a), ("intercept", a - b * bend), ("slope", b), ("knee", bend)],
        Model::Staircase => vec![("base", a), ("step", b), ("width", bend)],
    };
    Planted { axis, shape: Shape { model, linear, bend }, xs, truths }
}

impl Planted {
    fn sweep(&self, noise: Noise, chance: &mut Chance) -> Vec<Point> {
        let point = |x: &f64| {
            let means: Vec<f64> = (0..REPEATS).map(|_| self.shape.at(*x) * noise.factor(chance)).collect();
            Point::new(*x, &means)
        };
        self.xs.iter().map(point).collect()
    }

    fn rates(&self, noise: Noise) -> Rates {
        let (mut right, mut predicted) = (0, 0);
        let mut covered = vec![0; self.truths.len()];
        for trial in 0..TRIALS {
            let mut chance = Chance::new(first_seed() + trial);
            let points = self.sweep(noise, &mut chance);
            let law = ScalingLaw::through(&points, self.axis).unwrap();
            if law.model != self.shape.model {
                continue;
            }
            right += 1;
            for (covered, (name, truth)) in covered.iter_mut().zip(&self.truths) {
                let value = law.coefficient(name).unwrap();
                *covered += u32::from((value.low..=value.high).contains(truth));
            }
            let beyond = 2.0 * law.range.1;
            let ahead = law.predict(beyond).unwrap();
            assert!(ahead.extrapolated);
            let next = self.shape.at(beyond) * noise.factor(&mut chance);
            predicted += u32::from((ahead.time.low..=ahead.time.high).contains(&next));
        }
        let share = |count: u32| f64::from(count) / f64::from(right);
        let covered = self.truths.iter().zip(covered).map(|((name, _), count)| (*name, share(count)));
        Rates {
            right: f64::from(right) / TRIALS as f64,
            covered: covered.collect(),
            predicted: share(predicted),
        }
    }

    /// Holds every rate against the bar.
    fn check(&self) {
        for noise in NOISES {
            let rates = self.rates(noise);
            println!("{:?} {noise:?}: {rates:?}", self.shape.model);
            assert!(rates.right >= 0.95, "{:?} under {noise:?}: {rates:?}", self.shape.model);
            for (name, share) in &rates.covered {
                // Points stand on the same stairs within a range of widths, which is known for sure.
                let most = if *name == "width" { 1.0 } else { 0.99 };
                assert!((0.9..=most).contains(share), "{name} under {noise:?}: {rates:?}");
            }
            assert!(rates.predicted >= 0.9, "{noise:?}: {rates:?}");
        }
    }
}

/// Where the seeds begin; another begin must not change the outcome, and can be tried.
fn first_seed() -> u64 {
    std::env::var("LAPTIME_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

#[test]
fn time_that_does_not_change_is_found_constant() {
    planted(Axis::Setting, Model::Constant, [5e-3, 0.0, 0.0], 0.0, doubling()).check();
}

#[test]
fn an_epoch_that_grows_with_its_rows_is_found_linear() {
    let rows = vec![1e3, 3e3, 1e4, 3e4, 1e5];
    planted(Axis::Work, Model::Linear, [9e-3, 1.24e-5, 0.0], 0.0, rows).check();
}

#[test]
fn an_epoch_that_is_nothing_but_its_rows_is_found_proportional() {
    let rows = vec![1e3, 3e3, 1e4, 3e4, 1e5];
    planted(Axis::Work, Model::Proportional, [1.24e-5, 0.0, 0.0], 0.0, rows).check();
}

#[test]
fn a_step_that_grows_with_its_batch_is_found_linear() {
    planted(Axis::Work, Model::Linear, [41e-6, 0.11e-6, 0.0], 0.0, doubling()).check();
}

#[test]
fn powers_are_found() {
    planted(Axis::Work, Model::Power, [2e-5, 0.0, 0.0], 0.7, doubling()).check();
    planted(Axis::Setting, Model::Power, [2e-8, 0.0, 0.0], 2.0, doubling()).check();
}

#[test]
fn a_step_that_is_flat_until_the_device_is_full_is_found_a_hinge() {
    planted(Axis::Work, Model::Hinge, [8e-3, 1.74e-4, 0.0], 40.0, doubling()).check();
    planted(Axis::Work, Model::Hinge, [8e-3, 4e-5, 0.0], 200.0, doubling()).check();
}

#[test]
fn a_step_that_is_padded_to_tiles_is_found_a_staircase() {
    let even = (1..=16).map(|step| 16.0 * f64::from(step)).collect();
    planted(Axis::Work, Model::Staircase, [2e-3, 5e-3, 0.0], 64.0, even).check();
}

#[test]
fn workers_that_hinder_each_other_follow_the_scalability_law() {
    let workers = || vec![1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
    planted(Axis::Workers, Model::Usl, [0.2, 0.01, 0.002], 0.0, workers()).check();
    planted(Axis::Workers, Model::Usl, [0.2, 0.04, 0.004], 0.0, workers()).check();
}

#[test]
fn points_that_are_off_their_law_in_every_repeat_seldom_make_it_another() {
    let constant = planted(Axis::Work, Model::Constant, [5e-3, 0.0, 0.0], 0.0, doubling());
    let line = planted(Axis::Work, Model::Linear, [41e-5, 0.11e-5, 0.0], 0.0, doubling());
    for planted in [constant, line] {
        let right = (0..TRIALS).filter(|trial| {
            let mut chance = Chance::new(first_seed() + trial);
            let mut points = planted.sweep(Noise::Skewed(0.01), &mut chance);
            for point in &mut points {
                let off = 1.0 + 0.03 * chance.normal();
                point.blocks.iter_mut().for_each(|block| block.mean *= off);
            }
            ScalingLaw::through(&points, planted.axis).unwrap().model == planted.shape.model
        });
        let share = right.count() as f64 / TRIALS as f64;
        println!("{:?} with points 3 % off: {share}", planted.shape.model);
        // Found in 87-98 % over several seeds; by repeats alone it would be half.
        assert!(share >= 0.8, "{:?}: {share}", planted.shape.model);
    }
}

#[test]
fn equal_settings_are_called_different_in_at_most_one_list_of_twenty() {
    let trials = 2_000;
    for (count, repeats) in [(2, 3), (2, 5), (4, 5)] {
        for noise in NOISES {
            let different = (0..trials).filter(|trial| {
                let mut chance = Chance::new(first_seed() + trial);
                let mut times = || (0..repeats).map(|_| 0.2 * noise.factor(&mut chance)).collect();
                let settings: Vec<Vec<f64>> = (0..count).map(|_| times()).collect();
                let claims = |c: &Comparison| matches!(c.verdict, Verdict::Faster | Verdict::Slower);
                compare(&settings).iter().any(claims)
            });
            let share = different.count() as f64 / trials as f64;
            println!("{count} equal settings, {repeats} repeats, {noise:?}: {share}");
            assert!(share <= 0.05, "{count} settings under {noise:?}: {share}");
        }
    }
}

#[test]
fn a_difference_of_a_fifth_is_found() {
    let trials = 200;
    for noise in NOISES {
        let found = (0..trials).filter(|trial| {
            let mut chance = Chance::new(first_seed() + trial);
            let mut times = |mean: f64| (0..REPEATS).map(|_| mean * noise.factor(&mut chance)).collect();
            let settings: [Vec<f64>; 2] = [times(0.2), times(0.24)];
            compare(&settings)[0].verdict == Verdict::Faster
        });
        assert!(found.count() as f64 >= 0.95 * trials as f64, "{noise:?}");
    }
}

#[test]
fn noise_larger_than_the_effect_is_said_to_be_so() {
    let planted = planted(Axis::Setting, Model::Linear, [5e-3, 5e-7, 0.0], 0.0, doubling());
    let trials = |noise: Noise, verdict: &dyn Fn(Certainty) -> bool| {
        let trial = |trial: &u64| {
            let points = planted.sweep(noise, &mut Chance::new(first_seed() + trial));
            verdict(ScalingLaw::through(&points, Axis::Setting).unwrap().certainty)
        };
        (0..100).filter(trial).count()
    };
    let cannot_tell = |certainty| matches!(certainty, Certainty::CannotTell { up_to } if up_to > 0.1);
    let follows = |certainty| certainty == Certainty::Follows;
    assert!(trials(Noise::Skewed(0.3), &cannot_tell) >= 95, "10 % of change under 30 % of noise");
    assert!(trials(Noise::Skewed(0.02), &follows) >= 95, "10 % of change under 2 % of noise");
}

#[test]
fn intervals_grow_with_the_distance_from_the_points() {
    let planted = planted(Axis::Work, Model::Linear, [41e-6, 0.11e-6, 0.0], 0.0, doubling());
    let points = planted.sweep(Noise::Skewed(0.03), &mut Chance::new(3));
    let law = ScalingLaw::through(&points, Axis::Work).unwrap();
    let width = |x: f64| {
        let ahead = law.predict(x).unwrap();
        (ahead.time.high - ahead.time.low) / ahead.time.mean
    };
    assert!(!law.predict(1024.0).unwrap().extrapolated);
    assert!(width(1024.0) < width(2048.0) && width(2048.0) < width(8192.0));
    assert!(width(16.0) < width(4.0));
    assert_eq!(law.predict(f64::NAN), None);
}
