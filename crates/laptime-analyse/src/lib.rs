//! From records to findings. Pure: no file, no clock, no thread.
//!
//! [`Digest`] folds the records of a run in the order they were written, in memory that does not grow with
//! the number of spans or steps, and gives a [`Report`] at any moment.

mod clock;
mod compiled;
mod course;
mod death;
mod digest;
mod discarded;
mod epoch;
mod fit;
mod gauges;
mod histogram;
mod lane;
mod law;
mod ledger;
mod outlook;
mod process;
mod profile;
mod ranks;
mod report;
pub mod scaling;
mod statistics;
mod steady;
mod step_series;
mod summary;
mod supervised;
pub mod sweep;
mod target;
mod thread;
mod time_left;
mod totals;
mod utc;
mod verdict;
mod wording;
mod workers;

#[cfg(test)]
mod chance;
#[cfg(test)]
mod closing_tests;
#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod death_tests;
#[cfg(test)]
mod rank_tests;
#[cfg(test)]
mod script;
#[cfg(test)]
mod story_tests;
#[cfg(test)]
mod supervised_tests;

pub use course::{Course, courses};
pub use digest::Digest;
pub use profile::{
    ProfileFunction, ProfilePart, ProfileReport, ProfileStack, ProfileStacks, ProfileStage, SampledPart,
    SamplingCost,
};
pub use report::*;
pub use utc::rfc3339;
