//! Bytes by the link they went over.

use laptime_analyse::Report;
use laptime_core::units;

use super::canvas::{Anchor, Area, Canvas, text_width};
use super::figure::Figure;
use super::numbers::Numbers;
use crate::markup::cut;

const ROW: f64 = 26.0;

/// What moved, and how far; `None` where nothing is known to have.
pub(crate) fn bytes_figure(report: &Report) -> Option<Figure> {
    let moved = &report.transfer;
    let links = [
        ("read from storage", moved.storage_read_bytes),
        ("read from data files, cached or not", Some(moved.file_read_bytes)),
        ("handed to the model", Some(moved.batch_bytes)),
        ("copied to the device", moved.host_to_device_bytes),
        ("of it from pageable memory", moved.pageable_bytes),
        ("of it while the host waited", moved.blocking_bytes),
        ("copied from the device", moved.device_to_host_bytes),
        ("between ranks", moved.between_ranks_bytes),
        ("network, other programs' too", moved.network_bytes),
    ];
    let known: Vec<(&str, u64)> = links
        .into_iter()
        .filter_map(|(link, bytes)| Some((link, bytes.filter(|bytes| *bytes > 0)?)))
        .collect();
    let known: Vec<(String, u64)> = known.into_iter().map(|(link, bytes)| (link.to_owned(), bytes)).collect();
    bars_of_bytes("bytes", "Bytes by link", &known)
}

/// A bar for each of some amounts of bytes; `None` where there are none.
pub(crate) fn bars_of_bytes(id: &str, title: &str, amounts: &[(String, u64)]) -> Option<Figure> {
    let mut numbers = Numbers::new(["what", "bytes", "exactly"]);
    for (what, bytes) in amounts {
        numbers.row([what.clone(), units::bytes(*bytes), units::count(*bytes)]);
    }
    let described = format!("{title}: {}", units::counted(amounts.len() as u64, "row"));
    let drawn = amounts.iter().any(|(_, bytes)| *bytes > 0);
    drawn.then(|| Figure::new(id, title, described, numbers, |canvas| draw(canvas, amounts)))
}

fn draw(canvas: &mut Canvas, links: &[(String, u64)]) {
    let most = links.iter().map(|(_, bytes)| *bytes).max().unwrap_or(1).max(1) as f64;
    let narrow = canvas.is_narrow();
    let names: Vec<String> = links.iter().map(|(link, _)| cut(link, 44)).collect();
    let labels = names.iter().map(|name| text_width(name)).fold(0.0, f64::max) + 12.0;
    // On a phone the name stands above its bar.
    let (left, row) = if narrow { (0.0, ROW + 16.0) } else { (labels, ROW) };
    let longest = (canvas.width - left - 80.0).max(20.0);
    for (at, ((_, bytes), link)) in links.iter().zip(&names).enumerate() {
        let top = at as f64 * row;
        let y = if narrow { top + 16.0 } else { top };
        if narrow {
            canvas.text("", (0.0, top + 13.0), Anchor::Start, link);
        } else {
            canvas.text("", (labels - 10.0, y + 15.0), Anchor::End, link);
        }
        let width = (*bytes as f64 / most * longest).max(1.0);
        let tip = format!("{link}: {}", units::bytes(*bytes));
        let bar = Area { x: left, y: y + 3.0, width, height: 16.0 };
        canvas.rect("c0 ink", bar, &tip);
        canvas.text("", (bar.right() + 8.0, y + 15.0), Anchor::Start, &units::bytes(*bytes));
    }
    canvas.height = links.len() as f64 * row + 4.0;
}
