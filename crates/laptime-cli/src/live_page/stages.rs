//! The stages of the newest epoch, a bar each.

use laptime_analyse::EpochSummary;
use laptime_core::units;
use ratatui_core::text::Line;

use super::drawing::Shown;
use super::section::{Section, painted};
use crate::text::{Emphasis, share_bar, shortened, stage_name, stage_paint};

/// Columns of a stage's name and of its time.
const NAME: usize = 15;
const TIME: usize = 9;
/// The longest bar worth drawing.
const LONGEST: usize = 40;

pub(super) fn section(page: &Shown<'_>, width: usize) -> Option<Section> {
    let epoch = newest(page)?;
    let stages = in_order(page, epoch);
    let longest = stages.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let room = width.saturating_sub(NAME + TIME + 2).min(LONGEST);
    let line = |(stage, seconds): &(&str, f64)| {
        let name = format!("{:<NAME$} ", shortened(&stage_name(stage), NAME));
        let time = format!("{:>TIME$} ", units::duration(*seconds));
        let bar = share_bar(seconds / longest, room, &page.style);
        Line::from(vec![
            painted(&name, Emphasis::Plain, page.style),
            painted(&time, Emphasis::Plain, page.style),
            painted(&bar, stage_paint(stage), page.style),
        ])
    };
    let heading = format!("stages of {}", super::epochs::name(page, epoch));
    Section::new(10, &heading, stages.iter().map(line).collect(), page.style)
}

/// The newest epoch that has anything to show.
fn newest<'a>(page: &Shown<'a>) -> Option<&'a EpochSummary> {
    page.report.epochs.iter().rev().find(|epoch| epoch.steps > 0)
}

/// The stages of an epoch in the order of the ledger; what no stage claims comes last.
pub(super) fn in_order<'a>(page: &Shown<'a>, epoch: &EpochSummary) -> Vec<(&'a str, f64)> {
    let known = page.report.ledger.iter().map(|row| row.stage.as_str());
    let known = known.filter(|stage| *stage != "unaccounted").chain(["unaccounted"]);
    known
        .filter_map(|stage| Some((stage, *epoch.stages.get(stage)?)))
        .filter(|(_, seconds)| *seconds > 0.0)
        .collect()
}
