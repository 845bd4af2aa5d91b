//! `laptime predict --grades`: how good this machine's forecasts were.

use laptime_analyse::{GradedForecast, grade};
use laptime_launch::data_folder;
use laptime_store::{ForecastRecord, Grade};

use crate::Ending;
use crate::args::PredictArgs;
use crate::failure::Failure;
use crate::one_line::shown_path;
use crate::screen::Screen;
use crate::text::grades_text;

/// The level of the intervals that are kept.
const LEVEL: f64 = 0.9;

pub(super) fn run(args: &PredictArgs, screen: &Screen) -> Result<Ending, Failure> {
    let record = data_folder().map(|folder| ForecastRecord::at(&folder));
    let record = record.ok_or_else(|| {
        Failure::new("could not show the grades of forecasts")
            .because("there is no folder for the user's data: HOME is not set")
            .hint("LAPTIME_DATA_DIR=FOLDER laptime predict --grades")
    })?;
    let kept: Vec<GradedForecast> = record.read().iter().map(graded).collect();
    let grades = grade(&kept, LEVEL);
    if args.json {
        screen.show_json(&grades)?;
    } else {
        let text = grades_text(&grades, &shown_path(record.path()), &screen.style);
        screen.show(text.trim_end());
    }
    Ok(Ending::Done)
}

fn graded(kept: &Grade) -> GradedForecast {
    GradedForecast {
        mark: kept.mark,
        predicted_s: kept.predicted_s,
        low_s: kept.low_s,
        high_s: kept.high_s,
        took_s: kept.took_s,
    }
}
