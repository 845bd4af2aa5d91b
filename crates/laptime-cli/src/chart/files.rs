//! Charts as files in a folder.

use std::io;
use std::path::Path;

use super::{Chart, svg};
use crate::failure::Failure;

/// A chart and the name of its file.
pub struct NamedChart {
    /// The file's name.
    pub file: String,
    /// The chart.
    pub chart: Chart,
    /// Whether it answers what was asked for; the others are for who looks closer.
    pub telling: bool,
}

/// Writes every chart as an SVG file into a folder, which is made where it is missing.
pub(crate) fn write_charts(charts: &[NamedChart], folder: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("could not write charts into {}", folder.display())).caused_by(&error)
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    for named in charts {
        std::fs::write(folder.join(&named.file), svg(&named.chart)).map_err(failed)?;
    }
    Ok(())
}
