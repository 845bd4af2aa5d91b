//! The options of `laptime advise`.

use super::{LoaderArgs, Place};

/// `laptime advise`.
#[derive(Debug, clap::Args)]
#[command(before_help = "Example: laptime advise --loader train.py:make_loader")]
pub(crate) struct AdviseArgs {
    #[command(flatten)]
    pub(crate) loader: LoaderArgs,
    /// Print one JSON document (laptime.loader/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}
