//! The numbers that are looked for first.

use laptime_analyse::{FitSummary, LedgerRow, Report};
use laptime_core::units;

use crate::markup::escaped;
use crate::stage_words::stage_name;
use crate::text::laps_done;

/// A row of them.
pub(super) fn tiles(report: &Report) -> String {
    let mut tiles = vec![tile("wall time", units::duration(report.wall_s)), tile("done", laps_done(report))];
    let early = report.fits.last().is_some_and(FitSummary::may_end_early);
    let label = if early { "time left, at most" } else { "time left" };
    tiles.extend(report.time_left.map(|left| tile(label, units::waiting_interval(left.low, left.high))));
    if let Some(steps) = report.steps {
        tiles.push(tile("a step, median", units::duration(steps.p50_s)));
        tiles.extend(steps.samples_per_s.map(|rate| tile("samples a second", units::per_second(rate))));
    }
    let largest = report.ledger.iter().max_by(|a: &&LedgerRow, b| a.share.total_cmp(&b.share));
    let largest = largest.filter(|row| row.share > 0.0);
    tiles.extend(
        largest.map(|row| tile(&format!("{}, the most", stage_name(&row.stage)), units::percent(row.share))),
    );
    let peak = report.memory.peak_rss_bytes;
    tiles.extend(peak.map(|bytes| tile("memory, peak", units::bytes(bytes))));
    format!("<dl class=\"tiles\">\n{}</dl>\n", tiles.concat())
}

fn tile(label: &str, value: impl AsRef<str>) -> String {
    format!("<div><dt><bdi>{}</bdi></dt><dd>{}</dd></div>\n", escaped(label), escaped(value.as_ref()))
}
