//! Laws of a sweep: how time changes along each axis that is a number.

use std::collections::BTreeMap;

use laptime_core::Estimate;
use serde::Serialize;

use super::document::{Point, PointStatus};
use super::plan::{Parameter, Plan, Value};
use super::repeat::{Measured, Repeat};
use super::slices::{Slice, slices};
use crate::scaling::{self, Certainty, Model, ScalingLaw};

/// One law.
#[derive(Clone, Debug, Serialize)]
pub struct SweepLaw {
    /// The axis.
    pub x: String,
    /// What it is a law of: `step_s`, `epoch_s`, `wall_s` or `time_to_target_s`.
    pub y: Time,
    /// The values that the other axes have along it.
    pub at: BTreeMap<String, Value>,
    /// Its shape.
    pub model: Model,
    /// Its numbers by name, seconds.
    pub coefficients: BTreeMap<&'static str, Estimate>,
    /// Share of the variance between the points that it explains.
    pub r2: f64,
    /// How certain it is.
    pub certainty: Certainty,
    /// Where the axis is fastest, and the smallest value that is almost as fast.
    pub best: Option<scaling::Best>,
    /// Where the law turns.
    pub knee: Option<Estimate>,
    /// The law in words.
    pub text: String,
    /// The best in words.
    pub best_text: Option<String>,
    /// The values measured and the mean times.
    pub points: Vec<(f64, f64)>,
    /// The law itself.
    #[serde(skip)]
    pub law: ScalingLaw,
}

/// The gain of the fastest value over the slowest that is worth a sentence.
const WORTH_A_SENTENCE: f64 = 1.05;

/// Values a law is fitted to: the work grows with the fifth power of their number, the certainty hardly.
const MOST_VALUES: usize = 64;

/// A time that a law can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// Of a step.
    StepS,
    /// Of an epoch.
    EpochS,
    /// Of the whole command.
    WallS,
    /// To the target.
    TimeToTargetS,
}

/// What an axis is, as far as the runs themselves report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Rows of an epoch.
    Rows,
    /// Samples of a step.
    Batch,
    /// Workers or threads.
    Workers,
    /// Anything else.
    Setting,
}

impl Time {
    /// Its name in a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::StepS => "step time",
            Self::EpochS => "epoch time",
            Self::WallS => "time",
            Self::TimeToTargetS => "time to target",
        }
    }

    /// The time one repeat took.
    pub(super) fn of(self, measured: &Measured) -> Option<f64> {
        match self {
            Self::StepS => measured.step_s,
            Self::EpochS => measured.epoch_s,
            Self::WallS => Some(measured.wall_s),
            Self::TimeToTargetS => measured.arrival.map(|arrival| arrival.at_s),
        }
    }
}

/// The points of a plan, each with the repeats that its means rest on.
pub(super) struct Grid<'a> {
    pub(super) plan: &'a Plan,
    pub(super) points: &'a [Point],
    pub(super) used: &'a [Vec<&'a Repeat>],
}

/// An axis that is a number.
struct NumberAxis<'a> {
    axis: &'a Parameter,
    numbers: Vec<f64>,
    role: Role,
}

/// Every law that the points follow, axis by axis and slice by slice.
pub(super) fn laws(grid: &Grid<'_>) -> Vec<SweepLaw> {
    let mut laws = Vec::new();
    for (at, axis) in grid.plan.parameters.iter().enumerate() {
        let Some(numbers) = axis.numbers() else { continue };
        let role = grid.role(axis, &|point| numbers[grid.plan.places(point)[at]]);
        let along = NumberAxis { axis, numbers, role };
        for slice in slices(grid.plan, at) {
            let times = grid.times(along.role, &slice);
            laws.extend(times.into_iter().filter_map(|time| grid.law(&along, &slice, time)));
        }
    }
    laws
}

