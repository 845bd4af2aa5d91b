//! Files of one record a line: CSV, TSV and JSON Lines. Small ones are counted, large ones sampled.

mod block;
mod counter;
mod dialect;
mod files;
mod rows;

pub(crate) use counter::RecordCounter;
pub(crate) use dialect::{Dialect, HEAD_BYTES};
pub(crate) use files::TextFiles;
pub(crate) use rows::count_rows;

#[cfg(test)]
mod tests;
