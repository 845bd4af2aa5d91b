//! What a recorder is started with.

use std::path::PathBuf;

use laptime_core::{Anchor, RunMeta, Sample};

use crate::program_start::ProgramStart;
use crate::rank::Launch;

/// What a recorder is started with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder that holds runs; `LAPTIME_DIR`, else `.laptime`, when not given. Under `laptime run` the
    /// recorder joins the command's run instead, whatever is said here.
    pub root: Option<PathBuf>,
    /// What is known of the run; id, start and machine are filled in.
    pub meta: RunMeta,
    /// Rank of this process; where it joins a run and this is 0, the launcher's word counts.
    pub rank: u32,
    /// The folder of a run to join; `LAPTIME_RUN` when not given. Without either a new run is made.
    pub join: Option<PathBuf>,
    /// The launch this process is one rank of: its ranks share the run that is made.
    pub launch: Option<Launch>,
    /// Where the program began, from [`ProgramStart::now`] in its first line: the run then covers the whole
    /// program, and what it used and counted before the recorder's start. Else the recorder's start.
    pub began: Option<ProgramStart>,
}

impl Options {
    /// The defaults, and a name that reports give the run.
    ///
    /// ```
    /// assert_eq!(laptime_record::Options::named("my model").meta.name, "my model");
    /// ```
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { meta: RunMeta { name: name.into(), ..RunMeta::default() }, ..Self::default() }
    }

    pub(crate) fn began_at(&self) -> Option<&Anchor> {
        self.began.as_ref().map(ProgramStart::anchor)
    }

    /// What the process had used when the program began.
    pub(crate) fn used_before(&self) -> Option<Sample> {
        self.began.as_ref().map(ProgramStart::used)
    }
}
