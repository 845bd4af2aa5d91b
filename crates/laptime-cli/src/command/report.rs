//! `laptime report`: shows a run again, also one that is still running.

use laptime_store::{Catalogue, Selected, StoreError, salvage_rings};

use super::train::shown_path;
use crate::Ending;
use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::study::Study;
use crate::text::report_text;

pub(crate) fn run(args: &ReportArgs, screen: &Screen) -> Result<Ending, Failure> {
    salvage_rings();
    let catalogue = Catalogue::at(args.place.folder(std::env::var_os("LAPTIME_DIR")));
    let selected = args.run.as_deref().map_or(Selected::Latest, Selected::Named);
    let entry = catalogue.find(selected).map_err(|error| not_shown(args, &error))?;
    let report = Study::open(&entry.path)
        .and_then(|mut study| study.report())
        .map_err(|error| not_shown(args, &error))?;
    if args.json {
        screen.show_json(&report)?;
    } else {
        let kept = shown_path(&entry.path);
        screen.show(report_text(&report, Some(&kept), &screen.style).trim_end());
    }
    Ok(Ending::Done)
}

fn not_shown(args: &ReportArgs, error: &StoreError) -> Failure {
    let asked = match &args.run {
        Some(run) => format!("could not report on `{run}`"),
        None => "could not report on the latest run".to_owned(),
    };
    refused(asked, error)
}

/// A failure to find or change runs: nothing was written.
pub(crate) fn refused(asked: String, error: &StoreError) -> Failure {
    let failure = match error {
        StoreError::Io { .. } | StoreError::StillRunning(_) => Failure::new(asked),
        _ => Failure::usage(asked),
    };
    Failure { hint: error.hint(), ..failure.caused_by(error) }
}
