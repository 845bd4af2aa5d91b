//! The options of `laptime compare`.

use std::ffi::OsString;
use std::path::PathBuf;

use laptime_analyse::compare::{Asked, SAME_WITHIN};

use super::Place;
use super::sweep_values::parse_precision;
use super::values::parse_count;
use crate::failure::Failure;

/// `laptime compare`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime compare before after                is `after` faster than `before`, and what changed?
  laptime compare 3f9a,77b0 c012,d4e1         several runs a side see what one cannot
  laptime compare before latest --fail-if-slower 5%     exit code 3 if it is
  laptime compare --base main --fail-if-slower 5% -- python train.py --epochs 2
                                              this tree against a revision of it, in turns

Only runs of one machine that trained the same are called faster or slower, unless the same
reference models (`laptime train`) were run on both machines.")]
pub(crate) struct CompareArgs {
    /// What to compare with: a run's name, its id or the beginning of it, or `latest`; several
    /// separated by commas
    #[arg(value_name = "A")]
    pub(crate) a: Option<String>,
    /// What is judged, in the same way
    #[arg(value_name = "B")]
    pub(crate) b: Option<String>,
    /// Share that times may differ by and still be the same [default: 2%]
    #[arg(long, value_name = "SHARE", value_parser = parse_precision)]
    pub(crate) same_within: Option<f64>,
    /// End with exit code 3 if B is slower by more than this share, is not the same training or
    /// cannot be compared; a B of another machine only warns
    #[arg(long, value_name = "SHARE", value_parser = parse_precision)]
    pub(crate) fail_if_slower: Option<f64>,
    /// Run the command in this git revision and in the working tree as it is, in turns
    #[arg(long, value_name = "REV", help_heading = "In turns")]
    pub(crate) base: Option<String>,
    /// Judge a stage of the training, such as `forward`, instead of the whole command
    #[arg(long, value_name = "NAME", requires = "base", help_heading = "In turns")]
    pub(crate) stage: Option<String>,
    /// The most pairs of executions [default: 30]
    #[arg(long, value_name = "MAX", value_parser = parse_count, requires = "base", help_heading = "In turns")]
    pub(crate) pairs: Option<u64>,
    /// Show no progress meanwhile
    #[arg(long, short, requires = "base", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print Markdown, for a pull request
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) md: bool,
    /// Print one JSON document (laptime.compare/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a page with charts: one file that opens in any browser (`-` is standard output)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "md"], help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// The command to run in turns, after `--`
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
}

/// What there is to compare.
pub(crate) enum Compared<'a> {
    /// Runs that were kept.
    Kept(&'a str, &'a str),
    /// A command in a revision and in the working tree.
    Base(&'a str, Vec<String>),
}

impl CompareArgs {
    /// What is asked of the comparison.
    pub(crate) fn asked(&self) -> Asked {
        Asked { same_within: self.same_within.unwrap_or(SAME_WITHIN), fail_if_slower: self.fail_if_slower }
    }

    /// What is to be compared: two runs, or a command with `--base`.
    pub(crate) fn compared(&self) -> Result<Compared<'_>, Failure> {
        let refused = |because: &str| Failure::usage("could not compare").because(because);
        let in_turns = "laptime compare --base main -- python train.py";
        match (self.base.as_deref(), self.a.as_deref(), self.b.as_deref()) {
            (Some(base), None, None) if !self.command.is_empty() => {
                let words = self.command.iter().map(|word| word.to_string_lossy().into_owned());
                Ok(Compared::Base(base, words.collect()))
            }
            (Some(_), None, None) => {
                Err(refused("--base needs a command to run, and there is none after `--`").hint(in_turns))
            }
            (Some(base), Some(a), _) => {
                let typed = [Some(a), self.b.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
                Err(refused("--base runs a command after `--`; kept runs are compared without --base")
                    .hint(format!("laptime compare --base {base} -- {typed}")))
            }
            (Some(_), None, Some(_)) => Err(refused("--base runs a command after `--`").hint(in_turns)),
            (None, ..) if !self.command.is_empty() => {
                Err(refused("a command is compared with what it was in a revision, and --base is missing")
                    .hint(in_turns))
            }
            (None, Some(a), Some(b)) => Ok(Compared::Kept(a, b)),
            (None, Some(_), None) => Err(refused("B is missing").hint("laptime compare --help")),
            (None, None, _) => {
                Err(refused("A and B are missing, or --base with a command").hint("laptime compare --help"))
            }
        }
    }
}
