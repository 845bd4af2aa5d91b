//! Charts as files in a folder.

use std::io;
use std::path::Path;

use super::{Chart, Figure, svg};

/// A chart and the name of its file.
pub struct NamedChart {
    /// The file's name.
    pub file: String,
    /// The chart.
    pub chart: Chart,
    /// Whether the text output draws it; the others are files only.
    pub in_text: bool,
}

/// Writes every figure and chart as an SVG file into a folder, which is made where it is missing.
pub(crate) fn write_charts(figures: &[Figure], charts: &[NamedChart], folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for figure in figures {
        std::fs::write(folder.join(format!("{}.svg", figure.id)), figure.svg())?;
    }
    charts.iter().try_for_each(|named| std::fs::write(folder.join(&named.file), svg(&named.chart)))
}
