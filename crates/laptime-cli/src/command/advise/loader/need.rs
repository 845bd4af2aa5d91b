//! What the model needs: as it was said, or as the latest run shows it.

use laptime_analyse::advise::loader_search::{Need, needed_rate};
use laptime_store::{Catalogue, Selected};

use crate::args::LoaderRequest;
use crate::study::Study;

/// Samples a second that the model takes when it never waits; `None` where nothing says so.
pub(super) fn need(request: &LoaderRequest) -> Option<Need> {
    match request.needs {
        Some(samples_per_s) => Some(Need { samples_per_s, run: None }),
        None => of_latest_run(request),
    }
}

/// A run that cannot be read is no reason not to measure.
fn of_latest_run(request: &LoaderRequest) -> Option<Need> {
    let entry = Catalogue::at(request.runs.clone()).find(Selected::Latest).ok()?;
    let report = Study::open(&entry.path).ok()?.without_profile().report().ok()?;
    let samples_per_s = needed_rate(&report)?;
    Some(Need { samples_per_s, run: Some(entry.meta.id) })
}
