//! The live page: a run that fills the terminal while it grows, and leaves it as it was.

mod backend;
mod drawing;
mod epochs;
mod findings;
mod head;
mod levels;
mod section;
mod stages;
mod steps;
#[cfg(test)]
mod tests;
mod title;
mod tty;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laptime_analyse::Report;
use laptime_analyse::pulse::PulseReport;
use ratatui_core::terminal::Terminal;

use crate::text::Style;
use backend::Ansi;
use drawing::Shown;
use findings::Arrivals;
pub(crate) use title::Title;
use tty::{Keys, Tty};

/// How often somebody who waits at the page is looked after: a key, a new size, a signal.
const ATTENTION: Duration = Duration::from_millis(200);
/// How often the page is drawn.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
/// The page takes at most this part of a CPU: so many times as long as it took to draw is waited.
pub(crate) const REST: u32 = 100;

/// What somebody at the page wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// To see on.
    More,
    /// To leave.
    Leave,
    /// To leave by Ctrl-C or a signal.
    Stop,
}

/// A page on this process' terminal, which it takes when it is first drawn.
pub(crate) struct Page {
    terminal: Terminal<Ansi>,
    style: Style,
    keys: bool,
    arrivals: Arrivals,
}

impl Page {
    /// A page that reads keys, where somebody sits at it.
    pub(crate) fn with_keys(style: Style) -> io::Result<Self> {
        Self::new(style, Keys::Read)
    }

    /// A page beside a command, whose keyboard it is.
    pub(crate) fn beside_a_command(style: Style) -> io::Result<Self> {
        Self::new(style, Keys::LeftAlone)
    }

    fn new(style: Style, keys: Keys) -> io::Result<Self> {
        let terminal = Terminal::new(Ansi::on(Tty::open(keys)?))?;
        Ok(Self { terminal, style, keys: keys == Keys::Read, arrivals: Arrivals::default() })
    }

    /// Draws what changed.
    pub(crate) fn draw(&mut self, report: &Report, pulse: &PulseReport) -> io::Result<()> {
        let shown = Shown {
            report,
            pulse,
            arrivals: &self.arrivals.seen(report, Instant::now()),
            style: self.style,
            keys: self.keys,
        };
        self.terminal.draw(|frame| drawing::draw(&shown, frame.buffer_mut())).map(|_| ())
    }

    /// Waits for so long, or until there is something to do.
    pub(crate) fn wait(&mut self, length: Duration, stop: &Arc<AtomicBool>) -> io::Result<Wanted> {
        let until = Instant::now() + length;
        let size = self.terminal.backend().tty().size();
        loop {
            let left = until.saturating_duration_since(Instant::now()).min(ATTENTION);
            match self.terminal.backend().tty().key(left)? {
                Some(b'q' | b'Q') => return Ok(Wanted::Leave),
                Some(tty::CTRL_C) => return Ok(Wanted::Stop),
                Some(tty::CTRL_L) => {
                    self.terminal.clear()?;
                    return Ok(Wanted::More);
                }
                _ => {}
            }
            if stop.load(Ordering::Acquire) {
                return Ok(Wanted::Stop);
            }
            if Instant::now() >= until || self.terminal.backend().tty().size() != size {
                return Ok(Wanted::More);
            }
        }
    }
}
