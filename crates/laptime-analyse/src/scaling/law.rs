//! Law: the chosen shape with its intervals, and what follows from it.

use laptime_core::Estimate;
use serde::Serialize;

use super::axis::Axis;
use super::candidate::{fitted, widths};
use super::choice::{MATERIAL, chosen};
use super::coefficient::{Coefficient, coefficients};
use super::least_squares::{MOST, Normal, Row, variance_along};
use super::model::{Model, Shape};
use super::points::{Point, Spot, count, spots};
use crate::statistics::{t_width, variance_ratio_above};

/// The level of every interval.
pub(super) const LEVEL: f64 = 0.95;
/// No timing repeats better than this share of itself, so no interval is narrower.
pub(super) const BEST_REPEAT: f64 = 1e-3;
/// A change along the whole axis that nobody would act on.
const NO_CHANGE: f64 = 0.1;

/// How time changes along one axis.
#[derive(Clone, Debug)]
pub struct ScalingLaw {
    /// Its shape.
    pub model: Model,
    /// Its numbers with their intervals.
    pub coefficients: Vec<Coefficient>,
    /// Share of the variance between the points that it explains, with the weights of the fit.
    pub r2: f64,
    /// How certain it is.
    pub certainty: Certainty,
    /// The smallest and the largest value measured.
    pub range: (f64, f64),
    pub(super) axis: Axis,
    pub(super) shape: Shape,
    pub(super) spots: Vec<Spot>,
    pub(super) spread: Spread,
}

/// Whether the points show how time changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Time follows the law.
    Follows,
    /// Time does not change by more than this share along the whole axis.
    Unchanged {
        /// The largest change the points allow.
        within: f64,
    },
    /// The noise is larger than the effect: changes up to this share could hide in it.
    CannotTell {
        /// The largest change the points allow.
        up_to: f64,
    },
}

/// A law's answer for one value of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Seconds.
    pub time: Estimate,
    /// Whether the value lies outside those measured.
    pub extrapolated: bool,
}

/// How unsure the numbers of a law are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// Covariance of the unknowns.
    covariance: [Row; MOST],
    /// Variance of one repeat, relative to the time squared.
    repeat: f64,
    degrees: f64,
}

impl ScalingLaw {
    /// The law through the points, its shape chosen by cross-validation.
    ///
    /// `None` where nothing was repeated often enough to put an interval around it.
    #[must_use]
    pub fn through(points: &[Point], axis: Axis) -> Option<Self> {
        let spots = on_axis(points, axis);
        let shape = chosen(&spots, axis)?;
        Self::of_shape(shape, spots, axis)
    }

    /// The law of a shape that is known beforehand.
    #[must_use]
    pub fn of_model(points: &[Point], axis: Axis, model: Model) -> Option<Self> {
        let spots = on_axis(points, axis);
        let shape = fitted(model, &spots)?;
        Self::of_shape(shape, spots, axis)
    }

    fn of_shape(shape: Shape, spots: Vec<Spot>, axis: Axis) -> Option<Self> {
        let spread = Spread::around(&shape, &spots)?;
        let certainty = if shape.model == Model::Constant { steadiness(&spots)? } else { Certainty::Follows };
        Some(Self {
            model: shape.model,
            coefficients: coefficients(&shape, &spread, &spots),
            r2: r2(&shape, &spots),
            certainty,
            range: (spots.first()?.x, spots.last()?.x),
            axis,
            shape,
            spread,
            spots,
        })
    }

    /// Whether that value lies outside those measured.
    #[must_use]
    pub fn is_extrapolated(&self, x: f64) -> bool {
        x < self.range.0 || x > self.range.1
    }

    /// The mean time at `x`: what many repeats would average to. `None` where the law has no meaning.
    #[must_use]
    pub fn mean_at(&self, x: f64) -> Option<Prediction> {
        self.estimate(x, 0.0)
    }

    /// The time one more repeat at `x` would take.
    #[must_use]
    pub fn predict(&self, x: f64) -> Option<Prediction> {
        self.estimate(x, self.spread.repeat)
    }

    /// The measured means at every value of the axis, each with the interval its repeats leave.
    #[must_use]
    pub fn measured(&self) -> Vec<(f64, Estimate)> {
        let width = t_width(LEVEL, self.spread.degrees) * self.spread.repeat.sqrt();
        let one = |spot: &Spot| {
            let half = width * spot.y / spot.weight.sqrt();
            (spot.x, Estimate { mean: spot.y, low: spot.y - half, high: spot.y + half, level: LEVEL })
        };
        self.spots.iter().map(one).collect()
    }

    fn estimate(&self, x: f64, repeat: f64) -> Option<Prediction> {
        if !x.is_finite() || !super::candidate::defined_at(self.model, x) || !self.axis.holds(x) {
            return None;
        }
        let mean = self.shape.at(x);
        let drift = self.drift() * self.distance(x);
        let variance =
            self.spread.variance(&self.shape.gradient(x)) + (repeat + drift.powi(2)) * mean.powi(2);
        let half = t_width(LEVEL, self.spread.degrees) * variance.sqrt();
        let time = Estimate { mean, low: (mean - half).max(0.0), high: mean + half, level: LEVEL };
        let sensible = mean > 0.0 && half.is_finite();
        sensible.then_some(Prediction { time, extrapolated: self.is_extrapolated(x) })
    }

    /// The share by which time may leave the law for each doubling beyond the points: laws that are closer
    /// than [`MATERIAL`] or the noise of a repeat look the same inside, and part outside.
    fn drift(&self) -> f64 {
        MATERIAL.max(self.spread.repeat.sqrt())
    }

