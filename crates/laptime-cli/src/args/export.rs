//! The forms in which other programs take a run.

use std::ffi::OsString;
use std::path::Path;

use clap::ValueEnum;

use crate::failure::Failure;

/// What `--export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    // Plain comments: documented values would make clap print the long form of every help.
    // The samples of a profile, for speedscope.app.
    Speedscope,
    // The samples of a profile, one line a stack, for flame graphs.
    Collapsed,
}

/// Where a run is exported to, and in which form.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Export {
    /// Write the run for another program: speedscope or collapsed, and a file (- is standard output)
    #[arg(long, value_names = ["FORMAT", "PATH"], num_args = 2, conflicts_with = "form", help_heading = "Output")]
    export: Vec<OsString>,
}

impl Export {
    /// Format and path, where an export is asked for.
    pub(crate) fn wanted(&self) -> Result<Option<(ExportFormat, &Path)>, Failure> {
        let [format, path] = self.export.as_slice() else { return Ok(None) };
        let typed = format.to_string_lossy();
        let known: Vec<String> = ExportFormat::value_variants().iter().map(ExportFormat::name).collect();
        match ExportFormat::from_str(&typed, false) {
            Ok(format) => Ok(Some((format, Path::new(path)))),
            Err(_) => Err(Failure::usage(format!("could not export as `{typed}`"))
                .because(format!("there is no such format; there are {}", known.join(" and ")))
                .hint("laptime report --export speedscope profile.json")),
        }
    }
}

impl ExportFormat {
    /// As it is typed.
    pub(crate) fn name(&self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}
