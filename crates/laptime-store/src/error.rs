//! What can go wrong when runs are looked up and read.

use std::io;
use std::path::PathBuf;

/// A run could not be found, opened or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No run has been recorded here.
    #[error("no runs in {}", .0.display())]
    NoRuns(PathBuf),
    /// Nothing matches what was asked for.
    #[error("no run is called `{wanted}`")]
    UnknownRun {
        /// What was asked for.
        wanted: String,
    },
    /// What was asked for fits more than one run.
    #[error("`{wanted}` could be {}", .matches.join(" or "))]
    AmbiguousRun {
        /// What was asked for.
        wanted: String,
        /// The runs it fits.
        matches: Vec<String>,
    },
    /// No sweep has been made here.
    #[error("no sweeps in {}", .0.display())]
    NoSweeps(PathBuf),
    /// No sweep matches what was asked for.
    #[error("no sweep has the id `{wanted}`")]
    UnknownSweep {
        /// What was asked for.
        wanted: String,
    },
    /// Folders that were to be shown together hold parts of different runs.
    #[error("no run in {} was started by the same launch as one in {}", .folder.display(), .first.display())]
    NotOneLaunch {
        /// The folder that was named first.
        first: PathBuf,
        /// The one that has no part of its runs.
        folder: PathBuf,
    },
    /// A running process still writes to it.
    #[error("run {0} is still running")]
    StillRunning(String),
    /// The run's files say nothing that can be read.
    #[error("nothing in run {0} can be read")]
    Unreadable(String),
    /// A newer laptime wrote it.
    #[error("run {id} has format {found}, this build reads up to {known}")]
    TooNew {
        /// The run.
        id: String,
        /// Its format.
        found: u16,
        /// The newest format this build reads.
        known: u16,
    },
    /// The system said no.
    #[error("{doing} {}", .path.display())]
    Io {
        /// What was being done, such as `reading`.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { doing, path: path.into(), source }
    }

    /// The next thing to type.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoRuns(_) => "record one with `laptime demo`, or name the folder with --dir DIR".into(),
            Self::NoSweeps(_) => "laptime sweep -p batch=32,128 -- laptime train mlp --batch {batch}".into(),
            Self::UnknownSweep { .. } => "`laptime report sweep` shows the latest".into(),
            Self::UnknownRun { .. } => "`laptime runs` lists them".into(),
            Self::AmbiguousRun { .. } => "give more of its id; `laptime runs` lists them".into(),
            Self::NotOneLaunch { .. } => {
                "ranks of one run have the launcher's words in common, such as torchrun's --rdzv-id; `laptime runs \
                 --dir FOLDER` lists what a folder holds"
                    .into()
            }
            Self::StillRunning(_) => "stop it first, then remove it".into(),
            Self::TooNew { .. } => "update laptime".into(),
            Self::Unreadable(id) => format!("`laptime runs remove {id}` removes it"),
            Self::Io { .. } => return None,
        })
    }
}