    /// How many doublings `x` lies beyond the points; where there is none, how many lengths of the axis.
    fn distance(&self, x: f64) -> f64 {
        let (low, high) = self.range;
        let length = (high - low).max(f64::MIN_POSITIVE);
        if x > high {
            if high > 0.0 { (x / high).log2() } else { (x - high) / length }
        } else if x < low {
            if x > 0.0 { (low / x).log2() } else { (low - x) / length }
        } else {
            0.0
        }
    }
}

fn on_axis(points: &[Point], axis: Axis) -> Vec<Spot> {
    let mut spots = spots(points);
    spots.retain(|spot| axis.holds(spot.x));
    spots
}

impl Spread {
    /// How unsure the shape is, from the distances of the blocks from it.
    ///
    /// Where the points miss the shape by more than their repeats scatter, the repeats are no measure of how
    /// sure the shape is: then only the points count. `None` where there is nothing left to measure by.
    fn around(shape: &Shape, spots: &[Spot]) -> Option<Self> {
        let (blocks, points) = (count(spots) as f64, spots.len() as f64);
        let unknowns = shape.model.unknowns() as f64;
        let expected = |spot: &Spot| shape.at(spot.x).max(0.2 * spot.y);
        let missed: f64 =
            spots.iter().map(|s| s.weight * ((s.y - shape.at(s.x)) / expected(s)).powi(2)).sum();
        let scattered: f64 = spots.iter().map(|s| s.scatter() * (s.y / expected(s)).powi(2)).sum();
        let (between, within) = (points - unknowns, blocks - points);
        let misses = between > 0.0 && within > 0.0 && {
            let ratio = (missed / between) / (scattered / within);
            !ratio.is_finite() || variance_ratio_above(ratio, between, within) < 1.0 - LEVEL
        };
        let (sum, degrees) =
            if misses { (missed, between) } else { (missed + scattered, between.max(0.0) + within) };
        if degrees < 1.0 {
            return None;
        }
        let floor = BEST_REPEAT.powi(2) * blocks / points;
        let repeat = (sum / degrees).max(floor);
        let rows = spots
            .iter()
            .map(|spot| (shape.gradient(spot.x), 0.0, spot.weight / (repeat * expected(spot).powi(2))));
        let covariance = Normal::of(shape.smooth_unknowns(), &rows.collect::<Vec<_>>()).inverse()?;
        Some(Self { covariance, repeat, degrees })
    }

    /// The variance of what has that gradient in the unknowns.
    pub(super) fn variance(&self, gradient: &Row) -> f64 {
        variance_along(&self.covariance, gradient)
    }

    /// Half the width of the interval of what has that gradient.
    pub(super) fn half_width(&self, gradient: &Row) -> f64 {
        t_width(LEVEL, self.degrees) * self.variance(gradient).sqrt()
    }

    /// By how much the sum of squares may exceed the least one inside the interval of one unknown.
    pub(super) fn allowance(&self) -> f64 {
        self.repeat * t_width(LEVEL, self.degrees).powi(2)
    }
}

/// The share of the variance between the points that the shape explains.
fn r2(shape: &Shape, spots: &[Spot]) -> f64 {
    let weight = |spot: &Spot| spot.weight / spot.y.powi(2);
    let total: f64 = spots.iter().map(weight).sum();
    let mean = spots.iter().map(|spot| weight(spot) * spot.y).sum::<f64>() / total;
    let squares = |value: &dyn Fn(&Spot) -> f64| -> f64 {
        spots.iter().map(|spot| weight(spot) * (spot.y - value(spot)).powi(2)).sum()
    };
    let (left, all) = (squares(&|spot| shape.at(spot.x)), squares(&|_| mean));
    if all > 0.0 { (1.0 - left / all).clamp(0.0, 1.0) } else { 0.0 }
}

/// Whether time that seems constant is, or could change unseen: the change along the axis that a straight
/// line through the points, one step from each to the next, allows.
fn steadiness(spots: &[Spot]) -> Option<Certainty> {
    if spots.len() < 2 {
        return Some(Certainty::Unchanged { within: 0.0 });
    }
    let evenly: Vec<Spot> =
        spots.iter().enumerate().map(|(at, spot)| Spot { x: at as f64, ..spot.clone() }).collect();
    let line = fitted(Model::Linear, &evenly)?;
    let spread = Spread::around(&line, &evenly)?;
    let steps = (spots.len() - 1) as f64;
    let half = spread.half_width(&[0.0, steps, 0.0]);
    let change = (line.linear[1].abs() * steps + half) / line.at(0.5 * steps);
    Some(if change <= NO_CHANGE {
        Certainty::Unchanged { within: change }
    } else {
        Certainty::CannotTell { up_to: change }
    })
}

/// The widths within whose interval the stairs fit almost as well as on the best.
pub(super) fn width_interval(shape: &Shape, spread: &Spread, spots: &[Spot]) -> (f64, f64) {
    let miss = |shape: &Shape| -> f64 {
        spots.iter().map(|spot| spot.weight * (1.0 - shape.at(spot.x) / spot.y).powi(2)).sum()
    };
    let least = miss(shape);
    let fits = |range: &(f64, f64)| {
        super::candidate::with_bend(Model::Staircase, range.0, spots)
            .is_some_and(|other| miss(&other) <= least + spread.allowance())
    };
    let all: Vec<(f64, f64)> = widths(spots).into_iter().filter(fits).collect();
    let low = all.iter().map(|range| range.0).fold(shape.bend, f64::min);
    let high = all.iter().map(|range| range.1).fold(shape.bend, f64::max);
    (low, high)
}
