//! From records to findings. Pure: no file, no clock, no thread.
//!
//! [`Digest`] folds the records of a run in the order they were written, in memory that does not grow with
//! the number of spans, steps or epochs, and gives a [`Report`] at any moment.

pub mod advise;
mod between_ranks;
mod chance;
mod change_points;
mod clock;
mod communication;
pub mod compare;
mod compiled;
mod contention;
mod death;
mod device;
mod device_ledger;
mod device_rows;
mod device_shares;
mod device_summary;
mod digest;
mod discarded;
mod epoch;
mod epoch_stream;
mod epochs;
mod fewer_laps;
mod fit;
mod fit_name;
pub mod forecast;
mod gauges;
mod goal;
mod grades;
mod histogram;
mod imports;
mod lane;
mod lap_choice;
mod laps;
mod law;
mod layers;
mod learning_curve;
mod ledger;
mod loading;
mod machine;
mod newest_spans;
mod origin;
mod outlook;
mod outside_steps;
mod passes;
mod process;
mod profile;
pub mod pulse;
mod ranks;
mod recurring;
mod report;
pub mod scaling;
mod shares;
mod start_up;
mod statistics;
mod steady;
mod step_pace;
mod step_series;
mod step_timeline;
mod step_times;
mod stretch;
mod summary;
mod supervised;
mod surroundings;
mod suspends;
pub mod sweep;
mod tally;
mod target;
mod time_left;
pub mod timeline;
mod totals;
mod track;
mod trainers;
mod training;
mod utc;
mod verdict;
mod window;
mod wording;
mod workers;

#[cfg(test)]
mod closing_tests;
#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod death_tests;
#[cfg(test)]
mod device_tests;
#[cfg(test)]
mod fold_tests;
#[cfg(test)]
mod rank_tests;
#[cfg(test)]
mod script;
#[cfg(test)]
mod story_tests;
#[cfg(test)]
mod supervised_tests;
#[cfg(test)]
mod trainer_tests;
#[cfg(test)]
mod verdict_tests;
#[cfg(test)]
mod window_tests;

pub use digest::Digest;
pub use epoch_stream::EpochStream;
pub use fewer_laps::fewer_laps;
pub use grades::{GRADES_SCHEMA, GradedForecast, Grades, MarkGrades, grade};
pub use laptime_core::Estimate;
pub use learning_curve::{LearningCurve, learning_curves};
pub use profile::{ProfileStack, ProfileStacks};
pub use report::*;
pub use step_timeline::{StepTimeline, TimelineSpan, TimelineTrack};
pub use step_times::{StepBin, StepChange, StepGroup, StepTimes};
pub use training::Training;
pub use utc::rfc3339;
