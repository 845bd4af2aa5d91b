//! `laptime run --live` and `--title`: what is shown on the terminal while the command has its streams to itself.
//!
//! The page is drawn over the whole terminal, so it is only there when the command's output goes elsewhere. The
//! keyboard stays the command's: the page reads no keys, and Ctrl-C does what it always does.

use std::io::{self, IsTerminal};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::live_page::{Page, Title};
use crate::screen::Screen;

/// What is shown on the terminal.
#[derive(Default)]
pub(super) struct OnTerminal {
    pub(super) page: Option<Page>,
    pub(super) title: Option<Title>,
}

impl OnTerminal {
    /// What was asked for; the first of several ranks shows it for all.
    pub(super) fn open(args: &RunArgs, is_first: bool, screen: &Screen) -> Result<Self, Failure> {
        if !is_first {
            return Ok(Self::default());
        }
        Ok(Self { page: page(args, screen)?, title: title(args)? })
    }
}

fn page(args: &RunArgs, screen: &Screen) -> Result<Option<Page>, Failure> {
    if !args.live {
        return Ok(None);
    }
    let asked = "could not show the run live";
    if io::stdout().is_terminal() || io::stderr().is_terminal() {
        let command = words(args);
        return Err(Failure::usage(asked)
            .because("the command's output goes to this terminal, and the page would be drawn over it")
            .hint(format!(
                "laptime run --live -- {command} > train.log 2>&1, or `laptime report --live` in another terminal"
            )));
    }
    let page = Page::beside_a_command(screen.page_style());
    page.map(Some).map_err(|error| {
        Failure::usage(asked)
            .because(format!("there is no terminal to draw on: {error}"))
            .hint("`laptime report --live` in a terminal, while it runs")
    })
}

fn title(args: &RunArgs) -> Result<Option<Title>, Failure> {
    if !args.title {
        return Ok(None);
    }
    Title::open().map(Some).map_err(|error| {
        Failure::usage("could not set the terminal's title")
            .because(format!("there is no terminal: {error}"))
            .hint("leave --title out")
    })
}

fn words(args: &RunArgs) -> String {
    args.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
