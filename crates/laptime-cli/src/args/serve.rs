//! The options of `laptime serve`.

use super::Place;

/// `laptime serve`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime serve                 the runs of this folder, in a browser
  laptime serve --port 0        at any port that is free
  laptime serve --dir ~/runs    those of another folder

It shows runs and changes nothing: it answers this machine alone, and only who has the
token of the address that it prints. From another machine: ssh -L 5278:127.0.0.1:5278 HOST")]
pub(crate) struct ServeArgs {
    /// Port of this machine that it answers at; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT, value_parser = parse_port)]
    pub(crate) port: u16,
    /// Print the address as one JSON document (laptime.serve/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// L, A, P and T on the keys of a telephone.
const DEFAULT_PORT: u16 = 5278;

fn parse_port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "expected a number from 0 to 65535".to_owned())
}
