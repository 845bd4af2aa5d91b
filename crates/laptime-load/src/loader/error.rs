//! What can go wrong while samples are loaded.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use laptime_core::display_name;

use crate::image::ImageError;
use crate::pack::PackError;

fn shown(file: &Path) -> String {
    display_name(&file.to_string_lossy())
}

/// A loader cannot be made, or the next batch cannot be had. Asking again tries the same batch again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoaderError {
    /// The pack cannot be opened or read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The options do not fit together, or not the pack.
    #[error("{problem}")]
    BadOptions {
        /// What is wrong.
        problem: String,
    },
    /// An image cannot be decoded or transformed.
    #[error("sample {sample}, column `{}`: {}", display_name(.column), shown(.path))]
    Image {
        /// The pack.
        path: PathBuf,
        /// The sample, counted from 0 in the pack.
        sample: u64,
        /// The column.
        column: String,
        /// Why.
        source: ImageError,
    },
    /// There is not enough memory for a batch.
    #[error("no memory for a batch of {bytes} bytes")]
    NoMemory {
        /// Bytes of one of its arrays.
        bytes: usize,
    },
    /// A thread could not be started.
    #[error("cannot start a thread to load with")]
    NoThread {
        /// What the system said.
        source: io::Error,
    },
    /// A thread of the loader failed in a way that it should not.
    #[error("a loading thread failed at batch {batch} of epoch {epoch}: {message}")]
    Panicked {
        /// The epoch, counted from 0.
        epoch: u64,
        /// The batch, counted from 0.
        batch: u64,
        /// What it said.
        message: String,
    },
    /// The disk or the network does not answer.
    #[error("batch {batch} of epoch {epoch} has been read for {} s without an end: {}", .waited.as_secs(), shown(.path))]
    Stuck {
        /// The pack.
        path: PathBuf,
        /// The epoch, counted from 0.
        epoch: u64,
        /// The batch, counted from 0.
        batch: u64,
        /// For how long.
        waited: Duration,
    },
    /// A saved state is of another loader.
    #[error("the state is of another loader: {what} was {was}, now it is {now}")]
    OtherState {
        /// What differs.
        what: &'static str,
        /// In the state.
        was: String,
        /// In this loader.
        now: String,
    },
}

impl LoaderError {
    pub(super) fn options(problem: impl Into<String>) -> Self {
        Self::BadOptions { problem: problem.into() }
    }

    /// What to do about it, where something can be done.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Pack(error) => error.hint(),
            Self::Image { source, .. } => source.hint(),
            Self::NoMemory { .. } => Some("use smaller batches"),
            Self::Panicked { .. } => Some("this is a mistake in laptime: please report it"),
            Self::Stuck { .. } => Some("see whether the file system answers: ls on the pack's folder"),
            Self::OtherState { .. } => Some("make the loader as the one that saved the state was made"),
            Self::BadOptions { .. } | Self::NoThread { .. } => None,
        }
    }
}
