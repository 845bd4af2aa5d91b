//! Exports: a run in the formats of other tools, one file a format.

mod collapsed;
mod format;
mod perfetto;
mod prometheus;
mod samples;
mod speedscope;
mod table;
pub(crate) mod tensorboard;
mod whole_file;

use std::io::{self, Write};
use std::path::Path;

use laptime_analyse::Report;

use crate::Ending;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::study::Study;
use crate::text::report_markdown;
pub(crate) use format::{ExportFormat, Table, Wanted};
pub(crate) use prometheus::prometheus_text;
use table::{CsvRows, ParquetRows};
use tensorboard::on_the_board;

/// A run that was just read.
pub(crate) struct Exported {
    /// All that is known of it.
    pub(crate) study: Study,
    /// What it comes to.
    pub(crate) report: Report,
    /// Where it is kept.
    pub(crate) kept: String,
}

/// Writes a run, and says where.
pub(crate) fn write(
    Wanted { format, table }: Wanted,
    path: &Path,
    run: &Exported,
    screen: &Screen,
) -> Result<Ending, Failure> {
    let asked = format!("could not export run {} as {}", run.report.run.id, format.name());
    match format {
        ExportFormat::Tensorboard => write_board(asked, path, &run.report, screen),
        ExportFormat::Speedscope | ExportFormat::Collapsed => {
            samples::write(asked, format, path, run, screen)
        }
        ExportFormat::Csv | ExportFormat::Parquet => {
            let mut fill = |out: &mut dyn Write| match format {
                ExportFormat::Csv => table::write(table, run, &mut CsvRows::new(out)),
                _ => table::write(table, run, &mut ParquetRows::new(out)),
            };
            let written = whole_file::write(path, &mut fill);
            said(asked, format, path, run, written, screen)
        }
        ExportFormat::Perfetto => {
            let written = whole_file::write(path, &mut |out| perfetto::write(&run.study, out));
            said(asked, format, path, run, written, screen)
        }
        ExportFormat::Prometheus => {
            let text = prometheus_text(std::slice::from_ref(&run.report));
            let written = whole_file::write(path, &mut |out| out.write_all(text.as_bytes()));
            said(asked, format, path, run, written, screen)
        }
        ExportFormat::Md => {
            let text = report_markdown(&run.report, &run.kept);
            let written = whole_file::write(path, &mut |out| out.write_all(text.as_bytes()));
            said(asked, format, path, run, written, screen)
        }
    }
}

/// Says where a run was written, or why not.
fn said(
    asked: String,
    format: ExportFormat,
    path: &Path,
    run: &Exported,
    written: io::Result<()>,
    screen: &Screen,
) -> Result<Ending, Failure> {
    written.map_err(|error| Failure::new(asked).because(format!("{error}: {}", path.display())))?;
    if !whole_file::is_standard_output(path) {
        screen.note(&format!("{} of run {} written to {}", format.name(), run.report.run.id, path.display()));
    }
    Ok(Ending::Done)
}

fn write_board(asked: String, path: &Path, report: &Report, screen: &Screen) -> Result<Ending, Failure> {
    tensorboard::check_folder(path, &asked)?;
    let written = tensorboard::export(report, path)
        .map_err(|error| Failure::new(&asked).because(format!("{error}: {}", path.display())))?;
    if written.is_nothing() {
        return Err(Failure::new(asked).because("no epoch of it has ended"));
    }
    screen.show(&on_the_board(path, written));
    Ok(Ending::Done)
}
