//! Every command and option of `laptime`, with its help.

mod advise;
mod amount;
mod axis;
mod change;
mod cluster;
mod compare;
mod data;
mod deadline;
mod decimal;
mod export;
mod loader;
mod pack;
mod page;
mod predict;
mod refusal;
mod serve;
mod sweep;
mod sweep_values;
mod train;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use laptime_core::Change;
use laptime_launch::runs_folder;

use crate::due::Deadline;
use crate::screen::ColorChoice;

pub(crate) use advise::AdviseArgs;
pub(crate) use axis::is_name;
pub(crate) use cluster::{ClusterArgs, On};
pub(crate) use compare::{CompareArgs, Compared};
pub(crate) use data::DataArgs;
pub(crate) use export::ExportArgs;
pub(crate) use loader::{LoaderArgs, LoaderRequest};
pub(crate) use pack::PackArgs;
pub(crate) use page::PageArgs;
pub(crate) use predict::PredictArgs;
pub(crate) use refusal::{Stop, unknown_model};
pub(crate) use serve::ServeArgs;
pub(crate) use sweep::{SweepArgs, SweepForm};
pub(crate) use train::TrainArgs;
pub(crate) use values::{BatchSize, DataChoice};

/// Times training epochs and says where each second went
#[derive(Debug, Parser)]
#[command(
    name = "laptime",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    before_help = "Example: laptime demo"
)]
pub(crate) struct Args {
    /// When to use colour; NO_COLOR turns it off in `auto`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Everywhere")]
    pub(crate) color: ColorChoice,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command and report where its time went
    Run(RunArgs),
    /// Train a small model for a few seconds and report on it
    Demo(DemoArgs),
    /// Train a reference model and report where the time goes
    Train(Box<TrainArgs>),
    /// Measure a command over a grid of settings
    Sweep(Box<SweepArgs>),
    /// Show how large a dataset is and what an epoch over it moves
    Data(DataArgs),
    /// Write a dataset as one that training reads without waiting
    Pack(Box<PackArgs>),
    /// Show the report of a run or a sweep
    Report(ReportArgs),
    /// Say what to change of a training, what that gains, and prove it
    Advise(Box<AdviseArgs>),
    /// Say when a training would be done, from a short probe or a kept run
    Predict(Box<PredictArgs>),
    /// Say whether one run is faster than another, and what changed
    Compare(Box<CompareArgs>),
    /// List or remove the runs that are kept
    Runs(RunsArgs),
    /// Show all runs and sweeps in a browser, also while they train
    Serve(ServeArgs),
}

/// Where runs are kept.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Place {
    /// Folder the runs are kept in [default: $LAPTIME_DIR, pyproject.toml, else .laptime]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    pub(crate) dir: Option<PathBuf>,
}

impl Place {
    /// The folder: the option, else the variable LAPTIME_DIR, else what pyproject.toml says, else `.laptime`.
    pub(crate) fn folder(&self) -> PathBuf {
        runs_folder(self.dir.clone())
    }
}

/// How the result is shown.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Output {
    /// Print the report as one JSON document (laptime.report/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress while it trains
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Where TensorBoard finds the run.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct BoardArgs {
    /// Write epoch and stage times into a folder for TensorBoard, while it trains
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) tensorboard: Option<PathBuf>,
}

/// How the laps of a training without epochs are chosen.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct LapArgs {
    /// Steps of a lap, where the training has no epochs [default: what lies between evaluations or
    /// checkpoints, else 16 to 32 laps]
    #[arg(long, value_name = "STEPS", value_parser = values::parse_count, help_heading = "Output")]
    pub(crate) lap: Option<u64>,
}

/// `laptime demo`.
#[derive(Debug, clap::Args)]
#[command(before_help = "Example: laptime demo")]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `laptime run`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime run -- python train.py --epochs 3     where does the time of a training go?
  laptime run --profile -- python train.py      which functions take each stage?
  laptime run --layers -- python train.py       which layers of the model take the time?
  laptime run --deadline 06:00 -- python train.py   warns early when it will not make it
  laptime run --name baseline -- ./train.sh     any command, called `baseline`
  laptime run --tensorboard logs -- python train.py      epoch times in TensorBoard, live
  laptime run --live -- python train.py > log 2>&1       a page of its own while it runs

