//! The head of the page: which run, where it is, and how long still.

use laptime_core::units;
use ratatui_core::text::Line;

use super::drawing::Shown;
use super::section::painted;
use crate::text::{Emphasis, progress_words, shortened, shown, status_word, wrapped};

/// Lines that where it is may take.
const MOST: usize = 3;

pub(super) fn lines(page: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let (report, style) = (page.report, page.style);
    let (status, emphasis) = status_word(report.run.status);
    let wall = units::duration(report.wall_s);
    let name =
        shortened(&shown(&report.run.name), width.saturating_sub(status.len() + wall.len() + 4).max(8));
    let title = Line::from(vec![
        painted(&name, Emphasis::Bold, style),
        painted("  ", Emphasis::Plain, style),
        painted(status, emphasis, style),
        painted(&format!("  {wall}"), Emphasis::Plain, style),
    ]);
    let words = progress_words(report);
    let place = words.get(1..).unwrap_or_default().join("  ");
    let place = wrapped(&place, width, "", "").into_iter().take(MOST);
    let place = place.map(|line| Line::from(painted(&line, Emphasis::Plain, style)));
    std::iter::once(title).chain(place).chain([Line::default()]).collect()
}
