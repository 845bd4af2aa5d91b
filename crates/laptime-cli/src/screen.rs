//! The screen: results to standard output, everything else to standard error.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::Failure;
use crate::text::Style;

/// The widest text that still reads well.
const WIDEST: usize = 100;
/// The width of text that goes into a file or a pipe.
const PLAIN: usize = 80;
/// Narrower than this nothing can be laid out.
const NARROWEST: usize = 40;

/// Colour on the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    // Plain comments: documented values would make clap print the long form of every help.
    // On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    // Also into files and pipes.
    Always,
    Never,
}

impl ColorChoice {
    /// Whether to use colour; `no_color` is the variable NO_COLOR, which counts when it is not empty.
    pub(crate) fn wanted(self, terminal: bool, no_color: Option<&OsString>) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => terminal && no_color.is_none_or(|value| value.is_empty()),
        }
    }
}

/// Where a command shows things, and how.
pub(crate) struct Screen {
    pub(crate) style: Style,
    error_style: Style,
    page_color: bool,
}

impl Screen {
    pub(crate) fn new(color: ColorChoice) -> Self {
        let no_color = std::env::var_os("NO_COLOR");
        let style = |terminal: bool, width: Option<usize>| Style {
            width: width.filter(|_| terminal).unwrap_or(PLAIN).clamp(NARROWEST, WIDEST),
            color: color.wanted(terminal, no_color.as_ref()),
            unicode: speaks_unicode(),
        };
        let (out, error) = (io::stdout(), io::stderr());
        Self {
            style: style(out.is_terminal(), terminal_width()),
            error_style: style(error.is_terminal(), terminal_width()),
            page_color: color.wanted(true, no_color.as_ref()),
        }
    }

    /// How text for standard error is drawn.
    pub(crate) fn error_style(&self) -> &Style {
        &self.error_style
    }

    /// How a page is drawn that has the terminal to itself, wherever the output goes.
    pub(crate) fn page_style(&self) -> Style {
        Style { color: self.page_color, ..self.style }
    }

    /// Shows a result. A reader that has gone away (`laptime report | head`) is no failure.
    pub(crate) fn show(&self, text: &str) {
        let _ = writeln!(io::stdout().lock(), "{text}");
    }

    /// Shows a document for programs.
    pub(crate) fn show_json(&self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| Failure::new("could not write the result as JSON").caused_by(&error))?;
        self.show(&text);
        Ok(())
    }

    /// Prints something besides the result.
    pub(crate) fn note(&self, text: &str) {
        note(text);
    }

    /// Prints a failure.
    pub(crate) fn error(&self, failure: &Failure) {
        self.note(&failure.text(&self.error_style));
    }
}

/// Prints something besides the result, from a thread that has no screen.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Whether the locale promises more than ASCII.
fn speaks_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    // Without any locale, as in most containers, terminals still show UTF-8.
    locale.is_none_or(|value| {
        let value = value.to_lowercase();
        value.contains("utf") || (value != "c" && value != "posix")
    })
}
