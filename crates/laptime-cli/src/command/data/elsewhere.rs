//! `laptime data URL`: data that lie elsewhere, the link to them, and the way to get them.

use std::path::Path;
use std::sync::Arc;

use laptime_data::elsewhere::{Elsewhere, LookOptions};
use laptime_data::remote::{Limits, Place};
use laptime_data::source::SourceError;
use laptime_data::survey::Watch;
use laptime_launch::program::python;

use crate::Ending;
use crate::args::DataArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::text::elsewhere_text;

use super::copy;
use super::progress::Progress;
use super::stop_on_request;

pub(super) fn run(url: &str, args: &DataArgs, screen: &Screen) -> Result<Ending, Failure> {
    let place = Place::parse(url, python()).map_err(|error| refused(url, &error))?;
    let asked = || format!("could not look at {}", place.url());
    let failed = |error: &SourceError| explained(Failure::new(asked()).because(reason(error)), error);
    let remote = place.open(Limits::default()).map_err(|error| failed(&error))?;
    let watch = Arc::new(Watch::default());
    stop_on_request(&watch);
    let progress = Progress::follow(&watch, args.quiet, screen);
    let folder = Path::new(".");
    let options =
        LookOptions { survey: args.options(), probe: args.probe_limits(), readers: args.to, folder };
    let looked = Elsewhere::look(&place, &options, &watch, &remote);
    drop(progress);
    let found = looked.map_err(|error| failed(&error))?;
    if args.json {
        screen.show_json(&found)?;
    } else {
        screen.show(elsewhere_text(&found, &screen.style).trim_end());
    }
    if args.time && found.survey.complete {
        return copy::run(&found, &watch, args, screen);
    }
    if found.survey.complete { Ok(Ending::Done) } else { Ok(Ending::Interrupted) }
}

/// A URL that is none: shown without what may be a password.
pub(super) fn refused(url: &str, error: &SourceError) -> Failure {
    let shown = url.split_once("://").map_or("of a place".to_owned(), |(scheme, _)| format!("{scheme}://…"));
    Failure::usage(format!("could not understand the URL {shown}"))
        .caused_by(error)
        .hint("laptime data https://host/path; also http, ftp, sftp, s3, and what fsspec knows")
}

fn reason(error: &SourceError) -> String {
    match error {
        SourceError::NotFound | SourceError::System(_) => error.to_string(),
        error => format!("it {error}"),
    }
}

fn explained(failure: Failure, error: &SourceError) -> Failure {
    let hint = match error {
        SourceError::Denied(_) => {
            "put the login into ~/.netrc, keys into ~/.aws or the environment, or into your ssh agent"
        }
        SourceError::Untrusted(_) => {
            "name its authority in SSL_CERT_FILE; for SFTP add its host key to ~/.ssh/known_hosts"
        }
        SourceError::NotFound => "check the path after the name of the machine",
        SourceError::Unreachable(_) | SourceError::TimedOut(_) => "check the name, the port and the network",
        _ => return failure,
    };
    failure.hint(hint)
}
