//! Convergence: how long it takes until the loss is low enough or no longer falls, by the losses so far.
//!
//! Learning curves fall fast, then slowly: `level + fall · (1 + x / d)^-p` or `level + fall · e^(-x / t)`. Nothing says
//! which, so the shapes of a grid are all held against the losses that were seen, and each counts as much as it is
//! likely. Real curves are like none of them, so the same is done with the first part of the losses: how far that was off
//! from what came next widens the interval. Where some curves never reach a loss, there is no answer.

use laptime_core::{Estimate, units};

use super::document::Convergence;
use super::past::Past;
use crate::chance::Chance;
use crate::report::LapKind;
use crate::statistics::{lag_one_correlation, mean, variance};
use crate::time_left::{LEVEL, MOST_CORRELATION, inflation};

/// Stretches of steps whose mean losses make a curve.
const STRETCHES: usize = 48;
/// Fewer stretches or epochs make none.
const FEWEST_STRETCHES: usize = 12;
const FEWEST_EPOCHS: usize = 4;
/// A curve goes on for at most so many times as long as it was seen; what is further off is not known.
const FURTHEST: f64 = 20.0;
/// A curve explains at least this share of how the losses differ, or they have no course.
const LEAST_EXPLAINED: f64 = 0.3;
/// Standard errors by which the newest losses are above the lowest where the loss goes up again.
const UP_AGAIN: f64 = 4.0;
/// Ways that each shape may lie within the noise.
const DRAWS: usize = 8;
/// Losses that a curve has free parameters for.
const PARAMETERS: f64 = 4.0;
/// Curves less likely than this beside the best one do not count.
const UNLIKELY: f64 = 1e-4;
/// Real curves are off from these shapes by at least so much of their range.
const LEAST_NOISE: f64 = 0.005;
/// The parts of the losses from which the rest is predicted to see how far that is off.
const PARTS: [f64; 4] = [0.5, 0.6, 0.7, 0.8];
/// How far a prediction is off for each factor of e that it goes beyond what was seen: at least, and so many times what
/// the parts were off. Holds of curves that are not of the grid, by the tests.
const LEAST_OFF: f64 = 0.1;
const OFF_TIMES: f64 = 1.5;

/// How the loss falls from 1, over a time in units of what was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Power { exponent: f64, delay: f64 },
    Exponential { time: f64 },
}

impl Shape {
    /// All that are held against the losses.
    fn grid() -> Vec<Self> {
        let spaced = |from: f64, times: f64, count: u32| {
            (0..count).map(move |at| from * times.powf(f64::from(at) / f64::from(count - 1)))
        };
        let delays: Vec<f64> = spaced(0.001, 2_000.0, 30).collect();
        let power = spaced(0.1, 50.0, 40)
            .flat_map(|exponent| delays.iter().map(move |delay| Self::Power { exponent, delay: *delay }));
        power.chain(spaced(0.05, 100.0, 60).map(|time| Self::Exponential { time })).collect()
    }

    fn at(self, x: f64) -> f64 {
        match self {
            Self::Power { exponent, delay } => (1.0 + x / delay).powf(-exponent),
            Self::Exponential { time } => (-x / time).exp(),
        }
    }

    /// Where it has fallen to a share above 0.
    fn falls_to(self, share: f64) -> f64 {
        match self {
            Self::Power { exponent, delay } => delay * (share.powf(-1.0 / exponent) - 1.0),
            Self::Exponential { time } => -time * share.ln(),
        }
    }
}

/// A way that the loss may have come and may go on.
#[derive(Clone, Copy, Debug)]
struct Course {
    shape: Shape,
    level: f64,
    fall: f64,
    /// How likely it is, all of them together being 1.
    weight: f64,
}

impl Course {
    fn at(&self, x: f64) -> f64 {
        self.level + self.fall * self.shape.at(x)
    }

    /// Where it comes down to a loss; infinite where it never does.
    fn reaches(&self, loss: f64) -> f64 {
        let share = (loss - self.level) / self.fall;
        if share > 0.0 && self.fall > 0.0 { self.shape.falls_to(share).max(0.0) } else { f64::INFINITY }
    }
}

