//! Processes that train beside each other: one row each, its wall time split into the stages of training.

use std::ops::Add;

use laptime_analyse::{LedgerRow, RankSummary, Report, TrainerSummary};
use laptime_core::Status;

use super::communication::communication_text;
use super::epoch_unit::EpochUnit;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units;
use super::words::{stage_column, throughput};
use super::wrap::wrapped;

/// The stages that have a column of their own.
const STAGES: [&str; 6] = ["data_wait", "prepare", "forward", "backward", "optimizer", "communication"];
/// Of more rows than this only the first and the slowest rank are shown.
const MOST_ROWS: usize = 12;

/// One process of a table.
struct Row<'a> {
    name: u32,
    status: Status,
    wall_s: f64,
    ledger: &'a [LedgerRow],
    steps: u64,
    samples_per_s: Option<f64>,
}

impl<'a> Row<'a> {
    fn of_rank(rank: &'a RankSummary) -> Self {
        let RankSummary { rank: name, status, wall_s, ledger, steps, samples_per_s, .. } = rank;
        let (name, status, wall_s) = (*name, *status, *wall_s);
        Self { name, status, wall_s, ledger, steps: *steps, samples_per_s: *samples_per_s }
    }

    fn of_trainer(trainer: &'a TrainerSummary) -> Self {
        let TrainerSummary { pid, status, wall_s, ledger, steps, samples_per_s, .. } = trainer;
        let (name, status, wall_s) = (*pid, *status, *wall_s);
        Self { name, status, wall_s, ledger, steps: *steps, samples_per_s: *samples_per_s }
    }

    fn spent(&self, stage: &str) -> f64 {
        let rows = self.ledger.iter().filter(|row| row.stage == stage);
        // A sum of nothing is -0.
        rows.map(|row| row.seconds).fold(0.0, f64::add)
    }
}

/// The tables of ranks and of trainers within a rank; empty for a training that is alone.
pub(crate) fn ranks_text(report: &Report, style: &Style) -> String {
    let notes = report.ranks.as_deref().map(|ranks| ranks_note(report, ranks)).unwrap_or_default();
    let exchanged = communication_text(report, &notes, style);
    let ranks = report.ranks.as_deref().filter(|_| exchanged.is_none()).map(|ranks| {
        let rows: Vec<Row<'_>> = ranks.iter().map(Row::of_rank).collect();
        table_text("rank", &rows, report.slowest_rank, notes, style)
    });
    let trainers = report.trainers.as_deref().map(|trainers| {
        let rows: Vec<Row<'_>> = trainers.iter().map(Row::of_trainer).collect();
        table_text("trainer", &rows, None, trainers_note(report, trainers), style)
    });
    exchanged.into_iter().chain(ranks).chain(trainers).collect::<Vec<_>>().join("\n")
}

