//! What is being measured, on a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_analyse::advise::loader_search::{Search, Setting, Trial};
use laptime_core::units;

use crate::screen::Screen;
use crate::text::{Style, setting_text, shortened};

/// The line is made anew no more often than this.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// A line on standard error that is drawn over itself; nothing where that is no terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    style: Style,
    began: Instant,
    budget: Option<Duration>,
    drawn: Option<Instant>,
    /// What goes on, and how long it may still take beside the present measurement.
    now: String,
    left_s: Option<f64>,
}

impl Progress {
    pub(super) fn new(screen: &Screen, budget: Option<Duration>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(plain) = ProgressStyle::with_template("{msg}") {
            bar.set_style(plain);
        }
        let (style, now) = (*screen.error_style(), "importing".to_owned());
        Self { bar, style, began: Instant::now(), budget, drawn: None, now, left_s: None }
    }

    /// Whether the budget is spent.
    pub(super) fn is_over(&self) -> bool {
        self.budget.is_some_and(|budget| self.began.elapsed() >= budget)
    }

    /// What is left of the budget.
    pub(super) fn left(&self) -> Option<Duration> {
        self.budget.map(|budget| budget.saturating_sub(self.began.elapsed()))
    }

    /// A measurement begins.
    pub(super) fn begin(&mut self, search: &Search, setting: Setting, made: &[Trial]) {
        self.now = format!("measuring {}", setting_text(&setting));
        // All rungs that are left, and two measurements to be sure of the best.
        let climbed = made.iter().map(|trial| trial.setting.workers).max();
        let rungs = search.rungs(made);
        let rungs_left = rungs.iter().filter(|workers| climbed.is_none_or(|most| **workers > most)).count();
        let each = made.iter().map(|trial| trial.seconds + trial.first_batch_s).sum::<f64>();
        let each = (!made.is_empty()).then(|| each / made.len() as f64);
        self.left_s = each.map(|each| each * (rungs_left + 2) as f64);
        self.drawn = None;
        self.beat(None);
    }

    /// Time passes; the rate so far, where there is one.
    pub(super) fn beat(&mut self, rate: Option<f64>) {
        if self.drawn.is_some_and(|at| at.elapsed() < REDRAW_INTERVAL) {
            return;
        }
        self.drawn = Some(Instant::now());
        let rate = rate.map(|rate| format!(": {}", units::rate(rate))).unwrap_or_default();
        let budget = self.left().map(|left| left.as_secs_f64());
        let left = self.left_s.into_iter().chain(budget).reduce(f64::min);
        let left =
            left.map(|left| format!(" · at most about {} left", units::waiting(left))).unwrap_or_default();
        let took = units::waiting(self.began.elapsed().as_secs_f64());
        let line = format!("{}{rate} · {took}{left}", self.now);
        self.bar.set_message(self.style.fitted(&shortened(&line, self.style.width)));
    }

    /// Takes the line off the screen.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
