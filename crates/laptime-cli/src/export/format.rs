//! The formats that runs are exported in.

use clap::ValueEnum;

/// The formats that runs are exported in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    // Plain comments: documented values would make clap print the long form of every help.
    // Event files in a folder.
    Tensorboard,
    // The samples of a profile, for speedscope.app.
    Speedscope,
    // The samples of a profile, one line a stack, for flame graphs.
    Collapsed,
    // Every span, for ui.perfetto.dev.
    Perfetto,
    // What it comes to, for Prometheus.
    Prometheus,
    // Epochs or steps, as text and for data frames.
    Csv,
    Parquet,
    // What it comes to, for a pull request.
    Md,
}

impl ExportFormat {
    /// As it is typed.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// The tables that a run is exported as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    // A row an epoch, or a window of steps where there are none.
    #[default]
    Epochs,
    // A row a step, of all ranks.
    Steps,
}

/// What a run is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The format.
    pub(crate) format: ExportFormat,
    /// The table, in a format of tables.
    pub(crate) table: Table,
}
