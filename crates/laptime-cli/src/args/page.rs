//! `--html FILE`: a result as a page.

use std::path::PathBuf;

/// Where a page goes.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PageArgs {
    /// Write a page with charts: one file that opens in any browser, also without a network (`-` is standard
    /// output)
    #[arg(long, value_name = "FILE", conflicts_with = "form", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
}
