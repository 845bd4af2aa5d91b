//! Sweeps: from the repeats of a grid of settings to means, comparisons and sentences.
//!
//! [`next_turn`] says what to measure next, [`Sweep::of`] folds what was measured. Both are pure: the same
//! plan and repeats give the same answer, now or after an interruption.

mod best;
mod document;
mod estimate;
mod findings;
mod frontier;
mod laws;
mod machine;
mod machines;
mod plan;
#[cfg(test)]
mod planted;
mod point;
mod repeat;
mod schedule;
mod slices;
mod target;
mod two_way;

pub use best::{Best, Measure};
pub use document::{Axis, Point, PointStatus, SWEEP_SCHEMA, Sweep, SweepFacts, SweepStatus};
pub use estimate::Repeated;
pub use findings::{SweepFinding, value_text};
pub use frontier::trained_s;
pub use laws::{SweepLaw, Time};
pub use machine::{MachineDuring, Taint};
pub use machines::{Node, SweepMachine};
pub use plan::{Goal, Parameter, Plan, Target, TargetMetric, Value};
pub use repeat::{Measured, Moment, Outcome, Repeat};
pub use schedule::{Turn, next_turn, next_turn_on, time_left_s};
pub use target::ToTarget;
