//! A command, where it runs and what is attached to it.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::hooks::Attach;

/// A command that is run apart.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Its words.
    pub words: Vec<OsString>,
    /// The folder it runs in, where that is not this process'.
    pub folder: Option<PathBuf>,
    /// What is attached to its Pythons.
    pub attach: Attach,
}
