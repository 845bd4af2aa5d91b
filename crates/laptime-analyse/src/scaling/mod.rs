//! Scaling: how time changes along one axis of a sweep, and whether settings differ.
//!
//! Everything is derived from the means of independent repeats. Means and not medians, because time is summed;
//! repeats and not steps, because a machine varies from moment to moment more than from step to step.

mod axis;
mod candidate;
mod choice;
mod coefficient;
mod fastest;
mod law;
mod least_squares;
mod model;
#[cfg(test)]
mod planted_tests;
mod points;
mod sentence;
mod settings;

pub use axis::Axis;
pub use coefficient::{Coefficient, Unit};
pub use fastest::Best;
pub use law::{Certainty, Prediction, ScalingLaw};
pub use model::Model;
pub use points::{Block, Point};
pub use settings::{Comparison, Verdict, compare};