/// The losses of a training in time order.
struct Losses {
    metric: &'static str,
    /// Epochs or steps until each, and the loss.
    points: Vec<(f64, f64)>,
    /// Epochs or steps that were seen.
    seen: f64,
    /// What they are counted in: `epoch` or `step`.
    unit: &'static str,
    fewest: usize,
}

impl Losses {
    /// Of data that was held out, else of the training; `None` where no loss is known.
    fn of(past: &Past<'_>) -> Option<Self> {
        Self::of_epochs(past, "validation_loss")
            .or_else(|| Self::of_steps(past))
            .or_else(|| Self::of_epochs(past, "loss"))
    }

    /// What was measured at the ends of epochs.
    fn of_epochs(past: &Past<'_>, metric: &'static str) -> Option<Self> {
        let laps = past.laps().filter(|lap| lap.complete && lap.kind != LapKind::Window);
        let (mut points, mut seen) = (Vec::new(), 0.0);
        for lap in laps {
            seen += lap.count as f64;
            let value = if metric == "loss" { lap.loss } else { lap.metrics.get(metric).copied().flatten() };
            points.extend(value.map(|value| (seen, value)));
        }
        let fewest = FEWEST_EPOCHS;
        (!points.is_empty()).then_some(Self { metric, points, seen, unit: "epoch", fewest })
    }

    /// The mean losses of stretches of steps.
    fn of_steps(past: &Past<'_>) -> Option<Self> {
        let points = past.run.step_losses(past.fit.index, STRETCHES)?;
        let per_epoch = past.fit.steps_per_epoch.filter(|steps| *steps > 0 && past.has_epochs());
        let (each, unit) = per_epoch.map_or((1.0, "step"), |steps| (steps as f64, "epoch"));
        let points = points.into_iter().map(|(steps, loss)| (steps / each, loss)).collect();
        let seen = past.fit.steps as f64 / each;
        Some(Self { metric: "loss", points, seen, unit, fewest: FEWEST_STRETCHES })
    }

    fn values(&self) -> Vec<f64> {
        self.points.iter().map(|(_, loss)| *loss).collect()
    }

    /// The first part of them; `None` where that is too little.
    fn first(&self, part: f64) -> Option<Self> {
        let seen = self.seen * part;
        let points: Vec<(f64, f64)> = self.points.iter().copied().filter(|(x, _)| *x <= seen).collect();
        (points.len() >= self.fewest).then_some(Self { points, seen, ..*self })
    }

    /// Times in units of what was seen, and losses.
    fn scaled(&self) -> Vec<(f64, f64)> {
        self.points.iter().map(|(x, loss)| (x / self.seen, *loss)).collect()
    }

    fn counted(&self, count: f64) -> String {
        units::counted(count.ceil() as u64, self.unit)
    }
}

/// All ways in which the losses may go on, and how far one is from its curve.
struct Courses {
    all: Vec<Course>,
    noise: f64,
    /// The loss at the end of what was seen, by the likeliest of them.
    newest: f64,
}

impl Courses {
    /// Those that the losses so far allow.
    fn of(losses: &Losses) -> Result<Self, String> {
        let (values, points) = (losses.values(), losses.scaled());
        if values.iter().any(|loss| !loss.is_finite()) {
            return Err("the loss was not a number".to_owned());
        }
        if values.len() < losses.fewest {
            return Err(format!("{} with a loss were seen", losses.counted(values.len() as f64)));
        }
        let curves: Vec<Curve> =
            Shape::grid().into_iter().filter_map(|shape| Curve::through(shape, &points)).collect();
        let best = curves.iter().min_by(|a, b| a.squares.total_cmp(&b.squares));
        let best = best.ok_or("the loss does not fall")?;
        let spread = variance(&values).unwrap_or(0.0) * (values.len() - 1) as f64;
        if best.squares > (1.0 - LEAST_EXPLAINED) * spread {
            return Err("the loss has hardly fallen so far".to_owned());
        }
        let residuals: Vec<f64> = points.iter().map(|(x, loss)| loss - best.at(*x)).collect();
        let count = values.len() as f64;
        let correlation = lag_one_correlation(&residuals).clamp(0.0, MOST_CORRELATION);
        let noise = best.squares / (count - PARAMETERS).max(1.0);
        if goes_up_again(&values, noise.sqrt()) {
            return Err("the loss goes up again".to_owned());
        }
        // Neighbours that lie on the same side say less together.
        let range =
            values.iter().copied().fold(f64::MIN, f64::max) - values.iter().copied().fold(f64::MAX, f64::min);
        let noise_of_fit = (noise * inflation(count, correlation)).max((LEAST_NOISE * range).powi(2));
        let all = drawn(&curves, best.squares, noise_of_fit);
        Ok(Self { all, noise: noise.sqrt(), newest: best.at(1.0) })
    }