The command's own output, signals and exit code stay as they are. The report goes to
standard error.")]
pub(crate) struct RunArgs {
    /// What to call the run [default: $LAPTIME_NAME, else the script or program]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub(crate) name: Option<String>,
    /// Do not show the report when the command ends [default: $LAPTIME_QUIET]
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) board: BoardArgs,
    /// Fill the terminal with a page of the run while the command's output goes elsewhere
    #[arg(long, help_heading = "Output")]
    pub(crate) live: bool,
    /// Keep the terminal's title up to date: epoch, loss, time left
    #[arg(long, help_heading = "Output")]
    pub(crate) title: bool,
    #[command(flatten)]
    pub(crate) lap: LapArgs,
    /// Warn as soon as it is clear that it will not be done by then, such as 55m or 06:00 [default: when Slurm ends
    /// the job]
    #[arg(long, value_name = "TIME", value_parser = deadline::parse_deadline)]
    pub(crate) deadline: Option<Deadline>,
    /// Measure from outside only: attach nothing to Python
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Sample the Python stacks, to show which functions take each stage
    #[arg(long)]
    pub(crate) profile: bool,
    /// Time each layer of the model on sampled steps (PyTorch, and Keras where it runs eagerly)
    #[arg(long, conflicts_with = "no_hooks")]
    pub(crate) layers: bool,
    /// Train with a change that the script does not have, such as `num_workers=4`; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = change::parse_change, conflicts_with = "no_hooks")]
    pub(crate) change: Vec<Change>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// The command and its arguments, best after `--`
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

/// Which epochs a document has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhichEpochs {
    // Each by itself, however many there are.
    All,
}

/// `laptime report`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime report              the latest run
  laptime report mlp          a run by its name
  laptime report sweep        the latest sweep
  laptime report --live       follow a training that is running
  laptime report --json       every number, for programs
  laptime report --json --epochs all   also where there are very many epochs
  laptime report --lap 100    laps of 100 steps, where there are no epochs
  laptime report --html run.html            a page with charts that opens anywhere
  laptime report --svg laps.svg    its laps as a picture; a folder gets every chart
  laptime report --export tensorboard logs  its epochs as charts in TensorBoard
  laptime report --export perfetto FILE     every span, for ui.perfetto.dev
  laptime report --export parquet FILE --table steps   a row a step, for data frames
  laptime report --export speedscope FILE   the samples of `run --profile`")]
pub(crate) struct ReportArgs {
    /// Which run or sweep: a run's name, the id of either or the beginning of it, `sweep` for the latest sweep, or
    /// a folder with runs [default: the latest run]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Folders with the rest of a run whose machines share no disk
    #[arg(value_name = "FOLDER")]
    pub(crate) others: Vec<PathBuf>,
    /// Fill the terminal with a page of the run that changes while it trains; `q` leaves it
    #[arg(long, conflicts_with_all = ["form", "svg", "export"], help_heading = "Output")]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) form: SweepForm,
    /// Print every epoch; past 10,000 of them JSON has neighbours folded
    #[arg(long, value_name = "WHICH", requires = "json", help_heading = "Output")]
    pub(crate) epochs: Option<WhichEpochs>,
    #[command(flatten)]
    pub(crate) export: ExportArgs,
    #[command(flatten)]
    pub(crate) lap: LapArgs,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `laptime runs`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime runs                      what there is
  laptime runs remove 3f9a2c71      one of them
  laptime runs remove --failed      all that failed or were killed")]
pub(crate) struct RunsArgs {
    /// What to do with them; without it they are listed.
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,
    /// Print one JSON document
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// What to do with the runs.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// List the runs, newest first (the default)
    List,
    /// Remove runs from disk; one that is still running stays
    Remove(RemoveArgs),
}

/// `laptime runs remove`.
#[derive(Clone, Debug, clap::Args)]
#[command(before_help = "Example: laptime runs remove --failed")]
#[group(required = true, multiple = false)]
pub(crate) struct RemoveArgs {
    /// Which runs: names, ids or beginnings of ids
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// All runs that failed or were killed
    #[arg(long)]
    pub(crate) failed: bool,
    /// All runs
    #[arg(long)]
    pub(crate) all: bool,
}

/// The command line understood, or why to stop here.
pub(crate) fn parse(command_line: impl IntoIterator<Item = OsString>) -> Result<Args, Stop> {
    let words: Vec<OsString> = command_line.into_iter().collect();
    Args::try_parse_from(&words).map_err(|error| Stop::from_clap(&error, &words))
}

#[cfg(test)]
mod tests;
