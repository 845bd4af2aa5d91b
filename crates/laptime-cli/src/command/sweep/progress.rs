//! How a sweep comes along: a table that fills in on a terminal, a line for every repeat elsewhere.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_analyse::sweep::{Repeat, SweepStatus, Turn, time_left_s};
use laptime_core::units;

use super::state::SweepState;
use crate::screen::Screen;
use crate::text::{Align, Column, Style, Table, shortened, shown, sweep_heading, sweep_table};

/// The table is made anew no more often than this, so that it costs nothing beside short repeats.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);
/// Lines of the terminal that are not for points: heading, what runs now, head of the table, its note.
const OTHER_LINES: usize = 6;

/// Reports the progress of the sweep on standard error.
pub(super) struct Progress<'a> {
    screen: &'a Screen,
    form: Form,
}

/// What a node of a cluster does, for people.
pub(super) struct NodeRow {
    pub(super) name: String,
    pub(super) cpus: u32,
    /// Repeats it made, and repeats that were lost with it.
    pub(super) made: u64,
    pub(super) lost: u64,
    /// What it measures.
    pub(super) now: Option<String>,
}

enum Form {
    /// Nothing at all.
    Quiet,
    /// A line for every repeat.
    Lines,
    /// A table that is drawn over itself.
    Table { bar: ProgressBar, table: String, drawn: Option<Instant> },
}

impl<'a> Progress<'a> {
    pub(super) fn new(screen: &'a Screen, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(plain) = ProgressStyle::with_template("{msg}") {
            bar.set_style(plain);
        }
        let form = match (quiet, bar.is_hidden()) {
            (true, _) => Form::Quiet,
            (false, true) => Form::Lines,
            (false, false) => Form::Table { bar, table: String::new(), drawn: None },
        };
        Self { screen, form }
    }

    /// A repeat begins.
    pub(super) fn begin(&mut self, state: &SweepState, turn: Turn) {
        let style = *self.screen.error_style();
        let Form::Table { table, drawn, .. } = &mut self.form else { return };
        if drawn.is_none_or(|at| at.elapsed() >= REDRAW_INTERVAL) {
            *table = drawn_table(state, turn, &style);
            *drawn = Some(Instant::now());
        }
    }

    /// Time passes.
    pub(super) fn beat(&mut self, state: &SweepState, turn: Turn, elapsed: Duration) {
        let style = *self.screen.error_style();
        let Form::Table { bar, table, .. } = &mut self.form else { return };
        let now = format!("measuring {}{}", state.plan.point_name(turn.point), left(state, elapsed));
        let now = style.fitted(&shortened(&now, style.width));
        bar.set_message(format!("{table}{now}"));
    }

    /// Time passes on several nodes.
    pub(super) fn beat_on(&mut self, state: &SweepState, nodes: &[NodeRow], elapsed: Duration) {
        let style = *self.screen.error_style();
        let Form::Table { bar, drawn, .. } = &mut self.form else { return };
        if drawn.is_some_and(|at| at.elapsed() < REDRAW_INTERVAL) {
            return;
        }
        *drawn = Some(Instant::now());
        let heading = format!("{}{}", sweep_heading(&state.so_far()), left(state, elapsed));
        let heading = style.fitted(&shortened(&heading, style.width));
        bar.set_message(format!("{heading}\n{}", node_table(nodes).drawn(&style).trim_end()));
    }

    /// A repeat was made, or the sweep ended.
    pub(super) fn made(&mut self, state: &SweepState, elapsed: Duration) {
        let (Form::Lines, SweepStatus::Running, Some(repeat)) =
            (&self.form, state.status, state.repeats.last())
        else {
            return;
        };
        let style = self.screen.error_style();
        let done = state.repeats.len();
        let text = format!(
            "[{done:>3}] {}: {}{}{}",
            state.plan.point_name(repeat.point),
            outcome_text(repeat),
            repeat.node.as_ref().map(|node| format!(" on {}", node.name)).unwrap_or_default(),
            left(state, elapsed)
        );
        self.screen.note(&style.fitted(&shortened(&text, style.width)));
    }

    /// Says something besides.
    pub(super) fn warn(&mut self, text: &str) {
        match &self.form {
            Form::Table { bar, .. } => bar.suspend(|| self.screen.note(text)),
            Form::Quiet | Form::Lines => self.screen.note(text),
        }
    }

    /// Takes the table off the screen; the final one follows.
    pub(super) fn clear(&mut self) {
        if let Form::Table { bar, .. } = &self.form {
            bar.finish_and_clear();
        }
    }
}

/// What a repeat measured, or why it did not.
fn outcome_text(repeat: &Repeat) -> String {
    let measured = &repeat.measured;
    let time = match (repeat.outcome.reason(), measured.step_s) {
        (Some(reason), _) => reason.to_owned(),
        (None, Some(step)) => format!("{} a step", units::duration(step)),
        (None, None) => units::duration(measured.wall_s),
    };
    if repeat.taints.is_empty() { time } else { format!("{time}, tainted") }
}

/// How many repeats are made at a time, as far as machines have shown themselves.
fn side_by_side(state: &SweepState) -> f64 {
    let machines: BTreeSet<&str> =
        state.repeats.iter().filter_map(|repeat| Some(repeat.node.as_ref()?.machine.as_str())).collect();
    let at_once = state.cluster.as_ref().map_or(1, |cluster| cluster.at_once);
    (machines.len().max(1) as f64) * f64::from(at_once)
}

/// The time left, of what is sure to come and within the budget.
fn left(state: &SweepState, elapsed: Duration) -> String {
    let budget = state.limits.budget().map(|budget| budget.saturating_sub(elapsed).as_secs_f64());
    let left = time_left_s(&state.plan, &state.repeats).map(|left| left / side_by_side(state));
    let left = match (left, budget) {
        (Some(left), Some(budget)) => Some(left.min(budget)),
        (left, budget) => left.or(budget),
    };
    left.map(|left| format!(" · about {} left", units::waiting(left))).unwrap_or_default()
}

/// Heading and as many points around the newest as the terminal has lines for.
fn drawn_table(state: &SweepState, turn: Turn, style: &Style) -> String {
    let sweep = state.so_far();
    let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
    let room = height.saturating_sub(OTHER_LINES).max(3);
    let first = turn.point.saturating_sub(room / 2).min(sweep.points.len().saturating_sub(room));
    let shown = first..sweep.points.len().min(first + room);
    let heading = style.fitted(&shortened(&sweep_heading(&sweep), style.width));
    format!("{heading}\n{}", sweep_table(&sweep, Some(shown)).drawn(style))
}

/// The nodes, as many as the terminal has lines for.
fn node_table(nodes: &[NodeRow]) -> Table {
    let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
    let right = |title| Column::new(title, Align::Right);
    let mut table = Table::new(vec![
        Column::new("node", Align::Left).shrinks_to(8),
        right("CPUs").importance(1),
        right("repeats"),
        right("lost").importance(2),
        Column::new("measuring", Align::Left).shrinks_to(8),
    ]);
    for node in nodes.iter().take(height.saturating_sub(OTHER_LINES).max(3)) {
        let number = |number: u64| units::count(number).into();
        let now = shown(node.now.as_deref().unwrap_or("-"));
        table.row(vec![
            shown(&node.name).into(),
            number(node.cpus.into()),
            number(node.made),
            number(node.lost),
            now.into(),
        ]);
    }
    table
}