/// A row each, and what there is to know beside them.
fn table_text(
    title: &str,
    rows: &[Row<'_>],
    slowest: Option<u32>,
    notes: Vec<String>,
    style: &Style,
) -> String {
    let stages: Vec<&str> =
        STAGES.into_iter().filter(|stage| *stage != "prepare" || any_spent(rows, stage)).collect();
    // Starting up takes longer than a short training, whose stages must stay distinguishable.
    let longest = rows.iter().flat_map(|row| STAGES.map(|stage| row.spent(stage))).fold(0.0, f64::max);
    let unit = EpochUnit::showing(longest);
    let mut table = Table::new(columns(title, &stages));
    for row in shown(rows, slowest) {
        table.row(cells(row, &stages, &unit, unit.decimals_of(longest)));
    }
    let mut text = table.drawn(style);
    let mut facts = vec![format!("stages in {}", unit.name)];
    if rows.len() > MOST_ROWS {
        facts.push(format!("the first {MOST_ROWS} of {} {title}s (--json has all)", rows.len()));
    }
    let unfinished = rows.iter().find(|row| row.status != Status::Finished);
    facts.extend(unfinished.map(|_| "*: not finished".to_owned()));
    facts.extend(notes);
    for line in wrapped(&facts.join("; "), style.width, "", "  ") {
        text.push_str(&format!("{}\n", style.paint(&style.fitted(&line), Emphasis::Dim)));
    }
    text
}

fn any_spent(rows: &[Row<'_>], stage: &str) -> bool {
    rows.iter().any(|row| row.spent(stage) > 0.0)
}

fn columns(title: &str, stages: &[&str]) -> Vec<Column> {
    let mut columns = vec![Column::new(title, Align::Right), Column::new("wall", Align::Unit)];
    // Of the stages the one that says who waits for whom stays longest.
    let stages = stages.iter().zip(3..);
    columns.extend(
        stages.map(|(stage, weight)| Column::new(stage_column(stage), Align::Right).importance(weight)),
    );
    columns.push(Column::new("other", Align::Right));
    columns.push(Column::new("steps", Align::Right).importance(1));
    columns.push(Column::new("samples/s", Align::Right).importance(2));
    columns
}

fn shown<'a>(rows: &'a [Row<'a>], slowest: Option<u32>) -> impl Iterator<Item = &'a Row<'a>> {
    let first = move |(at, row): &(usize, &Row<'_>)| *at < MOST_ROWS || Some(row.name) == slowest;
    rows.iter().enumerate().filter(first).map(|(_, row)| row)
}

fn cells(row: &Row<'_>, stages: &[&str], unit: &EpochUnit, decimals: usize) -> Vec<Cell> {
    let time = |seconds: f64| unit.shown(seconds, decimals);
    let spent: Vec<f64> = stages.iter().map(|stage| row.spent(stage)).collect();
    let other = row.wall_s - spent.iter().sum::<f64>();
    let mark = match row.status {
        Status::Finished => "",
        Status::Running | Status::Failed | Status::Killed => "*",
    };
    let mut cells: Vec<Cell> = vec![
        format!("{}{mark}", row.name).into(),
        Cell::painted(units::duration(row.wall_s), Emphasis::Bold),
    ];
    cells.extend(spent.iter().map(|seconds| Cell::from(time(*seconds))));
    // Rounding may leave a hair below nothing.
    cells.push(Cell::painted(time(if other < 0.0 { 0.0 } else { other }), Emphasis::Dim));
    cells.push(units::count(row.steps).into());
    cells.push(units::or_unknown(row.samples_per_s, units::per_second).into());
    cells
}

/// What the ranks do together, and who holds the others up.
fn ranks_note(report: &Report, ranks: &[RankSummary]) -> Vec<String> {
    let rate = report.together.and_then(|together| together.samples_per_s);
    let together = rate.map(|rate| format!("together {}", units::rate(rate)));
    together.into_iter().chain(slowest(report, ranks)).collect()
}

/// What the trainers do together, and that some of them did not.
fn trainers_note(report: &Report, trainers: &[TrainerSummary]) -> Vec<String> {
    let mut notes = vec!["named by process id".to_owned()];
    let Some(together) = report.together else {
        notes.push("one trained after another".to_owned());
        return notes;
    };
    let some = together.trainers < trainers.len() as u64;
    notes.extend(some.then(|| format!("{} at a time", together.trainers)));
    let rate = throughput(together.samples_per_s, together.tokens_per_s);
    notes.extend(rate.map(|rate| format!("together {rate}")));
    notes
}

/// `slowest: rank 1, 25.0 ms of work a step, the others 10.0 ms`.
fn slowest(report: &Report, ranks: &[RankSummary]) -> Option<String> {
    let number = report.slowest_rank?;
    let most = units::duration(ranks.iter().find(|rank| rank.rank == number)?.work_s?);
    let others = units::duration(report.others_work_s?);
    Some(format!("slowest: rank {number}, {most} of work a step without communication, others {others}"))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn each_rank_has_a_row_that_adds_up_and_the_slowest_is_named() {
        insta::assert_snapshot!(ranks_text(&sample::two_ranks(), &Style::default()), @r"
        rank    wall  data  fwd  bwd  opt  comm  other  steps  samples/s
           0  24.9 s   0.5  2.9  5.3  2.0  12.4    1.7  9,375     13,223
           1  24.9 s   0.7  4.1  7.4  2.8   7.5    2.3  9,375     13,223
        stages in s; together 26,446 samples/s; slowest: rank 1, 1.69 ms of work a step
          without communication, others 1.21 ms
        ");
        assert_eq!(ranks_text(&sample::finished(), &Style::default()), "");
    }

    #[test]
    fn trainers_of_one_rank_have_a_row_each_and_the_sum_of_what_they_do() {
        insta::assert_snapshot!(ranks_text(&sample::two_trainers(), &Style::default()), @r"
        trainer    wall  data   fwd   bwd   opt  comm  other  steps  samples/s
           4711  5.72 s  0.23  1.31  2.36  0.89  0.00   0.94  4,200     26,446
           4712  5.72 s  0.23  1.31  2.36  0.89  0.00   0.94  4,200     25,005
        stages in s; named by process id; together 51,451 samples/s
        ");
        let mut report = sample::two_trainers();
        report.together = None;
        assert!(ranks_text(&report, &Style::default()).contains("one trained after another"));
    }

    #[test]
    fn of_many_ranks_the_first_and_the_slowest_are_shown() {
        let mut report = sample::two_ranks();
        let ranks = report.ranks.as_mut().unwrap();
        let last = ranks[1].clone();
        ranks.extend((2..100).map(|rank| RankSummary { rank, status: Status::Killed, ..last.clone() }));
        report.slowest_rank = Some(99);
        let text = ranks_text(&report, &Style::default());
        assert_eq!(text.lines().filter(|line| line.trim_start().starts_with(char::is_numeric)).count(), 13);
        assert!(text.contains("99*") && text.contains("the first 12 of 100 ranks"), "{text}");
    }
}
