//! Where the time went: one row a stage, adding up to the wall time.

use laptime_analyse::LedgerRow;

use super::bar::share_bar;
use super::style::{Emphasis, Style, stage_paint};
use super::table::{Align, Cell, Column, Table};
use super::units;
use super::words::stage_name;
use super::wrap::wrapped;

/// The longest bar worth drawing; more only pushes the numbers apart.
const LONGEST_BAR: usize = 20;

/// A bar shorter than this shows nothing.
const SHORTEST_BAR: usize = 6;

/// The ledger as a table whose last line is its sum, and says so when that is not the wall time.
pub(crate) fn ledger_text(rows: &[LedgerRow], wall_s: f64, style: &Style) -> String {
    drawn(rows, wall_s, true, style)
}

/// The ledger of a device, which has no spans where only its boundaries are known.
pub(crate) fn device_ledger_text(rows: &[LedgerRow], wall_s: f64, style: &Style) -> String {
    drawn(rows, wall_s, rows.iter().any(|row| row.count > 0), style)
}

fn drawn(rows: &[LedgerRow], wall_s: f64, spans: bool, style: &Style) -> String {
    // The bars take the room that the numbers leave.
    let room = style.width.saturating_sub(table(rows, wall_s, 0, spans, style).width());
    let cells = room.clamp(SHORTEST_BAR, LONGEST_BAR);
    let mut text = table(rows, wall_s, cells, spans, style).drawn(style);
    if !closes(rows, wall_s) {
        let (total, wall) = (units::duration(total(rows)), units::duration(wall_s));
        let doubt = format!("the stages add up to {total}, but the wall time is {wall}");
        for line in wrapped(&doubt, style.width, "", "  ") {
            text.push_str(&format!("{}\n", style.paint(&line, Emphasis::Bad)));
        }
    }
    text
}

fn table(rows: &[LedgerRow], wall_s: f64, cells: usize, spans: bool, style: &Style) -> Table {
    let columns = if spans { 7 } else { 4 };
    let mut heads = vec![
        Column::new("stage", Align::Left).shrinks_to(11),
        Column::new("time", Align::Unit),
        Column::new("share", Align::Right),
        Column::new("", Align::Left),
        Column::new("spans", Align::Right).importance(1),
        Column::new("mean", Align::Unit).importance(3),
        Column::new("p95", Align::Unit).importance(2),
    ];
    heads.truncate(columns);
    let mut table = Table::new(heads);
    let cut = |mut row: Vec<Cell>| {
        row.truncate(columns);
        row
    };
    let largest = rows.iter().map(|row| row.share).fold(0.0, f64::max);
    for row in in_reading_order(rows) {
        let bar = share_bar(row.share / largest, cells, style);
        table.row(cut(stage_row(row, bar)));
    }
    table.rule();
    table.row(cut(total_row(rows, wall_s, cells)));
    table
}

/// Stages that took no time say nothing; what no stage claims comes last, even when it is nothing.
fn in_reading_order(rows: &[LedgerRow]) -> impl Iterator<Item = &LedgerRow> {
    let claimed =
        rows.iter().filter(|row| row.stage != "unaccounted" && (row.seconds > 0.0 || row.count > 0));
    claimed.chain(rows.iter().filter(|row| row.stage == "unaccounted"))
}

fn stage_row(row: &LedgerRow, bar: String) -> Vec<Cell> {
    vec![
        stage_name(&row.stage).into(),
        units::duration(row.seconds).into(),
        units::percent_in_column(row.share).into(),
        Cell::painted(bar, stage_paint(&row.stage)),
        units::or_unknown(Some(row.count).filter(|count| *count > 0), units::count).into(),
        units::or_unknown(row.mean_s, units::duration).into(),
        units::or_unknown(row.p95_s, units::duration).into(),
    ]
}

fn total_row(rows: &[LedgerRow], wall_s: f64, cells: usize) -> Vec<Cell> {
    let share: f64 = rows.iter().map(|row| row.share).sum();
    let says = match (closes(rows, wall_s), cells) {
        (false, _) | (true, ..SHORTEST_BAR) => "",
        (true, ..11) => "= wall",
        (true, _) => "= wall time",
    };
    let mut row = vec![
        Cell::painted("total", Emphasis::Bold),
        Cell::painted(units::duration(total(rows)), Emphasis::Bold),
        units::percent_in_column(share).into(),
        Cell::painted(says, Emphasis::Dim),
    ];
    row.resize(7, "".into());
    row
}

fn total(rows: &[LedgerRow]) -> f64 {
    rows.iter().map(|row| row.seconds).sum()
}

fn closes(rows: &[LedgerRow], wall_s: f64) -> bool {
    // A microsecond or a millionth: the rounding of sums, not a missing stage.
    (total(rows) - wall_s).abs() <= 1e-6_f64.max(wall_s * 1e-6)
}
