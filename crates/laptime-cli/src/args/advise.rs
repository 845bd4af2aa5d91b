//! The options of `laptime advise`.

use std::ffi::OsString;

use super::values::parse_count;
use super::{LoaderArgs, Place};

/// `laptime advise`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime advise                                what to change of the latest run's training
  laptime advise --machine                      what to change of this computer
  laptime advise --prove 1 -- python train.py   run it with and without item 1, in turns
  laptime advise --ceiling -- python train.py   how fast would it be if data were free?
  laptime advise --loader train.py:make_loader  which workers and prefetching load fastest?
  laptime advise --prove evaluation --changed 'python train.py --eval-every 500' -- python train.py

Gains are predicted from the run's own times, or typical where that cannot be done; a proof
measures them. Items whose change laptime can make by itself need no edit of the script.")]
pub(crate) struct AdviseArgs {
    /// The run to advise on: its name, its id or the beginning of it [default: the latest]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Look at this computer instead of a run; without any run that is what is looked at
    #[arg(long, conflicts_with_all = ["run", "prove"])]
    pub(crate) machine: bool,
    /// Prove an item by its number or name: runs the command with and without the change, in turns
    #[arg(long, value_name = "ITEM", group = "measured", help_heading = "Proof")]
    pub(crate) prove: Option<String>,
    /// Measure the speed-up if data were free: runs the command as it is and with one batch over and over
    #[arg(long, group = "measured", help_heading = "Proof")]
    pub(crate) ceiling: bool,
    /// The command with the change, where laptime cannot make it by itself
    #[arg(long, value_name = "COMMAND", requires = "prove", help_heading = "Proof")]
    pub(crate) changed: Option<String>,
    /// The most pairs of executions [default: 12]
    #[arg(long, value_name = "N", value_parser = parse_count, requires = "measured", help_heading = "Proof")]
    pub(crate) pairs: Option<u64>,
    #[command(flatten)]
    pub(crate) loader: LoaderArgs,
    /// Print one JSON document (laptime.advice/1; of a proof laptime.compare/1, of a loader laptime.loader/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress while it measures
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// The command to measure, after `--` [default: the run's own]
    #[arg(value_name = "COMMAND", last = true, requires = "measured")]
    pub(crate) command: Vec<OsString>,
}
