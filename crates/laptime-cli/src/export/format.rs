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
}

impl ExportFormat {
    /// As it is typed.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}