    /// When they come down to a loss that lies ahead, in units of what was seen; infinite where they never do or that is
    /// too far away.
    fn reach(&self, loss: f64) -> [f64; 3] {
        // What has not happened yet does not happen before now.
        let within = |course: &Course| Some(course.reaches(loss).max(1.0)).filter(|x| *x <= FURTHEST);
        self.quantiles(|course| within(course).unwrap_or(f64::INFINITY))
    }

    /// Where nine of ten and half of them have what `of` says; infinite where they never do.
    fn quantiles(&self, of: impl Fn(&Course) -> f64) -> [f64; 3] {
        let mut found: Vec<(f64, f64)> = self.all.iter().map(|course| (of(course), course.weight)).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        [(1.0 - LEVEL) / 2.0, 0.5, 0.5 + LEVEL / 2.0].map(|share| {
            let mut sum = 0.0;
            let at = found.iter().find(|(_, weight)| {
                sum += weight;
                sum >= share - 1e-9
            });
            at.map_or(f64::INFINITY, |(value, _)| *value)
        })
    }
}

/// The best curve of a shape.
struct Curve {
    shape: Shape,
    level: f64,
    fall: f64,
    /// Squared distances of the losses, added up.
    squares: f64,
    /// Sums over the losses: of the shape, of its square, and their number.
    sums: (f64, f64, f64),
}

impl Curve {
    /// By least squares; `None` where the loss would rise. A loss that was never negative will not be.
    fn through(shape: Shape, points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let sum =
            |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(shape.at(*x), *y)).sum::<f64>();
        let (f, ff) = (sum(&|f, _| f), sum(&|f, _| f * f));
        let (y, fy) = (sum(&|_, y| y), sum(&|f, y| f * y));
        let determinant = count * ff - f * f;
        if determinant <= 1e-12 * count * ff {
            return None;
        }
        let (mut level, mut fall) = ((y * ff - f * fy) / determinant, (count * fy - f * y) / determinant);
        if level < 0.0 && points.iter().all(|(_, loss)| *loss >= 0.0) {
            (level, fall) = (0.0, fy / ff);
        }
        let squares = sum(&|f, y| (y - level - fall * f).powi(2));
        (fall > 0.0).then_some(Self { shape, level, fall, squares, sums: (f, ff, count) })
    }

    fn at(&self, x: f64) -> f64 {
        self.level + self.fall * self.shape.at(x)
    }
}

/// Courses around the curves, each as likely as its distance from the losses allows.
fn drawn(curves: &[Curve], least_squares: f64, noise: f64) -> Vec<Course> {
    let mut chance = Chance::new(1);
    let mut all = Vec::with_capacity(curves.len() * DRAWS);
    for curve in curves {
        let weight = (-(curve.squares - least_squares) / (2.0 * noise)).exp();
        if weight < UNLIKELY {
            continue;
        }
        let (f, ff, count) = curve.sums;
        let (mean, spread) = (f / count, ff - f * f / count);
        for _ in 0..DRAWS {
            // The mean of the losses and the slope around it are known independently of each other.
            let slope = chance.normal() * (noise / spread).sqrt();
            let middle = chance.normal() * (noise / count).sqrt();
            let level = curve.level + middle - slope * mean;
            let level = if curve.level >= 0.0 { level.max(0.0) } else { level };
            all.push(Course { shape: curve.shape, level, fall: curve.fall + slope, weight });
        }
    }
    let sum: f64 = all.iter().map(|course| course.weight).sum();
    all.iter_mut().for_each(|course| course.weight /= sum);
    all
}

