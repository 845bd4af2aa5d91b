//! How a trial comes along: a line that is drawn over itself on a terminal, a line for every pair elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_analyse::compare::paired_ratio;
use laptime_core::units;

use super::conduct::{Executed, Trial};
use crate::screen::Screen;
use crate::text::shortened;

/// Reports the progress of a trial on standard error.
pub(in crate::command) struct Progress<'a> {
    screen: &'a Screen,
    quiet: bool,
    bar: ProgressBar,
    began: Instant,
    executions: u32,
    most_pairs: Option<u32>,
}

impl<'a> Progress<'a> {
    pub(in crate::command) fn new(screen: &'a Screen, quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(plain) = ProgressStyle::with_template("{msg}") {
            bar.set_style(plain);
        }
        Self { screen, quiet, bar, began: Instant::now(), executions: 0, most_pairs: None }
    }

    /// Says how long it may take: two executions of the first side, then at most so many pairs.
    pub(in crate::command) fn at_most(self, pairs: usize) -> Self {
        Self { most_pairs: u32::try_from(pairs).ok(), ..self }
    }

    /// Time passes while a side runs.
    pub(in crate::command) fn beat(&self, side: &str) {
        let each = self.each().map(|each| format!(", {} each", units::waiting(each.as_secs_f64())));
        let text = format!("{}: {side}{}{}", self.place(), each.unwrap_or_default(), self.left());
        let style = self.screen.error_style();
        self.bar.set_message(style.fitted(&shortened(&text, style.width)));
    }

    /// A side has run.
    pub(in crate::command) fn executed(&mut self) {
        self.executions += 1;
    }

    /// A pair was made.
    pub(in crate::command) fn made(&self, trial: &Trial, executed: &Executed) {
        if self.quiet || !self.bar.is_hidden() {
            return;
        }
        let (a, b) = executed.pairs.last().copied().unwrap_or_default();
        let [first, second] = &trial.sides;
        let so_far = paired_ratio(&executed.pairs).map(|ratio| {
            format!(
                "; {}/{}: {:.3} ({:.3}–{:.3})",
                second.name, first.name, ratio.mean, ratio.low, ratio.high
            )
        });
        let text = format!(
            "pair {}: {} {}, {} {}{}",
            executed.pairs.len(),
            first.name,
            units::duration(a),
            second.name,
            units::duration(b),
            so_far.unwrap_or_default()
        );
        let style = self.screen.error_style();
        self.screen.note(&style.fitted(&shortened(&text, style.width)));
    }

    /// Takes the line off the screen; the result follows.
    pub(in crate::command) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn place(&self) -> String {
        match (self.most_pairs, self.executions) {
            (None, made) => format!("execution {}", made + 1),
            (Some(_), made @ (0 | 1)) => format!("noise, execution {} of 2", made + 1),
            (Some(most), made) => format!("pair {} of at most {most}", made / 2),
        }
    }

    fn left(&self) -> String {
        let Some((most, each)) = self.most_pairs.zip(self.each()) else { return String::new() };
        let left = each * (2 * most + 2).saturating_sub(self.executions);
        format!(", at most {} left", units::waiting(left.as_secs_f64()))
    }

    fn each(&self) -> Option<Duration> {
        (self.executions > 0).then(|| self.began.elapsed() / self.executions)
    }
}
