//! Models: the shapes a law of time may have.

use serde::Serialize;

use super::least_squares::{MOST, Row};

/// The shape of a law; each is time in seconds as a function of one number, in the order in which they are
/// preferred when they explain the points equally well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Always the same: `a`.
    Constant,
    /// As much more as there is more of `x`: `b·x`.
    Proportional,
    /// A line: `a + b·x`, where `a` is no time below zero.
    Linear,
    /// A power: `a·x^p`.
    Power,
    /// The Universal Scalability Law of `n` workers: `(1 + σ(n-1) + κn(n-1)) / (λn)`.
    Usl,
    /// Flat until a knee, then a line.
    Hinge,
    /// A step up at every multiple of a width: `a + b·ceil(x / w)`.
    Staircase,
}

/// A model with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) model: Model,
    /// What the time is linear in.
    pub(super) linear: Row,
    /// The exponent, the knee or the width; of the others not used.
    pub(super) bend: f64,
}

impl Model {
    /// The unknowns the time is linear in.
    pub(super) fn linear_unknowns(self) -> usize {
        match self {
            Self::Constant | Self::Proportional | Self::Power => 1,
            Self::Linear | Self::Hinge | Self::Staircase => 2,
            Self::Usl => 3,
        }
    }

    /// All unknowns.
    pub(super) fn unknowns(self) -> usize {
        self.linear_unknowns() + usize::from(matches!(self, Self::Power | Self::Hinge | Self::Staircase))
    }

    /// The values of `x` needed to distinguish it from the simpler ones.
    pub(super) fn points_needed(self) -> usize {
        self.unknowns() + usize::from(matches!(self, Self::Power | Self::Usl | Self::Hinge | Self::Staircase))
    }

    /// What the linear unknowns are multiplied by at `x`.
    pub(super) fn columns(self, bend: f64, x: f64) -> Row {
        match self {
            Self::Constant => [1.0, 0.0, 0.0],
            Self::Proportional => [x, 0.0, 0.0],
            Self::Linear => [1.0, x, 0.0],
            Self::Power => [x.powf(bend), 0.0, 0.0],
            Self::Usl => [1.0 / x, (x - 1.0) / x, x - 1.0],
            Self::Hinge => [1.0, (x - bend).max(0.0), 0.0],
            Self::Staircase => [1.0, stairs(x, bend), 0.0],
        }
    }

    /// Whether these numbers are such a law and not another one in disguise.
    pub(super) fn admits(self, linear: &Row) -> bool {
        match self {
            Self::Constant | Self::Proportional | Self::Power => linear[0] > 0.0,
            Self::Linear => linear[0] >= 0.0,
            Self::Usl => linear[0] > 0.0 && linear.iter().all(|value| *value >= 0.0),
            Self::Hinge | Self::Staircase => linear[0] >= 0.0 && linear[1] > 0.0,
        }
    }
}

/// `ceil(x / width)`, safe against `x` that is a multiple of the width up to rounding.
pub(super) fn stairs(x: f64, width: f64) -> f64 {
    (x / width - 1e-9).ceil()
}

impl Shape {
    /// The time at `x`, seconds.
    pub(super) fn at(&self, x: f64) -> f64 {
        let columns = self.model.columns(self.bend, x);
        columns.iter().zip(self.linear).map(|(column, factor)| column * factor).sum()
    }

    /// How the time at `x` changes with each unknown: the linear ones, then the bend.
    ///
    /// A width jumps from one set of stairs to the next, so around it there is no slope.
    pub(super) fn gradient(&self, x: f64) -> Row {
        let mut gradient = self.model.columns(self.bend, x);
        match self.model {
            Model::Power => gradient[1] = self.linear[0] * gradient[0] * x.ln(),
            Model::Hinge => gradient[2] = if x > self.bend { -self.linear[1] } else { 0.0 },
            Model::Constant | Model::Proportional | Model::Linear | Model::Usl | Model::Staircase => {}
        }
        gradient
    }

    /// How many entries of the gradient are in use.
    pub(super) fn smooth_unknowns(&self) -> usize {
        let stairs = usize::from(self.model == Model::Staircase);
        debug_assert!(self.model.unknowns() - stairs <= MOST);
        self.model.unknowns() - stairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(model: Model, linear: Row, bend: f64) -> Shape {
        Shape { model, linear, bend }
    }

    #[test]
    fn every_model_takes_the_time_its_formula_says() {
        assert_eq!(shape(Model::Constant, [2.0, 0.0, 0.0], 0.0).at(9.0), 2.0);
        assert_eq!(shape(Model::Proportional, [2.0, 0.0, 0.0], 0.0).at(3.0), 6.0);
        assert_eq!(shape(Model::Linear, [1.0, 2.0, 0.0], 0.0).at(3.0), 7.0);
        assert_eq!(shape(Model::Power, [2.0, 0.0, 0.0], 2.0).at(3.0), 18.0);
        let hinge = shape(Model::Hinge, [5.0, 2.0, 0.0], 10.0);
        assert_eq!((hinge.at(4.0), hinge.at(13.0)), (5.0, 11.0));
        let stairs = shape(Model::Staircase, [1.0, 2.0, 0.0], 32.0);
        assert_eq!((stairs.at(1.0), stairs.at(32.0), stairs.at(33.0)), (3.0, 3.0, 5.0));
        // λ = 10, σ = 0.1, κ = 0.01 at 4 workers: 40 / (1 + 0.3 + 0.12) = 28.17 a second.
        let usl = shape(Model::Usl, [0.1, 0.01, 0.001], 0.0);
        assert!((1.0 / usl.at(4.0) - 40.0 / 1.42).abs() < 1e-9);
    }

    #[test]
    fn gradients_are_the_changes_they_predict() {
        let shapes = [
            (shape(Model::Linear, [1.0, 2.0, 0.0], 0.0), 7.0),
            (shape(Model::Power, [2.0, 0.0, 0.0], 0.7), 7.0),
            (shape(Model::Hinge, [5.0, 2.0, 0.0], 3.0), 7.0),
            (shape(Model::Usl, [0.1, 0.01, 0.001], 0.0), 7.0),
        ];
        for (shape, x) in shapes {
            let gradient = shape.gradient(x);
            for (at, slope) in gradient.iter().enumerate().take(shape.smooth_unknowns()) {
                let mut moved = shape;
                let by = 1e-7;
                if at < shape.model.linear_unknowns() {
                    moved.linear[at] += by;
                } else {
                    moved.bend += by;
                }
                let change = (moved.at(x) - shape.at(x)) / by;
                assert!((change - slope).abs() < 1e-4 * (1.0 + change.abs()), "{shape:?} {at}");
            }
        }
    }
}
