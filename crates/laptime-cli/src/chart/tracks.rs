//! Loader workers and other threads: the ledger of each as one bar.

use laptime_analyse::{Report, TrackSummary};
use laptime_core::{TrackKind, units};

use super::figure::Figure;
use super::numbers::Numbers;
use super::ranks::stages;
use super::stacked::{Row, all_stages, draw_rows};
use crate::one_line::shown;
use crate::stage_words::stage_name;

/// Tracks that have a bar.
const MOST_BARS: usize = 64;

/// Everything of the run that is neither the thread that takes the steps nor a device.
pub(crate) fn tracks_figure(report: &Report) -> Option<Figure> {
    let others: Vec<&TrackSummary> =
        report.tracks.iter().filter(|track| track.kind != TrackKind::Device).take(MOST_BARS).collect();
    let row = |track: &&TrackSummary| Row {
        name: shown(&track.name),
        strong: false,
        stages: stages(&track.ledger),
    };
    let rows: Vec<Row> = others.iter().map(row).collect();
    let described = format!(
        "What {} did beside the training thread, each from its first to its last record",
        units::counted(others.len() as u64, "other track")
    );
    let numbers = numbers(&others, &rows);
    let title = "Workers and other threads";
    (!rows.is_empty())
        .then(|| Figure::new("tracks", title, described, numbers, |canvas| draw_rows(canvas, &rows)))
}

fn numbers(tracks: &[&TrackSummary], rows: &[Row]) -> Numbers {
    let stages = all_stages(rows);
    let names: Vec<String> = stages.iter().map(|stage| stage_name(stage)).collect();
    let mut numbers = Numbers::new(["track", "wall"].into_iter().chain(names.iter().map(String::as_str)));
    for track in tracks {
        let of_stage = |stage: &&str| {
            let row = track.ledger.iter().find(|row| row.stage == **stage);
            units::or_unknown(row.map(|row| row.seconds), units::duration)
        };
        let fixed = [shown(&track.name), units::duration(track.wall_s)];
        numbers.row(fixed.into_iter().chain(stages.iter().map(of_stage)));
    }
    numbers
}
