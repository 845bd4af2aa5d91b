//! Which point does best, and by what points are compared.

use std::collections::BTreeMap;

use serde::Serialize;

use super::document::{Point, PointStatus};
use super::estimate::Repeated;
use super::plan::Value;
use super::repeat::Measured;

/// What points are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Time to the target.
    TimeToTarget,
    /// Samples a second.
    SamplesPerS,
    /// Time of a step.
    StepS,
    /// Time of an epoch.
    EpochS,
    /// Time of the whole command.
    WallS,
}

/// The point that does best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Its place among the points.
    pub point: usize,
    /// Its values by axis.
    pub values: BTreeMap<String, Value>,
    /// By what.
    pub by: Measure,
    /// How well.
    pub value: Repeated,
}

impl Measure {
    /// The first of them that every finished point has. A target counts where one point reached it.
    pub(super) fn of(points: &[Point]) -> Self {
        let finished = || points.iter().filter(|point| point.status == PointStatus::Finished);
        if finished().any(|point| Self::TimeToTarget.value(point).is_some()) {
            return Self::TimeToTarget;
        }
        let preferred = [Self::SamplesPerS, Self::StepS, Self::EpochS];
        let all_have = |measure: &Self| finished().all(|point| measure.value(point).is_some());
        preferred.into_iter().find(all_have).filter(|_| finished().next().is_some()).unwrap_or(Self::WallS)
    }

    /// A point's value; the time to a target only where every repeat reached it.
    #[must_use]
    pub fn value(self, point: &Point) -> Option<Repeated> {
        match self {
            Self::TimeToTarget => {
                point.to_target.as_ref().filter(|to| to.reached == to.tried).and_then(|to| to.time_s)
            }
            Self::SamplesPerS => point.samples_per_s,
            Self::StepS => point.step_s,
            Self::EpochS => point.epoch_s,
            Self::WallS => point.wall_s,
        }
    }

    /// What is to be small.
    pub(super) fn cost(self, point: &Point) -> Option<f64> {
        let value = self.value(point)?.mean;
        let cost = if self == Self::SamplesPerS { 1.0 / value } else { value };
        Some(cost).filter(|cost| cost.is_finite() && *cost > 0.0)
    }
}

impl Measure {
    /// What is to be small, of one repeat.
    pub(super) fn cost_of(self, measured: &Measured) -> Option<f64> {
        match self {
            Self::TimeToTarget => measured.arrival.map(|arrival| arrival.at_s),
            Self::SamplesPerS => measured.samples_per_s.map(|rate| 1.0 / rate),
            Self::StepS => measured.step_s,
            Self::EpochS => measured.epoch_s,
            Self::WallS => Some(measured.wall_s),
        }
    }
}

/// The finished point with the least cost.
pub(super) fn best(points: &[Point], by: Measure) -> Option<Best> {
    let finished = points.iter().enumerate().filter(|(_, point)| point.status == PointStatus::Finished);
    let costs = finished.filter_map(|(at, point)| Some((at, by.cost(point)?)));
    let (at, _) = costs.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Best { point: at, values: points[at].values.clone(), by, value: by.value(&points[at])? })
}
