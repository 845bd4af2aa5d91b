//! A ledger as bars: one for each stage, as long as its share of the wall time.

use laptime_analyse::{LedgerRow, Report, TrackSummary};
use laptime_core::{TrackKind, units};

use super::canvas::{Anchor, Area, Canvas, text_width};
use super::figure::Figure;
use super::numbers::Numbers;
use crate::markup::cut;
use crate::one_line::shown;
use crate::stage_words::stage_name;

const ROW: f64 = 26.0;
const BAR: f64 = 16.0;

/// The ledgers of a run: the thread that takes the steps, then each device.
pub(crate) fn ledger_figures(report: &Report) -> Vec<Figure> {
    let own = figure("ledger", "The training thread", &report.ledger, report.wall_s);
    let devices = report.tracks.iter().filter(|track| track.kind == TrackKind::Device).enumerate();
    let devices = devices.map(|(at, track)| {
        figure(&format!("ledger-{}", at + 2), &device_title(track, report), &track.ledger, track.wall_s)
    });
    std::iter::once(own).chain(devices).flatten().collect()
}

fn device_title(track: &TrackSummary, report: &Report) -> String {
    let known = report.devices.iter().flatten().find(|device| device.device == track.name);
    let model = known.and_then(|device| device.name.as_deref()).map(|model| format!(", {}", shown(model)));
    format!("On {}{}", shown(&track.name), model.unwrap_or_default())
}

fn figure(id: &str, title: &str, rows: &[LedgerRow], wall_s: f64) -> Option<Figure> {
    let rows: Vec<&LedgerRow> = rows.iter().filter(|row| row.seconds > 0.0).collect();
    let largest = rows.iter().map(|row| row.share).fold(0.0, f64::max);
    let described =
        format!("{}: {} of wall time by stage, which add up to it", title, units::duration(wall_s));
    let wanted = !rows.is_empty() && largest > 0.0;
    wanted.then(|| Figure::new(id, title, described, numbers(&rows), |canvas| draw(canvas, &rows, largest)))
}

fn draw(canvas: &mut Canvas, rows: &[&LedgerRow], largest: f64) {
    let letters = if canvas.is_narrow() { 16 } else { 28 };
    let names: Vec<String> = rows.iter().map(|row| cut(&stage_name(&row.stage), letters)).collect();
    let labels = names.iter().map(|name| text_width(name)).fold(0.0, f64::max) + 12.0;
    let values = if canvas.is_narrow() { 100.0 } else { 130.0 };
    let longest = (canvas.width - labels - values).max(20.0);
    for (at, (row, name)) in rows.iter().zip(&names).enumerate() {
        let y = at as f64 * ROW;
        let length = (row.share / largest * longest).max(1.0);
        canvas.text("", (labels - 10.0, y + 15.0), Anchor::End, name);
        let bar = Area { x: labels, y: y + 3.0, width: length, height: BAR };
        canvas.stage(&row.stage, bar, &tip(row), None);
        let value = format!("{} · {}", units::duration(row.seconds), units::percent(row.share));
        canvas.text("", (bar.right() + 8.0, y + 15.0), Anchor::Start, &value);
    }
    canvas.height = rows.len() as f64 * ROW;
}

fn tip(row: &LedgerRow) -> String {
    let spans = match row.mean_s.filter(|_| row.count > 0) {
        Some(mean) => {
            format!("\n{}, {} each", units::counted(row.count, "span"), units::duration(mean))
        }
        None => String::new(),
    };
    format!(
        "{}: {}, {}{spans}",
        stage_name(&row.stage),
        units::duration(row.seconds),
        units::percent(row.share)
    )
}

fn numbers(rows: &[&LedgerRow]) -> Numbers {
    let mut numbers = Numbers::new(["stage", "time", "share", "spans", "mean", "median", "p95"]);
    for row in rows {
        numbers.row([
            stage_name(&row.stage),
            units::duration(row.seconds),
            units::percent_in_column(row.share),
            units::count(row.count),
            units::or_unknown(row.mean_s, units::duration),
            units::or_unknown(row.p50_s, units::duration),
            units::or_unknown(row.p95_s, units::duration),
        ]);
    }
    numbers
}
