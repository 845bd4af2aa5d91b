//! The options of `laptime compare`.

use laptime_analyse::compare::{Asked, SAME_WITHIN};

use super::Place;
use super::sweep_values::parse_precision;

/// `laptime compare`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime compare before after                is `after` faster than `before`, and what changed?
  laptime compare 3f9a,77b0 c012,d4e1         several runs a side see what one cannot
  laptime compare before latest --fail-if-slower 5%     exit code 3 if it is

Only runs of one machine that trained the same are called faster or slower.")]
pub(crate) struct CompareArgs {
    /// What to compare with: a run's name, its id or the beginning of it, or `latest`; several
    /// separated by commas
    #[arg(value_name = "A")]
    pub(crate) a: String,
    /// What is judged, in the same way
    #[arg(value_name = "B")]
    pub(crate) b: String,
    /// Share that times may differ by and still be the same [default: 2%]
    #[arg(long, value_name = "SHARE", value_parser = parse_precision)]
    pub(crate) same_within: Option<f64>,
    /// End with exit code 3 if B is slower by more than this share, is not the same training or
    /// cannot be compared
    #[arg(long, value_name = "SHARE", value_parser = parse_precision)]
    pub(crate) fail_if_slower: Option<f64>,
    /// Print one JSON document (laptime.compare/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

impl CompareArgs {
    /// What is asked of the comparison.
    pub(crate) fn asked(&self) -> Asked {
        Asked { same_within: self.same_within.unwrap_or(SAME_WITHIN), fail_if_slower: self.fail_if_slower }
    }
}
