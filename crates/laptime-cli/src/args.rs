//! Every command and option of `laptime`, with its help.

mod refusal;
mod sweep_values;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand, ValueEnum};
use laptime_analyse::sweep::{Parameter, Target};

use crate::command::sweep::parse_axis;
use crate::settings;

pub(crate) use refusal::{Stop, unknown_model};
pub(crate) use sweep_values::RepeatRange;
use sweep_values::{parse_precision, parse_repeats, parse_target, parse_time};
pub(crate) use values::{BatchSize, DataChoice};
use values::{
    parse_count, parse_data, parse_learning_rate, parse_seed, parse_size, parse_threads,
    parse_validation_share,
};

/// The optimizers by the names a user types.
const OPTIMIZERS: [&str; 5] = ["sgd", "momentum", "adam", "adamw", "rmsprop"];

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
    /// Show the report of a run or a sweep
    Report(ReportArgs),
    /// List or remove the runs that are kept
    Runs(RunsArgs),
}

/// Colour on the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    // Plain comments: documented values would make clap print the long form of every help.
    // On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    // Also into files and pipes.
    Always,
    Never,
}

impl ColorChoice {
    /// Whether to use colour; `no_color` is the variable NO_COLOR, which counts when it is not empty.
    pub(crate) fn wanted(self, terminal: bool, no_color: Option<&OsString>) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => terminal && no_color.is_none_or(|value| value.is_empty()),
        }
    }
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
    pub(crate) fn folder(&self, laptime_dir: Option<OsString>) -> PathBuf {
        settings::folder(self.dir.clone(), laptime_dir, settings::project_folder())
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

/// `laptime demo`.
#[derive(Debug, clap::Args)]
#[command(before_help = "Example: laptime demo")]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `laptime train`. What is absent is left to the model's defaults.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime train mlp                         where does the time go?
  laptime train mlp --rows 1e3,1e4,1e5      how does it grow with the data?
  laptime train cnn --batch 16,64,256       which batch size is fastest?
  laptime train mlp --data points.csv       the same on your own rows")]
pub(crate) struct TrainArgs {
    /// Which model: linear, mlp or cnn
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// Where the rows come from: generated, or a .csv or .npy file with the target last
    #[arg(long, value_name = "SOURCE", value_parser = parse_data, default_value = "generated", help_heading = "Data")]
    pub(crate) data: DataChoice,
    /// Rows to generate; several train one after the other [default: linear 100, mlp 10_000, cnn 1_000]
    #[arg(long, value_name = "N,…", value_parser = parse_count, allow_negative_numbers = true, value_delimiter = ',', help_heading = "Data")]
    pub(crate) rows: Vec<u64>,
    /// Numbers in a row [default: linear 1, mlp 10]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) features: Option<usize>,
    /// Share of the rows held out to validate on, such as 0.2 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = parse_validation_share, allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) validate: Option<f64>,

    /// Hidden layers of the mlp, convolution blocks of the cnn [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Model")]
    pub(crate) layers: Option<usize>,
    /// Units of a hidden layer, channels of a convolution [default: mlp 64, cnn 32]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Model")]
    pub(crate) width: Option<usize>,
    /// Side of the convolution kernel [default: 3]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Model")]
    pub(crate) kernel: Option<usize>,

    /// Passes over the data [default: 10]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) epochs: Option<u64>,
    /// Rows in a batch, or `full`; several train one after the other [default: 32, linear full]
    #[arg(long, value_name = "N|full,…", value_delimiter = ',', help_heading = "Training")]
    pub(crate) batch: Vec<BatchSize>,
    /// Which optimizer [default: adam, linear sgd]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(OPTIMIZERS), help_heading = "Training")]
    pub(crate) optimizer: Option<String>,
    /// Learning rate [default: the optimizer's own]
    #[arg(long, value_name = "RATE", value_parser = parse_learning_rate, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) lr: Option<f64>,
    /// Decides data, starting weights and the order of rows
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_seed, default_value = "0",
        allow_negative_numbers = true,
        help_heading = "Training"
    )]
    pub(crate) seed: u64,
    /// Threads to compute with [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_threads, help_heading = "Training")]
    pub(crate) threads: Option<u32>,

    /// What to call the run [default: the model]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub(crate) name: Option<String>,
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
  laptime run --name baseline -- ./train.sh     any command, called `baseline`

