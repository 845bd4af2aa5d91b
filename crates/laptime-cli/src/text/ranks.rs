//! The ranks beside each other: one row a rank, its wall time split into the stages of training.

use laptime_analyse::{RankSummary, Report};
use laptime_core::Status;

use super::epoch_unit::EpochUnit;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units;
use super::words::stage_column;
use super::wrap::wrapped;

/// The stages that have a column of their own.
const STAGES: [&str; 5] = ["data_wait", "forward", "backward", "optimizer", "communication"];
/// Of more ranks than this only the first and the slowest are shown.
const MOST_RANKS: usize = 12;

/// The table of ranks with the slowest named; empty for a training that is alone.
pub(crate) fn ranks_text(report: &Report, style: &Style) -> String {
    let Some(ranks) = &report.ranks else { return String::new() };
    // Starting up takes longer than a short training, whose stages are still to be told apart.
    let longest = ranks.iter().flat_map(|rank| STAGES.map(|stage| spent(rank, stage))).fold(0.0, f64::max);
    let unit = EpochUnit::telling(longest);
    let mut table = Table::new(columns());
    for rank in shown(ranks, report.slowest_rank) {
        table.row(cells(rank, &unit, unit.decimals_of(longest)));
    }
    let mut text = table.drawn(style);
    for line in wrapped(&note(report, ranks, &unit), style.width, "", "  ") {
        text.push_str(&format!("{}\n", style.paint(&style.fitted(&line), Emphasis::Dim)));
    }
    text
}

fn columns() -> Vec<Column> {
    let mut columns = vec![Column::new("rank", Align::Right), Column::new("wall", Align::Unit)];
    // Of the stages the one that says who waits for whom stays longest.
    let stages = STAGES.iter().zip(3..);
    columns.extend(
        stages.map(|(stage, weight)| Column::new(stage_column(stage), Align::Right).importance(weight)),
    );
    columns.push(Column::new("other", Align::Right));
    columns.push(Column::new("steps", Align::Right).importance(1));
    columns.push(Column::new("samples/s", Align::Right).importance(2));
    columns
}

fn shown(ranks: &[RankSummary], slowest: Option<u32>) -> impl Iterator<Item = &RankSummary> {
    let first = move |(at, rank): &(usize, &RankSummary)| *at < MOST_RANKS || Some(rank.rank) == slowest;
    ranks.iter().enumerate().filter(first).map(|(_, rank)| rank)
}

fn spent(rank: &RankSummary, stage: &str) -> f64 {
    rank.ledger.iter().filter(|row| row.stage == stage).map(|row| row.seconds).sum()
}

fn cells(rank: &RankSummary, unit: &EpochUnit, decimals: usize) -> Vec<Cell> {
    let time = |seconds: f64| unit.shown(seconds, decimals);
    let stages = STAGES.map(|stage| spent(rank, stage));
    let other = rank.wall_s - stages.iter().sum::<f64>();
    let mark = match rank.status {
        Status::Finished => "",
        Status::Running | Status::Failed | Status::Killed => "*",
    };
    let mut cells: Vec<Cell> = vec![
        format!("{}{mark}", rank.rank).into(),
        Cell::painted(units::duration(rank.wall_s), Emphasis::Bold),
    ];
    cells.extend(stages.map(|seconds| Cell::from(time(seconds))));
    // Rounding may leave a hair below nothing.
    cells.push(Cell::painted(time(if other < 0.0 { 0.0 } else { other }), Emphasis::Dim));
    cells.push(units::count(rank.steps).into());
    cells.push(units::or_unknown(rank.samples_per_s, units::per_second).into());
    cells
}

/// Units, what is left out, and who holds the others up.
fn note(report: &Report, ranks: &[RankSummary], unit: &EpochUnit) -> String {
    let mut facts = vec![format!("stages in {}", unit.name)];
    if ranks.len() > MOST_RANKS {
        facts.push(format!("the first {MOST_RANKS} of {} ranks (--json has all)", ranks.len()));
    }
    let state = |rank: &&RankSummary| rank.status != Status::Finished;
    facts.extend(ranks.iter().find(state).map(|_| "*: not finished".to_owned()));
    let rate: Option<f64> = ranks.iter().map(|rank| rank.samples_per_s).sum();
    facts.extend(rate.map(|rate| format!("together {}", units::rate(rate))));
    facts.extend(slowest(report, ranks));
    facts.join("; ")
}

/// `slowest: rank 1, 25.0 ms of work a step, the others 10.0 ms`.
fn slowest(report: &Report, ranks: &[RankSummary]) -> Option<String> {
    let number = report.slowest_rank?;
    let most = ranks.iter().find(|rank| rank.rank == number)?.work_s?;
    let others = ranks.iter().filter(|rank| rank.rank != number).filter_map(|rank| rank.work_s);
    let others: Vec<f64> = others.collect();
    let mean = others.iter().sum::<f64>() / others.len() as f64;
    let (most, mean) = (units::duration(most), units::duration(mean));
    Some(format!("slowest: rank {number}, {most} of work a step without communication, others {mean}"))
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
