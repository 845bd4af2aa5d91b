//! How a probe comes along: a line that is drawn over itself on a terminal, one line elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_core::units;

use crate::args::PredictArgs;
use crate::screen::Screen;
use crate::text::{Style, shortened};

/// Reports the progress of a probe on standard error.
pub(super) struct Progress {
    bar: ProgressBar,
    style: Style,
}

impl Progress {
    /// Begins to report on a command, unless nothing is to be shown.
    pub(super) fn new(screen: &Screen, args: &PredictArgs, typed: &str) -> Self {
        let target = if args.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(plain) = ProgressStyle::with_template("{msg}") {
            bar.set_style(plain);
        }
        let style = *screen.error_style();
        if !args.quiet && bar.is_hidden() {
            let time = args.seconds.map(|time| units::waiting(time.as_secs_f64()));
            let time = time.unwrap_or_else(|| "20 to 60 s".to_owned());
            let line = format!("probing for {time}: {typed}");
            screen.note(&style.fitted(&shortened(&line, style.width)));
        }
        Self { bar, style }
    }

    /// Time passes.
    pub(super) fn beat(&self, elapsed: Duration, steps: u64, ending: bool) {
        let time = units::waiting(elapsed.as_secs_f64());
        let seen = match steps {
            0 => "no step yet".to_owned(),
            steps => units::counted(steps, "step"),
        };
        let ending = if ending { ", ending it as by Ctrl-C" } else { "" };
        let line = format!("probing {time}: {seen}{ending}");
        self.bar.set_message(self.style.fitted(&shortened(&line, self.style.width)));
    }

    /// Takes the line off the screen; the result follows.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
