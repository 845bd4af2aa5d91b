//! The epochs of a run as a table; windows of steps where a fit has none.

use std::collections::BTreeSet;
use std::io;

use laptime_analyse::{EpochSummary, LapKind, Report};

use super::{Cell, Column, Kind, Rows};
use crate::every_epoch::has_folded_epochs;
use crate::export::Exported;

type Of = fn(&EpochSummary) -> Cell;

/// What every epoch has.
const COLUMNS: [(&str, Kind, Of); 15] = [
    ("fit", Kind::Whole, |epoch| Cell::Whole(u64::from(epoch.fit))),
    ("epoch", Kind::Whole, |epoch| Cell::Whole(u64::from(epoch.index))),
    ("kind", Kind::Word, |epoch| Cell::Word(kind(epoch.kind))),
    ("complete", Kind::Flag, |epoch| Cell::Flag(epoch.complete)),
    ("wall_s", Kind::Number, |epoch| Cell::Number(epoch.wall_s)),
    ("ended_s", Kind::Number, |epoch| epoch.ended_s.into()),
    ("ended_unix_s", Kind::Number, |epoch| epoch.ended_unix_s.into()),
    ("first_step", Kind::Whole, |epoch| Cell::Whole(epoch.first_step)),
    ("steps", Kind::Whole, |epoch| Cell::Whole(epoch.steps)),
    ("samples", Kind::Whole, |epoch| epoch.samples.into()),
    ("samples_per_s", Kind::Number, |epoch| epoch.samples_per_s.into()),
    ("tokens", Kind::Whole, |epoch| epoch.tokens.into()),
    ("tokens_per_s", Kind::Number, |epoch| epoch.tokens_per_s.into()),
    ("evaluate_s", Kind::Number, |epoch| Cell::Number(epoch.evaluate_s)),
    ("loss", Kind::Number, |epoch| epoch.loss.into()),
];

/// What is in the epochs of one run only, in the order of the columns.
struct Named {
    metrics: BTreeSet<String>,
    stages: BTreeSet<String>,
    device: BTreeSet<String>,
}

/// Writes a row an epoch, also where the report has folded them.
pub(super) fn write(run: &Exported, rows: &mut dyn Rows) -> io::Result<()> {
    let named = Named::of(&run.report);
    rows.begin(&named.columns())?;
    if !has_folded_epochs(&run.report) {
        return run.report.epochs.iter().try_for_each(|epoch| rows.row(&named.cells(epoch)));
    }
    let mut written = Ok(());
    let read = run.study.every_epoch(run.report.epochs.clone(), &mut |epoch| {
        if written.is_ok() {
            written = rows.row(&named.cells(epoch));
        }
    });
    read.map_err(io::Error::other).and(written)
}

impl Named {
    fn of(report: &Report) -> Self {
        let device = |epoch: &EpochSummary| epoch.device_stages.clone().unwrap_or_default().into_keys();
        Self {
            metrics: report.epochs.iter().flat_map(|epoch| epoch.metrics.keys().cloned()).collect(),
            stages: report.epochs.iter().flat_map(|epoch| epoch.stages.keys().cloned()).collect(),
            device: report.epochs.iter().flat_map(device).collect(),
        }
    }

    fn columns(&self) -> Vec<Column> {
        let fixed = COLUMNS.iter().map(|(name, kind, _)| Column::new(*name, *kind));
        // A user's stage may be called as anything is.
        let number = |name: String| Column::new(name, Kind::Number);
        fixed
            .chain(self.metrics.iter().map(|metric| number(format!("metric_{metric}"))))
            .chain(self.stages.iter().map(|stage| number(format!("stage_{stage}_s"))))
            .chain(self.device.iter().map(|row| number(format!("device_{row}_s"))))
            .collect()
    }

    fn cells(&self, epoch: &EpochSummary) -> Vec<Cell> {
        let metric = |name: &String| Cell::from(epoch.metrics.get(name).copied().flatten());
        let stage = |name: &String| Cell::Number(epoch.stages.get(name).copied().unwrap_or(0.0));
        let on_device = |row: &String| {
            let rows = epoch.device_stages.as_ref();
            Cell::from(rows.map(|rows| rows.get(row).copied().unwrap_or(0.0)))
        };
        let fixed = COLUMNS.iter().map(|(_, _, of)| of(epoch));
        fixed
            .chain(self.metrics.iter().map(metric))
            .chain(self.stages.iter().map(stage))
            .chain(self.device.iter().map(on_device))
            .collect()
    }
}

fn kind(kind: LapKind) -> &'static str {
    match kind {
        LapKind::Epoch => "epoch",
        LapKind::Folded => "folded",
        LapKind::Window => "window",
    }
}
