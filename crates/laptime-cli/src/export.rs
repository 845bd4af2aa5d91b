//! Exports: a run in the formats of other tools, one file a format.

mod collapsed;
mod format;
mod samples;
mod speedscope;
pub(crate) mod tensorboard;

use std::path::Path;

use laptime_analyse::Report;

use crate::Ending;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::study::Study;
pub(crate) use format::ExportFormat;
use tensorboard::on_the_board;

/// A run that was just read.
pub(crate) struct Exported {
    /// All that is known of it.
    pub(crate) study: Study,
    /// What it comes to.
    pub(crate) report: Report,
}

/// Writes a run, and says where.
pub(crate) fn write(
    format: ExportFormat,
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
    }
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
