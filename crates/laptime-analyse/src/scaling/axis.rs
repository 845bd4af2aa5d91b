//! Axis: what the number along a sweep is, which decides the laws it may follow and what is fastest.

use super::model::Model;

/// What the number along an axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The work done in the measured time, such as rows in an epoch or samples in a step: more of it in
    /// the same time is faster.
    Work,
    /// How many do the same work together, such as loader workers or threads. Zero of them is another way
    /// to work and no point of the law.
    Workers,
    /// Anything else, such as the width of a layer: less time is faster.
    Setting,
}

impl Axis {
    /// The laws time may follow along it.
    pub(super) fn models(self) -> &'static [Model] {
        use Model::{Constant, Hinge, Linear, Power, Proportional, Staircase, Usl};
        match self {
            Self::Work | Self::Setting => &[Constant, Proportional, Linear, Power, Hinge, Staircase],
            Self::Workers => &[Constant, Linear, Usl],
        }
    }

    /// Whether a value of the axis belongs to its law.
    pub(super) fn holds(self, x: f64) -> bool {
        self != Self::Workers || x >= 1.0
    }

    /// Work done a second where `x` takes that time; for settings and workers, rounds of the same work.
    pub(super) fn throughput(self, x: f64, seconds: f64) -> f64 {
        if self == Self::Work { x / seconds } else { 1.0 / seconds }
    }
}
