//! Files whose description says exactly what is in them: Parquet, Arrow, NPY and NPZ.

mod arrow;
mod flatbuffer;
mod npy;
mod npz;
mod parquet;
mod thrift;

use super::problem::FileProblem;
use super::stored::Stored;

pub(crate) use arrow::measure_arrow;
pub(crate) use npy::measure_npy;
pub(crate) use npz::measure_npz;
pub(crate) use parquet::measure_parquet;

/// Rows for every byte of a file beyond which they are not believed: the most that Parquet's run lengths make
/// of a column of one repeated value is about ten thousand.
const MOST_ROWS_A_BYTE: u64 = 100_000;

/// What is in a file, by its own description.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Contents {
    pub(crate) rows: u64,
    /// Bytes that all rows take in memory.
    pub(crate) decoded_bytes: u64,
    /// Whether the description gives the decoded bytes of every column; else they are at least so many.
    pub(crate) decoded_exactly: bool,
    /// Single numbers in all rows: what a training can move to a device.
    pub(crate) numbers: u64,
    /// Columns that hold something else than numbers.
    pub(crate) other_columns: u64,
    /// The standard error of the rows as a share of them, where they were sampled; 0 where they were counted.
    pub(crate) relative_error: f64,
    /// The same of the decoded bytes and the numbers.
    pub(crate) decoded_error: f64,
}

/// What was found, and what is wrong with the rest where the file does not end as it should.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) contents: Contents,
    pub(crate) missing: Option<FileProblem>,
}

impl From<Contents> for Measured {
    fn from(contents: Contents) -> Self {
        Self { contents, missing: None }
    }
}

/// Refuses numbers of rows that no file of this size holds.
fn believe(contents: Contents, stored: &(impl Stored + ?Sized)) -> Result<Contents, FileProblem> {
    let bytes = stored.bytes();
    if contents.rows / MOST_ROWS_A_BYTE > bytes {
        let claim = laptime_core::units::counted(contents.rows, "row");
        return Err(FileProblem::Implausible { claim, bytes });
    }
    Ok(contents)
}

#[cfg(test)]
mod tests;
