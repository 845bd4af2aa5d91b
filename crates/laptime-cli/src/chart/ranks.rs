//! Ranks: the ledger of each as one bar, the slowest named.

use laptime_analyse::{LedgerRow, RankSummary, Report};
use laptime_core::units;

use super::canvas::{Anchor, Area, Canvas};
use super::figure::Figure;
use super::numbers::Numbers;
use super::scale::Measure;
use super::theme::stage_order;
use super::tick::Unit;
use crate::stage_words::stage_name;

/// Ranks that have a bar; of more the first ones, and the slowest always.
const MOST_BARS: usize = 128;
const LABELS: f64 = 64.0;

/// The ranks of a run; `None` where it is alone.
pub(crate) fn ranks_figure(report: &Report) -> Option<Figure> {
    let ranks = report.ranks.as_deref().filter(|ranks| ranks.len() > 1)?;
    let bars: Vec<&RankSummary> = ranks
        .iter()
        .enumerate()
        .filter(|(at, rank)| *at < MOST_BARS || report.slowest_rank == Some(rank.rank))
        .map(|(_, rank)| rank)
        .collect();
    let slowest = report.slowest_rank.map(|rank| format!("; rank {rank} is the slowest")).unwrap_or_default();
    let described = format!("Where the time of {} went{slowest}", units::counted(ranks.len() as u64, "rank"));
    let figure = Figure::new("ranks", "Every rank, by stage", described, numbers(ranks), |canvas| {
        draw(canvas, &bars, report.slowest_rank);
    });
    Some(figure)
}

fn in_order(ledger: &[LedgerRow]) -> Vec<&LedgerRow> {
    let mut rows: Vec<&LedgerRow> = ledger.iter().filter(|row| row.seconds > 0.0).collect();
    rows.sort_by_key(|row| stage_order(&row.stage));
    rows
}

fn draw(canvas: &mut Canvas, ranks: &[&RankSummary], slowest: Option<u32>) {
    let mut stages: Vec<&str> =
        ranks.iter().flat_map(|rank| in_order(&rank.ledger)).map(|row| row.stage.as_str()).collect();
    stages.sort_by_key(|stage| (stage_order(stage), *stage));
    stages.dedup();
    let top = canvas.legend(stages, 0.0) + 6.0;
    let row = match ranks.len() {
        ..=16 => 24.0,
        17..=40 => 16.0,
        _ => 11.0,
    };
    let longest = ranks.iter().map(|rank| rank.wall_s).fold(0.0, f64::max);
    let measure = Measure::from_zero(longest, Unit::Seconds);
    let plot =
        Area { x: LABELS, y: top, width: canvas.width - LABELS - 4.0, height: row * ranks.len() as f64 };
    let every = (14.0_f64 / row).ceil() as usize;
    for (at, rank) in ranks.iter().enumerate() {
        let y = top + at as f64 * row;
        let is_slowest = slowest == Some(rank.rank);
        if is_slowest || at.is_multiple_of(every.max(1)) && !crowded(ranks, at, slowest, every) {
            let class = if is_slowest { "strong" } else { "" };
            let name = format!("{}rank {}", if is_slowest { "▸ " } else { "" }, rank.rank);
            canvas.text(class, (LABELS - 8.0, y + 0.5 * row + 4.0), Anchor::End, &name);
        }
        let mut x = plot.x;
        for part in in_order(&rank.ledger) {
            let width = measure.share(part.seconds) * plot.width;
            let tip = format!(
                "rank {}\n{} {}, {}",
                rank.rank,
                stage_name(&part.stage),
                units::duration(part.seconds),
                units::percent(part.share)
            );
            canvas.stage(&part.stage, Area { x, y: y + 1.0, width, height: row - 2.0 }, &tip, None);
            x += width;
        }
    }
    measure.draw_right(canvas, plot, if canvas.is_narrow() { 3 } else { 7 });
    canvas.height = plot.bottom() + 28.0;
}

/// Whether the name of the slowest rank stands where this one's would.
fn crowded(ranks: &[&RankSummary], at: usize, slowest: Option<u32>, every: usize) -> bool {
    let place = ranks.iter().position(|rank| slowest == Some(rank.rank));
    place.is_some_and(|place| place != at && place.abs_diff(at) < every)
}

fn numbers(ranks: &[RankSummary]) -> Numbers {
    let mut stages: Vec<&str> =
        ranks.iter().flat_map(|rank| in_order(&rank.ledger)).map(|row| row.stage.as_str()).collect();
    stages.sort_by_key(|stage| (stage_order(stage), *stage));
    stages.dedup();
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
