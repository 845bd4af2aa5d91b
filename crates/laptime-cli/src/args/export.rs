//! `--export FORMAT PATH`: a run in the format of another tool.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::export::{ExportFormat, Table, Wanted};
use crate::failure::{Failure, closest};

/// What to export a run as.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ExportArgs {
    /// Write the run in another tool's format: `tensorboard DIR`, or `perfetto`, `prometheus`, `csv`, `parquet`, `md`,
    /// `speedscope` or `collapsed` and a FILE (`-` is standard output)
    #[arg(
        long,
        num_args = 2,
        value_names = ["FORMAT", "PATH"],
        conflicts_with_all = ["form", "html"],
        help_heading = "Output"
    )]
    export: Option<Vec<OsString>>,
    /// What `--export csv` and `parquet` write [default: epochs]
    #[arg(long, value_name = "TABLE", requires = "export", help_heading = "Output")]
    table: Option<Table>,
}

impl ExportArgs {
    /// What to write and where; `None` when no export was asked for.
    pub(crate) fn wanted(&self) -> Result<Option<(Wanted, PathBuf)>, Failure> {
        let Some([format, path]) = self.export.as_deref() else { return Ok(None) };
        let typed = format.to_string_lossy();
        let format = ExportFormat::from_str(&typed, false).map_err(|_| unknown_format(&typed))?;
        if self.table.is_some() && !matches!(format, ExportFormat::Csv | ExportFormat::Parquet) {
            return Err(Failure::usage(format!("could not export as `{typed}`"))
                .because("only `--export csv` and `--export parquet` write tables"));
        }
        Ok(Some((Wanted { format, table: self.table.unwrap_or_default() }, PathBuf::from(path))))
    }
}

fn unknown_format(typed: &str) -> Failure {
    let known: Vec<String> = ExportFormat::value_variants().iter().map(|format| format.name()).collect();
    let failure = Failure::usage(format!("could not export as `{typed}`"))
        .because(format!("unknown format `{typed}`; available: {}", known.join(", ")));
    match closest(typed, known.iter().map(String::as_str)) {
        Some(meant) => failure.hint(format!("did you mean `--export {meant}`?")),
        None => failure.hint("laptime report --help"),
    }
}
