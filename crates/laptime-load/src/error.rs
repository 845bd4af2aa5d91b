//! What can go wrong with a dataset, and the next thing to do about it.

use std::collections::TryReserveError;
use std::io;
use std::path::{Path, PathBuf};

use laptime_core::display_name;

use crate::pack::PackError;

/// Longest text of a cell that an error shows: enough to recognise it, short enough for one line.
const MAX_SHOWN_CHARS: usize = 40;

/// A dataset cannot be opened, or not be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no file at this path.
    #[error("no such file: {}", shown(.file))]
    NotFound {
        /// The path that was asked for.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is there, but reading it fails.
    #[error("cannot read: {}", shown(.file))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path is a directory, a pipe or a device.
    #[error("not a regular file: {}", shown(.file))]
    NotAFile {
        /// The path that was asked for.
        file: PathBuf,
    },
    /// A pack cannot be opened, or not be read on.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A pack has other columns than training needs.
    #[error("{problem}: {}", shown(.file))]
    UnfitPack {
        /// The pack.
        file: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The name ends in neither `.csv` nor `.npy` nor `.pack`.
    #[error("the name ends in neither .csv, .npy nor .pack: {}", shown(.file))]
    UnknownFormat {
        /// The file.
        file: PathBuf,
    },
    /// The file has no rows.
    #[error("no rows: {}", shown(.file))]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// A row has no feature beside its target.
    #[error("a row needs a feature and a target, two columns at least, but has {columns}: {}", shown(.file))]
    TooFewColumns {
        /// The file.
        file: PathBuf,
        /// Columns found.
        columns: u64,
    },
    /// A cell of a CSV file is not a number.
    #[error("line {line}, column {column}: `{text}` is not a number: {}", shown(.file))]
    NotANumber {
        /// The file.
        file: PathBuf,
        /// Line of the row's start, counted from 1.
        line: u64,
        /// Column, counted from 1.
        column: usize,
        /// The cell, shortened and safe to show.
        text: String,
    },
    /// A cell of a CSV file is not a finite number, or too large for 32 bits.
    #[error("line {line}, column {column}: `{text}` is not a finite 32-bit number: {}", shown(.file))]
    NotFinite {
        /// The file.
        file: PathBuf,
        /// Line of the row's start, counted from 1.
        line: u64,
        /// Column, counted from 1.
        column: usize,
        /// The cell, shortened and safe to show.
        text: String,
    },
    /// An element of an NPY file is not a finite number, or too large for 32 bits.
    #[error("element [{row}, {column}] is not a finite 32-bit number: {}", shown(.file))]
    NotFiniteElement {
        /// The file.
        file: PathBuf,
        /// Row, counted from 0 as NumPy does.
        row: u64,
        /// Column, counted from 0 as NumPy does.
        column: usize,
    },
    /// A row of a CSV file has another number of columns than the first.
    #[error("line {line}: {found} columns where the first row has {expected}: {}", shown(.file))]
    RaggedRow {
        /// The file.
        file: PathBuf,
        /// Line of the row's start, counted from 1.
        line: u64,
        /// Columns of this row.
        found: usize,
        /// Columns of the first row.
        expected: usize,
    },
    /// A row of a CSV file does not end.
    #[error("line {line}: the row that starts here is longer than {limit_bytes} bytes: {}", shown(.file))]
    RowTooLong {
        /// The file.
        file: PathBuf,
        /// Line of the row's start, counted from 1.
        line: u64,
        /// The longest row that is read.
        limit_bytes: u64,
    },
    /// The file does not start as an NPY file does.
    #[error("not an NPY file, despite its name: {}", shown(.file))]
    NotNpy {
        /// The file.
        file: PathBuf,
    },
    /// The NPY format is of a version that is not known.
    #[error("NPY format {major}.{minor}, known are 1, 2 and 3: {}", shown(.file))]
    UnknownNpyVersion {
        /// The file.
        file: PathBuf,
        /// First part of the version.
        major: u8,
        /// Second part of the version.
        minor: u8,
    },
    /// The header of an NPY file cannot be understood.
    #[error("bad NPY header: {problem}: {}", shown(.file))]
    BadHeader {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The elements of an NPY file are of a type that is not read.
    #[error("elements of type `{dtype}` are not supported: {}", shown(.file))]
    UnsupportedDtype {
        /// The file.
        file: PathBuf,
        /// The type as the file names it, shortened and safe to show.
        dtype: String,
    },
    /// The array is stored column after column.
    #[error("the array is in Fortran order, column after column: {}", shown(.file))]
    FortranOrder {
        /// The file.
        file: PathBuf,
    },
    /// The array does not have two dimensions.
    #[error("the array has {found} dimensions where rows and columns are needed: {}", shown(.file))]
    WrongDimensions {
        /// The file.
        file: PathBuf,
        /// Dimensions of the array.
        found: usize,
    },
    /// The file is shorter than its header says.
    #[error("the header declares {expected_bytes} bytes, the file has {found_bytes}: {}", shown(.file))]
    Truncated {
        /// The file.
        file: PathBuf,
        /// Bytes the file would have by its header.
        expected_bytes: u128,
        /// Bytes the file has.
        found_bytes: u64,
    },
    /// The file is not the one that was opened any more.
    #[error("the file changed while it was in use: {}", shown(.file))]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// There is no memory for that many rows.
    #[error("not enough memory for {rows} rows at a time")]
    OutOfMemory {
        /// Rows asked for.
        rows: u64,
        /// What the allocator said.
        source: TryReserveError,
    },
    /// The system gave no thread for reading ahead.
    #[error("cannot start the thread that reads ahead")]
    NoThread {
        /// What the system said.
        source: io::Error,
    },
    /// The prefetch thread ended without delivering all rows, which is a bug of laptime.
    #[error("reading ahead ended {missing} rows early")]
    ReadAheadEnded {
        /// Rows of the epoch that did not come.
        missing: u64,
    },
}

impl LoadError {
    /// The next thing to do about it, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotFound { file, .. } if file.is_relative() => {
                "the path is relative: check it against the directory you are in"
            }
            Self::NotFound { .. } => "check the path",
            Self::Unreadable { .. } => "check the permissions of the file and the health of its disk",
            Self::NotAFile { .. } => "name a file; of a directory, name one of the files in it",
            Self::Pack(error) => return error.hint().map(str::to_owned),
            Self::UnfitPack { .. } => "pack a table: laptime pack train.csv",
            Self::UnknownFormat { .. } => "save the data as CSV, or as NPY with numpy.save, and name it so",
            Self::Empty { .. } => "check that whatever writes the file has finished",
            Self::TooFewColumns { .. } => "put the target in the last column, separated by commas",
            Self::NotANumber { text, .. } if text.contains(';') => "separate the columns by commas",
            Self::NotANumber { .. } => "replace the text by a number, or leave the column out",
            Self::NotFinite { .. } | Self::NotFiniteElement { .. } => {
                "leave rows with missing values out, or fill the values in"
            }
            Self::RaggedRow { .. } => "give every row the same columns; text with a comma in it needs quotes",
            Self::RowTooLong { .. } => "look for a quote that is opened in this line and never closed",
            Self::NotNpy { .. } => "write it with numpy.save; an .npz archive has to be unpacked first",
            Self::UnknownNpyVersion { .. } | Self::BadHeader { .. } => "write the file again with numpy.save",
            Self::UnsupportedDtype { .. } => "convert it: numpy.save(file, array.astype('float32'))",
            Self::FortranOrder { .. } => "convert it: numpy.save(file, numpy.ascontiguousarray(array))",
            Self::WrongDimensions { .. } => {
                "reshape it to (rows, features + 1): numpy.save(file, array.reshape(len(array), -1))"
            }
            Self::Truncated { .. } => "copy or write the file again: its end is missing",
            Self::Changed { .. } => "start again once nothing writes to the file any more",
            Self::OutOfMemory { .. } => "choose a smaller batch, or lower the memory for whole files",
            Self::NoThread { .. } => "raise the limit for threads (ulimit -u), or end other programs",
            Self::ReadAheadEnded { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

fn shown(file: &Path) -> String {
    display_name(&file.to_string_lossy())
}

/// Text from a file as an error may show it: short, and without anything that drives a terminal.
#[must_use]
pub fn shown_text(bytes: &[u8]) -> String {
    // No character takes more than four bytes, so what is cut here would not have been shown.
    let head = &bytes[..bytes.len().min(4 * (MAX_SHOWN_CHARS + 1))];
    let text = String::from_utf8_lossy(head);
    let mut short: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    if text.chars().nth(MAX_SHOWN_CHARS).is_some() {
        short.pop();
        short.push('…');
    }
    display_name(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_an_error_is_short_and_harmless() {
        assert_eq!(shown_text(b"abc"), "abc");
        assert_eq!(shown_text(&[b'x'; 40]).chars().count(), 40);
        let long = shown_text(&[b'x'; 100_000]);
        assert_eq!(long.chars().count(), MAX_SHOWN_CHARS);
        assert!(long.ends_with('…'));
        assert_eq!(shown_text(b"\x1b[31m"), "\\u{1b}[31m");
        assert_eq!(shown_text(&[0xff, b'a']), "\u{fffd}a");
        assert_eq!(shown_text("ä".repeat(41).as_bytes()), format!("{}…", "ä".repeat(39)));
    }

    #[test]
    fn the_file_is_named_last_and_safely() {
        let error = LoadError::Empty { file: PathBuf::from("a\x1bb.csv") };
        assert_eq!(error.to_string(), "no rows: a\\u{1b}b.csv");
    }

    #[test]
    fn a_relative_path_that_is_not_there_is_explained() {
        let error = |file: &str| LoadError::NotFound { file: file.into(), source: io::Error::other("x") };
        assert!(error("a.csv").hint().unwrap().contains("relative"));
        assert_eq!(error("/a.csv").hint().unwrap(), "check the path");
    }
}
