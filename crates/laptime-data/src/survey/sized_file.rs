//! A file that was found, to be looked into later.

use std::path::PathBuf;

/// A file's path and its bytes when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SizedFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}
