//! A run as a card that stands in someone else's page, such as a notebook's.

use laptime_core::units;

use super::table::Table;
use crate::chart::{Figure, laps_figure, ledger_figures};
use crate::markup::{isolated, name};
use crate::run_story::RunStory;
use crate::text::laps_done;

/// The verdict, the laps as a picture and the ledger; everything is within, and no rule of it reaches beyond.
pub(crate) fn run_card(story: &RunStory) -> String {
    let report = &story.report;
    let verdict = report.findings.first().map(|finding| format!("<p>{}</p>\n", name(&finding.text)));
    let ledger = ledger_figures(report).into_iter().next();
    let pictures = laps_figure(report).into_iter().chain(ledger.clone());
    let pictures: String = pictures.map(|figure| figure.svg_in_page()).collect();
    let table = ledger.map(|figure| table(&figure)).unwrap_or_default();
    format!(
        "<div style=\"max-width: 60rem\">\n<p><strong>{}</strong> · {} · {}</p>\n{}{pictures}{table}</div>\n",
        isolated(&report.run.name),
        laps_done(report),
        units::duration(report.wall_s),
        verdict.unwrap_or_default()
    )
}

fn table(figure: &Figure) -> String {
    let table = Table {
        caption: &figure.title,
        heads: &figure.numbers.heads,
        rows: &figure.numbers.rows,
        words: false,
    };
    format!("<details><summary>Table</summary>{}</details>\n", table.drawn())
}