The command's own output, signals and exit code stay as they are. The report goes to
standard error.")]
pub(crate) struct RunArgs {
    /// What to call the run [default: $LAPTIME_NAME, else the script or program]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub(crate) name: Option<String>,
    /// Show no report when the command has ended [default: $LAPTIME_QUIET]
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Measure from outside only: attach nothing to Python
    #[arg(long)]
    pub(crate) no_hooks: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// The command and its arguments, best after `--`
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

/// `laptime sweep`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime sweep -p batch=16..512*2 -- laptime train mlp --batch {batch}
  laptime sweep -p bs=32,128 -p workers=0,2 -- python train.py --bs {bs} --workers {workers}
  laptime sweep -p opt=sgd,adam --target loss=0.1 -- laptime train mlp --optimizer {opt}
  laptime sweep --resume                        goes on with the latest

Values are a list (32,128 or sgd,adam) or a range that adds (0.1..1.0+0.1) or multiplies
(16..512*2). Several -p measure every combination. {{ in the command is a brace.")]
pub(crate) struct SweepArgs {
    /// An axis: its name and its values; {NAME} in the command takes them
    #[arg(long = "parameter", short = 'p', value_name = "NAME=VALUES", value_parser = parse_axis, required_unless_present = "resume")]
    pub(crate) parameters: Vec<Parameter>,

    /// How often to measure a point: N, or MIN..MAX until it is precise [default: 3..10]
    #[arg(long, value_name = "N", value_parser = parse_repeats, help_heading = "Measuring")]
    pub(crate) repeats: Option<RepeatRange>,
    /// Half of the 95 % interval, of the mean, that is narrow enough [default: 3%]
    #[arg(long, value_name = "SHARE", value_parser = parse_precision, help_heading = "Measuring")]
    pub(crate) precision: Option<f64>,
    /// Time the repeats of a point take together at least [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measuring")]
    pub(crate) min_time: Option<Duration>,
    /// Start no more repeats after this long, such as 90s, 5m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measuring")]
    pub(crate) budget: Option<Duration>,
    /// End a repeat that takes longer [default: 10 × what its point took before, at least 1m; the first of a
    /// point 100 × the slowest so far, at least 10m, and at most half of the budget left]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measuring")]
    pub(crate) timeout: Option<Duration>,
    /// What training is to reach, such as loss=0.1 or accuracy=0.95 [default: what the command says]
    #[arg(long, value_name = "METRIC=VALUE", value_parser = parse_target, conflicts_with = "resume", help_heading = "Measuring")]
    pub(crate) target: Option<Target>,
    /// Decides the order of the repeats [default: another one each time]
    #[arg(long, value_name = "N", value_parser = parse_seed, conflicts_with = "resume", help_heading = "Measuring")]
    pub(crate) seed: Option<u64>,
    /// Measure from outside only: attach nothing to Python
    #[arg(long, conflicts_with = "resume", help_heading = "Measuring")]
    pub(crate) no_hooks: bool,
    /// Go on with a sweep that was interrupted [default: the latest]
    #[arg(long, value_name = "SWEEP", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["parameters", "command"])]
    pub(crate) resume: Option<String>,

    #[command(flatten)]
    pub(crate) form: SweepForm,
    /// Show no progress while it measures
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// The command and its arguments, after `--`; `laptime` means this program
    #[arg(value_name = "COMMAND", required_unless_present = "resume", last = true)]
    pub(crate) command: Vec<OsString>,
}

/// How a sweep is shown.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SweepForm {
    /// Print one JSON document (of a sweep laptime.sweep/1, of a run laptime.report/1)
    #[arg(long, group = "form", help_heading = "Output")]
    pub(crate) json: bool,
    /// Print the points of a sweep as comma-separated values
    #[arg(long, group = "form", help_heading = "Output")]
    pub(crate) csv: bool,
    /// Print the points of a sweep as a Markdown table
    #[arg(long, group = "form", help_heading = "Output")]
    pub(crate) md: bool,
}

/// `laptime report`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime report              the latest run
  laptime report mlp          a run by its name
  laptime report sweep        the latest sweep
  laptime report --json       every number, for programs")]
pub(crate) struct ReportArgs {
    /// Which run or sweep: a run's name, the id of either or the beginning of it, or `sweep` for the latest
    /// sweep [default: the latest run]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) form: SweepForm,
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
