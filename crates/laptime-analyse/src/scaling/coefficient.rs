//! Coefficients: the numbers of a law as people know them, with intervals.

use laptime_core::Estimate;
use serde::Serialize;

use super::law::{LEVEL, Spread, width_interval};
use super::least_squares::Row;
use super::model::{Model, Shape};
use super::points::Spot;

/// A named number of a law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coefficient {
    /// Such as `slope`; the same in every law of that shape.
    pub name: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Its value.
    pub value: Estimate,
}

/// What a coefficient is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Seconds for one more of the axis.
    SecondsPerX,
    /// The axis' own unit.
    X,
    /// Rounds of the work a second.
    PerSecond,
    /// A number without unit.
    Plain,
}

/// How an interval lies around its value.
#[derive(Clone, Copy)]
enum Around {
    /// As far below as above.
    Sum,
    /// As many times smaller as larger: for factors, which cannot reach zero.
    Ratio,
    /// As far below as above, but never below zero.
    AboveZero,
}

/// The numbers of the shape.
pub(super) fn coefficients(shape: &Shape, spread: &Spread, spots: &[Spot]) -> Vec<Coefficient> {
    use Around::{AboveZero, Ratio, Sum};
    let [a, b, c] = shape.linear;
    let one = |name, unit, mean, gradient: Row, around| {
        let half = spread.half_width(&gradient);
        Coefficient { name, unit, value: interval(mean, half, around) }
    };
    match shape.model {
        Model::Constant => vec![one("level", Unit::Seconds, a, [1.0, 0.0, 0.0], Sum)],
        Model::Proportional => vec![one("slope", Unit::SecondsPerX, a, [1.0, 0.0, 0.0], Sum)],
        Model::Linear => vec![
            one("intercept", Unit::Seconds, a, [1.0, 0.0, 0.0], AboveZero),
            one("slope", Unit::SecondsPerX, b, [0.0, 1.0, 0.0], Sum),
        ],
        Model::Power => vec![
            one("factor", Unit::Seconds, a, [1.0, 0.0, 0.0], Ratio),
            one("exponent", Unit::Plain, shape.bend, [0.0, 1.0, 0.0], Sum),
        ],
        Model::Usl => vec![
            one("lambda", Unit::PerSecond, 1.0 / a, [-1.0 / a.powi(2), 0.0, 0.0], Ratio),
            one("sigma", Unit::Plain, b / a, [-b / a.powi(2), 1.0 / a, 0.0], AboveZero),
            one("kappa", Unit::Plain, c / a, [-c / a.powi(2), 0.0, 1.0 / a], AboveZero),
        ],
        Model::Hinge => vec![
            one("level", Unit::Seconds, a, [1.0, 0.0, 0.0], Sum),
            one("intercept", Unit::Seconds, a - b * shape.bend, [1.0, -shape.bend, -b], Sum),
            one("slope", Unit::SecondsPerX, b, [0.0, 1.0, 0.0], Sum),
            one("knee", Unit::X, shape.bend, [0.0, 0.0, 1.0], AboveZero),
        ],
        Model::Staircase => {
            let (low, high) = width_interval(shape, spread, spots);
            let width = Estimate { mean: shape.bend, low, high, level: LEVEL };
            vec![
                one("base", Unit::Seconds, a, [1.0, 0.0, 0.0], Sum),
                one("step", Unit::Seconds, b, [0.0, 1.0, 0.0], Sum),
                Coefficient { name: "width", unit: Unit::X, value: width },
            ]
        }
    }
}

fn interval(mean: f64, half: f64, around: Around) -> Estimate {
    let (low, high) = match around {
        Around::Sum => (mean - half, mean + half),
        Around::Ratio => {
            let factor = (half / mean).exp();
            (mean / factor, mean * factor)
        }
        Around::AboveZero => ((mean - half).max(0.0), mean + half),
    };
    Estimate { mean, low, high, level: LEVEL }
}
