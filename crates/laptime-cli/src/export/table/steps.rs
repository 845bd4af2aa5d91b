//! The steps of a run as a table, those of all its ranks.

use std::io;

use laptime_analyse::timeline::StepRow;

use super::{Cell, Column, Kind, Rows};
use crate::export::Exported;

type Of = fn(&StepRow) -> Cell;

/// What a step has.
const COLUMNS: [(&str, Kind, Of); 9] = [
    ("rank", Kind::Whole, |step| Cell::Whole(u64::from(step.rank))),
    ("pid", Kind::Whole, |step| Cell::Whole(u64::from(step.pid))),
    ("fit", Kind::Whole, |step| step.fit.map(u64::from).into()),
    ("epoch", Kind::Whole, |step| step.epoch.map(u64::from).into()),
    ("step", Kind::Whole, |step| Cell::Whole(step.step)),
    ("started_s", Kind::Number, |step| Cell::Number(step.started_s)),
    ("wall_s", Kind::Number, |step| Cell::Number(step.wall_s)),
    ("samples", Kind::Whole, |step| step.samples.map(u64::from).into()),
    ("loss", Kind::Number, |step| step.loss.into()),
];

/// Writes a row a step, in the order of the logs.
pub(super) fn write(run: &Exported, rows: &mut dyn Rows) -> io::Result<()> {
    rows.begin(&COLUMNS.map(|(name, kind, _)| Column::new(name, kind)))?;
    let timeline = run.study.timeline();
    let mut steps = timeline.steps();
    let mut written = Ok(());
    let read = run.study.again(&mut |log, record| {
        if let Some(step) = steps.take(log, record)
            && written.is_ok()
        {
            written = rows.row(&COLUMNS.map(|(_, _, of)| of(&step)));
        }
    });
    read.map_err(io::Error::other).and(written)
}
