//! `laptime data --compare`: the same data at several places.

use std::sync::Arc;

use laptime_data::comparison::Comparison;
use laptime_data::link::ProbeLimits;
use laptime_data::remote::Place;
use laptime_data::survey::Watch;
use laptime_launch::program::python;

use crate::Ending;
use crate::args::DataArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::text::comparison_text;

use super::elsewhere::refused;
use super::progress::Progress;
use super::stop_on_request;

pub(super) fn run(args: &DataArgs, screen: &Screen) -> Result<Ending, Failure> {
    let places = args.paths.iter().map(|path| {
        let url = path.to_string_lossy();
        Place::parse(&url, python()).map_err(|error| refused(&url, &error))
    });
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let limits = ProbeLimits { bytes: args.probe_bytes, time: args.probe_time };
    let watch = Arc::new(Watch::default());
    stop_on_request(&watch);
    let progress = Progress::follow(&watch, args.quiet, screen);
    let comparison = Comparison::of(&places, limits, &watch);
    drop(progress);
    if args.json {
        screen.show_json(&comparison)?;
    } else {
        screen.show(comparison_text(&comparison, &screen.style).trim_end());
    }
    if watch.stopped() {
        return Ok(Ending::Interrupted);
    }
    if comparison.places.iter().all(|place| place.copy_s.is_none()) {
        return Err(Failure::new("could not measure the link to any of the places"));
    }
    Ok(Ending::Done)
}
