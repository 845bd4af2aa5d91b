//! The options of `laptime sweep`, and the forms that its result can have.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use laptime_analyse::sweep::{Parameter, Target};

use super::axis::parse_axis;
use super::sweep_values::{RepeatRange, parse_precision, parse_repeats, parse_target, parse_time};
use super::values::parse_seed;
use super::{PageArgs, Place};

/// `laptime sweep`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime sweep -p batch=16..512*2 -- laptime train mlp --batch {batch}
  laptime sweep -p bs=32,128 -p workers=0,2 -- python train.py --bs {bs} --workers {workers}
  laptime sweep -p opt=sgd,adam --target loss=0.1 -- laptime train mlp --optimizer {opt}
  laptime sweep --resume                        continue the latest

Values are a list (32,128 or sgd,adam) or a range that adds (0.1..1.0+0.1) or multiplies
(16..512*2). Several -p measure every combination. {{ in the command is a brace.")]
pub(crate) struct SweepArgs {
    /// An axis: its name and its values; {NAME} in the command takes them
    #[arg(long = "parameter", short = 'p', value_name = "NAME=VALUES", value_parser = parse_axis, required_unless_present = "resume")]
    pub(crate) parameters: Vec<Parameter>,

    /// How often to measure a point: N, or MIN..MAX until it is precise [default: 3..10]
    #[arg(long, value_name = "N", value_parser = parse_repeats, help_heading = "Measuring")]
    pub(crate) repeats: Option<RepeatRange>,
    /// Half-width of the 95 % interval to aim for, as a share of the mean [default: 3%]
    #[arg(long, value_name = "SHARE", value_parser = parse_precision, help_heading = "Measuring")]
    pub(crate) precision: Option<f64>,
    /// Minimum total time of the repeats of a point [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measuring")]
    pub(crate) min_time: Option<Duration>,
    /// Start no more repeats after this long, such as 90s, 5m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measuring")]
    pub(crate) budget: Option<Duration>,
    /// Stop a repeat that takes longer [default: 10 × what its point took before, at least 1m; the first of a
    /// point 100 × the slowest so far, at least 10m, and at most half of the budget left]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measuring")]
    pub(crate) timeout: Option<Duration>,
    /// Goal of the training, such as loss=0.1 or accuracy=0.95 [default: what the command says]
    #[arg(long, value_name = "METRIC=VALUE", value_parser = parse_target, conflicts_with = "resume", help_heading = "Measuring")]
    pub(crate) target: Option<Target>,
    /// Seeds the order of the repeats [default: random]
    #[arg(long, value_name = "N", value_parser = parse_seed, conflicts_with = "resume", help_heading = "Measuring")]
    pub(crate) seed: Option<u64>,
    /// Measure from outside only: attach nothing to Python
    #[arg(long, conflicts_with = "resume", help_heading = "Measuring")]
    pub(crate) no_hooks: bool,
    /// Continue an interrupted sweep [default: the latest]
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
    /// Write charts as SVG files into a folder; of a run, a name that ends in .svg gets its laps as one picture
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}
