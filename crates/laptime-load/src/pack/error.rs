//! What can go wrong with a pack, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use laptime_core::display_name;

fn shown(file: &Path) -> String {
    display_name(&file.to_string_lossy())
}

/// A pack cannot be written, opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// There is nothing at this path.
    #[error("no such pack: {}", shown(.path))]
    NotFound {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// What is at this path is no pack.
    #[error("not a pack, it has no manifest: {}", shown(.path))]
    NotAPack {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The target is there already.
    #[error("there is already something at {}", shown(.path))]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The target is there already and is no pack, so it is not replaced.
    #[error("what is there is no pack, and is not replaced: {}", shown(.path))]
    NotReplaced {
        /// The target.
        path: PathBuf,
    },
    /// Something could not be written before, so rows are missing.
    #[error("rows are missing, since an earlier write failed: {}", shown(.path))]
    Unfinished {
        /// The folder that is being written.
        path: PathBuf,
    },
    /// Another process writes the same pack.
    #[error("another process is writing {}", shown(.path))]
    Busy {
        /// The folder that is being written.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {doing} {}", shown(.path))]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The manifest is damaged, or not one.
    #[error("bad manifest: {problem}: {}", shown(.path))]
    BadManifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file is shorter or longer than when it was written.
    #[error("{found} bytes where the manifest says {expected}: {}", shown(.path))]
    WrongSize {
        /// The file.
        path: PathBuf,
        /// Bytes it should have.
        expected: u64,
        /// Bytes it has.
        found: u64,
    },
    /// The samples of a record batch are not those that were written.
    #[error("damaged: record batch {batch}, samples {first_sample} to {last_sample}: {}", shown(.path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The record batch, counted from 0 in its file.
        batch: usize,
        /// The first sample that may be damaged, counted from 0 in the pack.
        first_sample: u64,
        /// The last one.
        last_sample: u64,
    },
    /// A description in a file is damaged; the samples are not.
    #[error("damaged: bytes {first} to {last}, which hold no samples: {}", shown(.path))]
    DamagedDescription {
        /// The file.
        path: PathBuf,
        /// The first byte that may be damaged.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// No pack can have these columns.
    #[error("column `{}`: {problem}", display_name(.column))]
    BadSchema {
        /// Its name.
        column: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Rows do not fit the columns of the pack.
    #[error("rows do not fit the column `{}`: {problem}", display_name(.column))]
    BadBlock {
        /// Its name.
        column: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// There were no rows.
    #[error("no rows for {}", shown(.path))]
    Empty {
        /// The target.
        path: PathBuf,
    },
}

impl PackError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// What to do about it, where something can be done.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { .. } => Some("make one with: laptime pack SOURCE -o NAME.pack"),
            Self::NotAPack { .. } => Some("a pack is a folder with a _manifest.json"),
            Self::Exists { .. } => Some("remove it, choose another name, or allow to overwrite it"),
            Self::NotReplaced { .. } => Some("choose another name, or remove it yourself"),
            Self::Busy { .. } => Some("wait for it to end, or choose another name"),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space and pack again: the finished parts are kept and not made again")
            }
            Self::BadManifest { .. } | Self::Damaged { .. } | Self::WrongSize { .. } => {
                Some("pack the source again, or copy the pack again if it was copied")
            }
            Self::DamagedDescription { .. } => {
                Some("a Loader still reads it; pack the source again to read it with other programs")
            }
            _ => None,
        }
    }
}