/// Whether the newest quarter of the losses is clearly above the lowest one before it.
fn goes_up_again(values: &[f64], noise: f64) -> bool {
    let length = (values.len() / 4).max(2);
    let means: Vec<f64> = values.windows(length).filter_map(mean).collect();
    let lowest = means.iter().copied().fold(f64::INFINITY, f64::min);
    let error = noise * (2.0 / length as f64).sqrt();
    means.last().is_some_and(|newest| *newest - lowest > UP_AGAIN * error)
}

/// When a loss that lies ahead is reached, in units of what was seen: low, middle and high, infinite where not at all.
fn reached(losses: &Losses, courses: &Courses, target: f64) -> [f64; 3] {
    let [low, middle, high] = courses.reach(target);
    let width = OFF_TIMES * off_by(losses, courses.newest).max(LEAST_OFF) * middle.max(1.0).ln();
    let high = Some(high.max(middle * width.exp())).filter(|high| *high <= FURTHEST);
    [low.min(middle * (-width).exp()).max(1.0), middle, high.unwrap_or(f64::INFINITY)]
}

/// How far the newest loss would have been off, predicted from parts of what was seen, in logarithms of time and for each
/// factor of e beyond the part.
fn off_by(losses: &Losses, newest: f64) -> f64 {
    let off = PARTS.map(|part| {
        let courses = losses.first(part).and_then(|losses| Courses::of(&losses).ok());
        let Some(courses) = courses else { return 0.0 };
        let [_, middle, _] = courses.reach(newest);
        ((middle * part).ln() / part.ln()).abs()
    });
    off.into_iter().fold(0.0, f64::max)
}

/// How long it takes until the loss is at most so much.
pub(super) fn until_loss(past: &Past<'_>, target: f64) -> Convergence {
    let Some(losses) = Losses::of(past) else { return Convergence::unknown("loss", "no loss was recorded") };
    let answer = Convergence { target: Some(target), ..Convergence::unknown(losses.metric, "") };
    if let Some((x, _)) = losses.points.iter().find(|(_, loss)| *loss <= target) {
        let reached = Estimate { mean: *x, low: *x, high: *x, level: LEVEL };
        return Convergence { laps: Some(reached), unit: losses.unit, reached: true, ..answer };
    }
    let because = |because: String| Convergence { because: Some(because), ..answer.clone() };
    let courses = match Courses::of(&losses) {
        Ok(courses) => courses,
        Err(reason) => return because(reason),
    };
    let [low, middle, high] = reached(&losses, &courses, target).map(|x| x * losses.seen);
    if high.is_finite() {
        let laps = Some(Estimate { mean: middle, low, high, level: LEVEL });
        return Convergence { laps, unit: losses.unit, ..answer };
    }
    if low.is_finite() {
        return because(format!("it takes at least {}, or never comes so far", losses.counted(low)));
    }
    let [least, level, most] = courses.quantiles(|course| course.at(FURTHEST));
    let far = losses.counted(FURTHEST * losses.seen);
    because(format!("after {far} it would be {level:.3} ({least:.3}–{most:.3})"))
}

/// After how many epochs a training ends that ends after so many without a lower loss, and at the latest after `most`.
pub(super) fn until_patience(past: &Past<'_>, patience: u64, most: u64) -> Option<Convergence> {
    let losses = Losses::of_epochs(past, "validation_loss").or_else(|| Losses::of_epochs(past, "loss"))?;
    let answer = Convergence { patience: Some(patience), ..Convergence::unknown(losses.metric, "") };
    let courses = match Courses::of(&losses) {
        Ok(courses) => courses,
        Err(reason) => return Some(Convergence { because: Some(reason), ..answer }),
    };
    let chance = std::cell::RefCell::new(Chance::new(2));
    let stop = |course: &Course| {
        let mut chance = chance.borrow_mut();
        let after = |epoch: u64| course.at(epoch as f64 / losses.seen) + courses.noise * chance.normal();
        ends_after(&losses.values(), losses.seen as u64, (patience, most), after) as f64
    };
    let [low, middle, high] = courses.quantiles(stop);
    let laps = Some(Estimate { mean: middle, low, high, level: LEVEL });
    Some(Convergence { laps, unit: "epoch", ..answer })
}

