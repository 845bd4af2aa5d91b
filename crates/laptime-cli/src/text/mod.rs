//! From findings to the terminal: pure functions that return text, never print it.

mod advice;
#[cfg(test)]
mod advice_snapshots;
mod bar;
mod communication;
mod compare;
mod compare_markdown;
#[cfg(test)]
mod compare_snapshots;
mod comparison;
mod dataset;
#[cfg(test)]
mod dataset_snapshots;
mod deaths;
mod elsewhere;
mod epoch_unit;
mod epochs;
mod facts;
mod fits;
mod forecast;
mod grades;
mod layers;
mod ledger;
mod loader;
#[cfg(test)]
mod loader_snapshots;
mod pack;
mod profile;
#[cfg(test)]
mod profile_snapshots;
mod progress;
mod ranks;
mod report;
mod report_markdown;
mod runs;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod snapshots;
mod style;
mod summary;
mod sweep;
mod sweep_csv;
#[cfg(test)]
mod sweep_snapshots;
mod sweep_table;
mod table;
mod time_left;
mod timed;
mod warnings;
mod words;
mod workers;
mod wrap;

use laptime_core::units;

pub(crate) use crate::one_line::shown;
pub(crate) use advice::{advice_text, ceiling_text, machine_advice_text, proof_text};
pub(crate) use bar::share_bar;
pub(crate) use compare::{compare_sentences, compare_text};
pub(crate) use compare_markdown::compare_markdown;
pub(crate) use comparison::comparison_text;
pub(crate) use dataset::{dataset_facts, dataset_text};
pub(crate) use elsewhere::elsewhere_text;
pub(crate) use facts::facts;
pub(crate) use forecast::prediction_text;
pub(crate) use grades::grades_text;
pub(crate) use loader::{loader_text, setting_text};
pub(crate) use pack::{packed_text, verified_text};
pub(crate) use progress::{progress_line, progress_words};
pub(crate) use report::{laps_done, report_text, status_word};
pub(crate) use report_markdown::report_markdown;
pub(crate) use runs::{RunRow, laps_text, result_text, runs_text};
pub(crate) use style::{Emphasis, Style, stage_paint};
pub(crate) use summary::summary_text;
pub(crate) use sweep::{sweep_heading, sweep_text};
pub(crate) use sweep_csv::{quoted, sweep_csv};
pub(crate) use sweep_table::{sweep_markdown, sweep_table};
pub(crate) use table::{Align, Column, Table};
pub(crate) use time_left::{WITH_CLOCK_S, done_text};
pub(crate) use timed::timed_text;
pub(crate) use warnings::warning_text;
pub(crate) use words::{stage_letter, stage_name};
pub(crate) use wrap::{shortened, wrapped};
