//! A report as JSON with every epoch of its run, however many there are: they are written as they are read.

use std::io::{self, BufWriter, Write};

use laptime_analyse::{EpochSummary, LapKind, Report};
use laptime_store::StoreError;

use crate::study::Study;

/// Where the list of epochs stands in a document that has none. Quotes inside a value are escaped, so that
/// nothing else reads like it.
const NO_EPOCHS: &str = "\n  \"epochs\": [],\n";

/// Whether a report has epochs that it does not list one by one.
pub(crate) fn has_folded_epochs(report: &Report) -> bool {
    report.epochs.iter().any(|lap| lap.kind == LapKind::Folded)
}

/// Writes the report with all epochs. A reader that has gone away is no failure.
pub(crate) fn write_with_every_epoch(
    mut report: Report,
    study: &Study,
    out: impl Write,
) -> Result<(), StoreError> {
    let laps = std::mem::take(&mut report.epochs);
    let text = serde_json::to_string_pretty(&report).unwrap_or_default();
    let (before, after) = text.split_once(NO_EPOCHS).unwrap_or((&text, ""));
    let mut list = List { out: BufWriter::new(out), written: 0, failed: false };
    list.put(format_args!("{before}\n  \"epochs\": ["));
    study.every_epoch(laps, &mut |epoch| list.add(epoch))?;
    list.put(format_args!("\n  ],\n{after}\n"));
    let _ = list.out.flush();
    Ok(())
}

/// A list in a document that is being written.
struct List<W: Write> {
    out: BufWriter<W>,
    written: u64,
    failed: bool,
}

impl<W: Write> List<W> {
    fn add(&mut self, epoch: &EpochSummary) {
        let comma = if self.written == 0 { "" } else { "," };
        self.written += 1;
        // Line breaks inside a value are escaped: each one here begins a line of the document.
        let text = serde_json::to_string_pretty(epoch).unwrap_or_default().replace('\n', "\n    ");
        self.put(format_args!("{comma}\n    {text}"));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        let written: io::Result<()> = if self.failed { Ok(()) } else { self.out.write_fmt(text) };
        self.failed |= written.is_err();
    }
}
