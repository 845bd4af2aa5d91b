//! The points of a sweep as a table: values, means with their intervals, how they compare, how they stand.

use laptime_analyse::sweep::{Measure, Point, PointStatus, Repeated, Sweep, Value, value_text};

use super::shown;
use super::style::Emphasis;
use super::table::{Align, Cell, Column, Table};
use super::units;

/// What one column shows of a point.
type Show = Box<dyn Fn(&Point) -> Cell>;

/// The points as Markdown.
pub(crate) fn sweep_markdown(sweep: &Sweep) -> String {
    sweep_table(sweep, None).markdown()
}

/// The points as a table, all of them or only some.
pub(crate) fn sweep_table(sweep: &Sweep, only: Option<std::ops::Range<usize>>) -> Table {
    let columns = columns(sweep);
    let (heads, shows): (Vec<Column>, Vec<Show>) = columns.into_iter().unzip();
    let mut table = Table::new(heads);
    let points = only.and_then(|range| sweep.points.get(range)).unwrap_or(&sweep.points);
    for point in points {
        table.row(shows.iter().map(|show| show(point)).collect());
    }
    table
}

fn columns(sweep: &Sweep) -> Vec<(Column, Show)> {
    let mut columns: Vec<(Column, Show)> = sweep.parameters.iter().map(axis_column).collect();
    if sweep.target.is_some() {
        columns.extend(target_columns(sweep));
    } else {
        columns.extend(time_columns(sweep));
    }
    let relative = |point: &Point| {
        let cell = units::or_unknown(point.relative, |times| format!("{} ×", units::three_digits(times)));
        let best = point.relative.is_some_and(|times| times <= 1.0);
        if best { Cell::painted(cell, Emphasis::Good) } else { cell.into() }
    };
    columns.push((Column::new("relative", Align::Right).importance(7), Box::new(relative)));
    let repeats = |point: &Point| units::count(point.repeats).into();
    columns.push((Column::new("n", Align::Right).importance(2), Box::new(repeats)));
    columns.push((Column::new("status", Align::Left), Box::new(status_cell)));
    columns
}

fn axis_column(axis: &laptime_analyse::sweep::Axis) -> (Column, Show) {
    let name = axis.name.clone();
    let words = axis.values.iter().any(|value| matches!(value, Value::Word(_)));
    let align = if words { Align::Left } else { Align::Right };
    let column = Column::new(shown(&axis.name), align).shrinks_to(6);
    (column, Box::new(move |point| point.values.get(&name).map_or_else(String::new, value_text).into()))
}

/// Times of what was recorded; of a command that records nothing, its own.
fn time_columns(sweep: &Sweep) -> Vec<(Column, Show)> {
    let any = |of: fn(&Point) -> Option<Repeated>| sweep.points.iter().any(|point| of(point).is_some());
    let mut columns = Vec::new();
    let recorded = any(|point| point.step_s) || any(|point| point.epoch_s);
    if any(|point| point.step_s) {
        columns.extend(measured_columns("step", 8, |point| point.step_s));
    }
    if any(|point| point.epoch_s) {
        columns.extend(measured_columns("epoch", 5, |point| point.epoch_s));
    }
    if any(|point| point.samples_per_s) {
        let rate = |point: &Point| {
            units::or_unknown(point.samples_per_s, |rate| units::per_second(rate.mean)).into()
        };
        columns.push((Column::new("samples/s", Align::Right).importance(6), Box::new(rate) as Show));
    }
    if !recorded || sweep.compared_by == Measure::WallS {
        columns.extend(measured_columns("time", 8, |point| point.wall_s));
    }
    columns
}

/// A mean time and half its interval.
fn measured_columns(
    title: &'static str,
    importance: u8,
    of: fn(&Point) -> Option<Repeated>,
) -> [(Column, Show); 2] {
    let mean = move |point: &Point| units::or_unknown(of(point), |time| units::duration(time.mean)).into();
    let half = move |point: &Point| precision_cell(of(point));
    [
        (Column::new(title, Align::Unit).importance(importance), Box::new(mean)),
        (Column::new("±", Align::Right).gap(1).importance(importance - 1), Box::new(half)),
    ]
}

fn precision_cell(time: Option<Repeated>) -> Cell {
    let precision = time.and_then(|time| time.precision());
    Cell::painted(precision.map(units::percent).unwrap_or_default(), Emphasis::Dim)
}

/// What it took to the target: epochs, steps, time of a step, and all of it.
fn target_columns(sweep: &Sweep) -> Vec<(Column, Show)> {
    let counted = |title: &'static str, importance, of: fn(&Point) -> Option<Repeated>| {
        let show = move |point: &Point| units::or_unknown(of(point), |count| count_text(count.mean)).into();
        (Column::new(title, Align::Right).importance(importance), Box::new(show) as Show)
    };
    let to = sweep
        .target
        .map_or_else(String::new, |target| format!("to {} {}", target.metric.name(), target.value));
    let time = |point: &Point| {
        let to = point.to_target.as_ref();
        let late = to.filter(|to| to.reached < to.tried).and_then(|to| to.not_within_s);
        match (late, Measure::TimeToTarget.value(point)) {
            (Some(late), _) => Cell::painted(format!("not in {}", units::duration(late)), Emphasis::Notice),
            (None, time) => units::or_unknown(time, |time| units::duration(time.mean)).into(),
        }
    };
    let half = |point: &Point| precision_cell(Measure::TimeToTarget.value(point));
    let step = |point: &Point| {
        let step_s = point.to_target.and_then(|to| to.step_s).or(point.step_s);
        units::or_unknown(step_s, |step| units::duration(step.mean)).into()
    };
    vec![
        counted("epochs", 6, |point| point.to_target?.epochs),
        counted("steps", 5, |point| point.to_target?.steps),
        (Column::new("× step", Align::Unit).importance(4), Box::new(step)),
        (Column::new(to, Align::Left), Box::new(time)),
        (Column::new("±", Align::Right).gap(1).importance(3), Box::new(half)),
    ]
}

/// A mean of counts: whole where all agree.
fn count_text(mean: f64) -> String {
    if mean.fract() == 0.0 { units::count(mean as u64) } else { units::per_second(mean) }
}

fn status_cell(point: &Point) -> Cell {
    let (word, paint) = match point.status {
        PointStatus::NotRun => ("not run", Emphasis::Dim),
        PointStatus::Finished if point.tainted => ("tainted", Emphasis::Notice),
        PointStatus::Finished => ("ok", Emphasis::Plain),
        PointStatus::Failed => ("failed", Emphasis::Bad),
        PointStatus::Killed => ("killed", Emphasis::Bad),
        PointStatus::TimedOut => ("timed out", Emphasis::Bad),
    };
    Cell::painted(word, paint)
}