impl Grid<'_> {
    fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.used.iter().flatten().map(|repeat| &repeat.measured)
    }

    /// What the runs say they were given counts; a name only where they say nothing.
    fn role(&self, axis: &Parameter, given: &dyn Fn(usize) -> f64) -> Role {
        let agrees = |of: fn(&Measured) -> Option<u64>| {
            let reported =
                self.used.iter().flatten().filter_map(|repeat| Some((repeat.point, of(&repeat.measured)?)));
            reported.clone().next().is_some()
                && reported.clone().all(|(point, value)| value as f64 == given(point))
        };
        let name = axis.name.to_lowercase();
        let silent = self.measured().all(|measured| measured.step_s.is_none());
        let called = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if agrees(|measured| measured.batch) || silent && (called(&["batch"]) || name == "bs") {
            Role::Batch
        } else if agrees(|measured| measured.rows) || silent && called(&["rows", "samples"]) {
            Role::Rows
        } else if called(&["worker", "thread"]) {
            Role::Workers
        } else {
            Role::Setting
        }
    }

    fn finished<'s>(&'s self, slice: &'s Slice) -> impl Iterator<Item = (usize, usize)> + 's {
        let numbered = slice.points.iter().copied().enumerate();
        numbered.filter(|(_, point)| self.points[*point].status == PointStatus::Finished)
    }

    /// The times worth a law along an axis: rows make epochs longer and should leave steps alone.
    fn times(&self, role: Role, slice: &Slice) -> Vec<Time> {
        let has =
            |time: Time, point: usize| self.used[point].iter().all(|one| time.of(&one.measured).is_some());
        let all_have = |time: &Time| self.finished(slice).all(|(_, point)| has(*time, point));
        let wanted: &[Time] = match role {
            Role::Rows => &[Time::EpochS, Time::StepS],
            Role::Batch | Role::Workers | Role::Setting => &[Time::StepS],
        };
        let mut times: Vec<Time> = wanted.iter().copied().filter(all_have).collect();
        if times.is_empty() {
            times.extend([Time::EpochS, Time::WallS].into_iter().find(all_have));
        }
        times.extend(Some(Time::TimeToTargetS).filter(all_have));
        times
    }

    fn law(&self, along: &NumberAxis<'_>, slice: &Slice, time: Time) -> Option<SweepLaw> {
        let measured = self.finished(slice).map(|(place, point)| {
            let times = self.used[point].iter().filter_map(|repeat| time.of(&repeat.measured));
            scaling::Point::new(along.numbers[place], &times.collect::<Vec<_>>())
        });
        let measured = spread_out(measured.collect());
        if measured.len() < 2 {
            return None;
        }
        let law = ScalingLaw::through(&measured, kind(along.role, time))?;
        let name = &along.axis.name;
        let mut at = self.points.get(*slice.points.first()?)?.values.clone();
        at.remove(name);
        Some(SweepLaw {
            x: name.clone(),
            y: time,
            at,
            model: law.model,
            coefficients: law.coefficients.iter().map(|known| (known.name, known.value)).collect(),
            r2: law.r2,
            certainty: law.certainty,
            best: law.best(),
            knee: law.knee(),
            text: law.sentence(time.name(), name),
            best_text: best_text(&law, along),
            points: measured.iter().filter_map(mean_point).collect(),
            law,
        })
    }
}

/// More rows in an epoch are not a faster setting, only more to do; and a gain nobody would act on is none.
fn best_text(law: &ScalingLaw, along: &NumberAxis<'_>) -> Option<String> {
    law.best().filter(|best| best.times_slowest >= WORTH_A_SENTENCE)?;
    match along.role {
        Role::Rows => None,
        Role::Batch => law.best_sentence(&along.axis.name, "samples/s"),
        Role::Workers | Role::Setting => law.best_sentence(&along.axis.name, "the speed"),
    }
}

fn kind(role: Role, time: Time) -> scaling::Axis {
    match (role, time) {
        (Role::Rows, Time::EpochS | Time::WallS) | (Role::Batch, Time::StepS | Time::WallS) => {
            scaling::Axis::Work
        }
        (Role::Workers, _) => scaling::Axis::Workers,
        _ => scaling::Axis::Setting,
    }
}

/// As many points as a law is fitted to, evenly spread, both ends among them.
fn spread_out(points: Vec<scaling::Point>) -> Vec<scaling::Point> {
    if points.len() <= MOST_VALUES {
        return points;
    }
    let last = points.len() - 1;
    (0..MOST_VALUES).map(|at| points[at * last / (MOST_VALUES - 1)].clone()).collect()
}

fn mean_point(point: &scaling::Point) -> Option<(f64, f64)> {
    let times: Vec<f64> = point.blocks.iter().map(|block| block.mean).collect();
    Some((point.x, crate::statistics::mean(&times)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_axis_is_fitted_to_values_spread_over_all_of_it() {
        let points =
            |count: u32| spread_out((0..count).map(|x| scaling::Point::new(x.into(), &[1.0])).collect());
        let xs: Vec<f64> = points(1_000).iter().map(|point| point.x).collect();
        assert_eq!((xs.len(), xs[0], xs[MOST_VALUES - 1]), (MOST_VALUES, 0.0, 999.0));
        assert!(xs.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(points(64).len(), 64);
    }
}