/// The epoch after which a training ends by its patience, whose losses so far are known and then are drawn.
fn ends_after(
    known: &[f64],
    seen: u64,
    (patience, most): (u64, u64),
    mut next: impl FnMut(u64) -> f64,
) -> u64 {
    let (mut lowest, mut waited) = (f64::INFINITY, 0);
    let mut take = |loss: f64| {
        (lowest, waited) = if loss < lowest { (loss, 0) } else { (lowest, waited + 1) };
        waited >= patience
    };
    known.iter().for_each(|loss| {
        take(*loss);
    });
    (seen + 1..=most).find(|epoch| take(next(*epoch))).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve that was seen for so many epochs, with noise.
    fn losses(count: usize, noise: f64, seed: u64, of: impl Fn(f64) -> f64) -> Losses {
        let mut chance = Chance::new(seed);
        let mut point = |at: usize| (at as f64, of(at as f64) + noise * chance.normal());
        let points = (1..=count).map(&mut point).collect();
        Losses { metric: "loss", points, seen: count as f64, unit: "epoch", fewest: FEWEST_EPOCHS }
    }

    fn epochs_to(losses: &Losses, target: f64) -> Option<[f64; 3]> {
        let found = reached(losses, &Courses::of(losses).ok()?, target);
        found[2].is_finite().then(|| found.map(|x| x * losses.seen))
    }

    #[test]
    fn a_loss_that_lies_ahead_is_reached_within_the_interval() {
        // The last one is none of the shapes.
        let curves: [(&dyn Fn(f64) -> f64, f64); 4] = [
            (&|x| 0.2 + 2.0 * (1.0 + x).powf(-0.7), 60.0),
            (&|x| 0.1 + 2.0 * (-x / 20.0).exp(), 60.0),
            (&|x| 2.0 * (1.0 + x / 3.0).powf(-0.5), 80.0),
            (&|x| 0.1 + (-x / 30.0).exp() + (-x / 5.0).exp(), 80.0),
        ];
        let (mut answered, mut held) = (0, 0);
        for trial in 0..100 {
            let (curve, truth) = curves[trial % 4];
            let found = epochs_to(&losses(40, 0.01, trial as u64, curve), curve(truth));
            answered += usize::from(found.is_some());
            held += usize::from(found.is_some_and(|[low, _, high]| (low..=high).contains(&truth)));
        }
        assert!(answered >= 80, "{answered} answered");
        assert!(held * 10 >= answered * 8, "{held} of {answered} hold");
    }

    #[test]
    fn a_loss_below_where_the_curve_levels_off_has_no_number_of_epochs() {
        let answered = (0..100).filter(|trial| {
            let levels_off = losses(60, 0.01, *trial, |x| 0.5 + 2.0 * (-x / 8.0).exp());
            epochs_to(&levels_off, 0.3).is_some()
        });
        assert!(answered.count() <= 2);
    }

    #[test]
    fn noise_and_a_loss_that_goes_up_again_have_no_course() {
        assert_eq!(epochs_to(&losses(40, 0.1, 1, |_| 1.0), 0.5), None);
        let up = losses(40, 0.01, 1, |x| 0.5 + (-x / 4.0).exp() + (x - 20.0).max(0.0) / 200.0);
        assert_eq!(Courses::of(&up).err().as_deref(), Some("the loss goes up again"));
        let mut broken = losses(40, 0.01, 1, |x| 1.0 / x);
        broken.points[30].1 = f64::NAN;
        assert_eq!(Courses::of(&broken).err().as_deref(), Some("the loss was not a number"));
        assert!(Courses::of(&losses(3, 0.0, 1, |x| 1.0 / x)).is_err());
    }

    #[test]
    fn patience_ends_a_training_once_no_loss_is_lower() {
        let falling = |epoch: u64| 1.0 / epoch as f64;
        assert_eq!(ends_after(&[1.0, 0.5], 2, (3, 20), falling), 20);
        assert_eq!(ends_after(&[1.0, 0.5], 2, (3, 20), |_| 0.6), 5);
        // One of the epochs so far has waited already.
        assert_eq!(ends_after(&[0.5, 0.6], 2, (3, 20), |_| 0.6), 4);
        assert_eq!(ends_after(&[1.0, 0.5], 2, (3, 4), |_| 0.6), 4);
    }
}
