//! What can go wrong when a source is packed, and the next thing to do about it.

use std::path::Path;

use laptime_core::display_name;
use laptime_load::LoadError;
use laptime_load::pack::PackError;

/// A source cannot be packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file of rows cannot be opened or read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The pack cannot be written.
    #[error(transparent)]
    Write(#[from] PackError),
    /// The source is not as a pack needs it.
    #[error("{problem}")]
    Unfit {
        /// What is wrong, and where.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// Python code of the user failed.
    #[error("{problem}")]
    Python {
        /// What was asked of it, and what it raised.
        problem: String,
        /// The end of the traceback, line by line.
        traceback: Vec<String>,
    },
    /// Blocks from here on must be cut in another way; whoever writes them does it, so that nobody sees this.
    #[error("blocks have to be cut again")]
    CutAgain,
    /// Somebody asked to stop.
    #[error("stopped before the last row")]
    Stopped,
}

impl SourceError {
    pub(super) fn unfit(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unfit { problem: problem.into(), hint: hint.into() }
    }

    /// What is wrong with a file, which is named last.
    pub(super) fn unfit_file(problem: impl AsRef<str>, file: &Path, hint: impl Into<String>) -> Self {
        Self::unfit(format!("{}: {}", problem.as_ref(), shown(file)), hint)
    }

    /// The next thing to do about it, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Load(error) => error.hint(),
            Self::Write(error) => error.hint().map(str::to_owned),
            Self::Unfit { hint, .. } => Some(hint.clone()),
            Self::Python { .. } | Self::CutAgain | Self::Stopped => None,
        }
    }
}

pub(super) fn shown(file: &Path) -> String {
    display_name(&file.to_string_lossy())
}
