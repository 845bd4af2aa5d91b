//! Ranks: the ledger of each as one bar, the slowest named.

use laptime_analyse::{LedgerRow, RankSummary, Report};
use laptime_core::units;

use super::figure::Figure;
use super::numbers::Numbers;
use super::stacked::{Row, all_stages, draw_rows};
use crate::stage_words::stage_name;

/// Ranks that have a bar; of more the first ones, and the slowest always.
const MOST_BARS: usize = 128;

/// The ranks of a run; `None` where it is alone.
pub(crate) fn ranks_figure(report: &Report) -> Option<Figure> {
    let ranks = report.ranks.as_deref().filter(|ranks| ranks.len() > 1)?;
    let is_slowest = |rank: &RankSummary| report.slowest_rank == Some(rank.rank);
    let drawn = ranks.iter().enumerate().filter(|(at, rank)| *at < MOST_BARS || is_slowest(rank));
    let row = |(_, rank): (usize, &RankSummary)| Row {
        name: format!("rank {}", rank.rank),
        strong: is_slowest(rank),
        stages: stages(&rank.ledger),
    };
    let rows: Vec<Row> = drawn.map(row).collect();
    let slowest = report.slowest_rank.map(|rank| format!("; rank {rank} is the slowest")).unwrap_or_default();
    let described = format!("Where the time of {} went{slowest}", units::counted(ranks.len() as u64, "rank"));
    let numbers = numbers(ranks, &rows);
    Some(Figure::new("ranks", "Every rank, by stage", described, numbers, |canvas| draw_rows(canvas, &rows)))
}

/// A ledger as what a bar is made of.
pub(super) fn stages(ledger: &[LedgerRow]) -> Vec<(String, f64)> {
    ledger.iter().map(|row| (row.stage.clone(), row.seconds)).collect()
}

fn numbers(ranks: &[RankSummary], rows: &[Row]) -> Numbers {
    let stages = all_stages(rows);
    let names: Vec<String> = stages.iter().map(|stage| stage_name(stage)).collect();
    let fixed = ["rank", "wall", "steps", "samples/s", "work a step"];
    let mut numbers = Numbers::new(fixed.into_iter().chain(names.iter().map(String::as_str)));
    for rank in ranks {
        let fixed = [
            rank.rank.to_string(),
            units::duration(rank.wall_s),
            units::count(rank.steps),
            units::or_unknown(rank.samples_per_s, units::per_second),
            units::or_unknown(rank.work_s, units::duration),
        ];
        let of_stage = |stage: &&str| {
            let row = rank.ledger.iter().find(|row| row.stage == **stage);
            units::or_unknown(row.map(|row| row.seconds), units::duration)
        };
        numbers.row(fixed.into_iter().chain(stages.iter().map(of_stage)));
    }
    numbers
}
