//! What the ranks did in a step and for whom they stood still: a row for each rank, the outliers of many.

use laptime_analyse::{CommunicationSummary, GroupSummary, RankCommunication, RankSummary, Report};
use laptime_core::Status;

use super::epoch_unit::EpochUnit;
use super::shown;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units::{self, UNKNOWN, bytes, count, percent};
use super::wrap::wrapped;

/// Of more ranks than this only those that stand out are shown.
const MOST_ROWS: usize = 12;
/// Ranks of one kind that are shown because they stand out.
const MOST_OUTLIERS: usize = 4;
/// Groups that are listed.
const MOST_GROUPS: usize = 4;

/// The ranks side by side; `None` where their collectives were not seen.
pub(crate) fn communication_text(report: &Report, notes: &[String], style: &Style) -> Option<String> {
    let communication = report.communication.as_ref()?;
    let ranks = report.ranks.as_deref().unwrap_or_default();
    let known: Vec<(&RankSummary, RankCommunication)> =
        ranks.iter().filter_map(|rank| Some((rank, rank.communication?))).collect();
    let mut text = String::new();
    if !known.is_empty() {
        text.push_str(&table(&known, ranks.len(), communication, notes, style));
    }
    for line in lines(communication) {
        for line in wrapped(&line, style.width, "", "  ") {
            text.push_str(&format!("{}\n", style.fitted(&line)));
        }
    }
    Some(text).filter(|text| !text.is_empty())
}

fn table(
    known: &[(&RankSummary, RankCommunication)],
    all: usize,
    communication: &CommunicationSummary,
    notes: &[String],
    style: &Style,
) -> String {
    let unit = EpochUnit::showing(known.iter().map(|(_, one)| one.step_s).fold(0.0, f64::max));
    let decimals = unit.decimals_of(known.iter().map(|(_, one)| one.step_s).fold(0.0, f64::max)).min(1);
    let time = |seconds: f64| unit.shown(seconds, decimals);
    let has_hosts = known.iter().any(|(rank, _)| rank.host != known[0].0.host);
    let mut table = Table::new(columns(has_hosts));
    let outliers = outliers(known, communication);
    for (rank, one) in known.iter().filter(|(rank, _)| outliers.contains(&rank.rank)) {
        table.row(cells(rank, one, has_hosts, &time));
    }
    let mut facts = vec![format!("{} a step", unit.name)];
    if outliers.len() < all {
        facts.push(format!(
            "{} of {} ranks, those that stand out (--json has all)",
            outliers.len(),
            count(all as u64)
        ));
    }
    let unfinished = known.iter().any(|(rank, _)| rank.status != Status::Finished);
    facts.extend(unfinished.then(|| "*: not finished".to_owned()));
    facts.extend(notes.iter().cloned());
    let mut text = table.drawn(style);
    for line in wrapped(&facts.join("; "), style.width, "", "  ") {
        text.push_str(&format!("{}\n", style.paint(&style.fitted(&line), Emphasis::Dim)));
    }
    text
}

fn columns(has_hosts: bool) -> Vec<Column> {
    let right = |title: &str| Column::new(title, Align::Right);
    let mut columns = vec![right("rank")];
    if has_hosts {
        columns.push(Column::new("host", Align::Left).importance(2).shrinks_to(8));
    }
    columns.extend([
        right("step"),
        right("data").importance(3),
        right("compute").importance(5),
        right("hidden").importance(1),
        right("exposed").importance(6),
        right("transfer").importance(4),
        right("waiting"),
        right("late"),
    ]);
    columns
}

fn cells(
    rank: &RankSummary,
    one: &RankCommunication,
    has_hosts: bool,
    time: &impl Fn(f64) -> String,
) -> Vec<Cell> {
    let mark = if rank.status == Status::Finished { "" } else { "*" };
    let mut cells: Vec<Cell> = vec![format!("{}{mark}", rank.rank).into()];
    if has_hosts {
        cells.push(rank.host.as_deref().map_or_else(|| UNKNOWN.to_owned(), shown).into());
    }
    cells.push(Cell::painted(time(one.step_s), Emphasis::Bold));
    cells.extend([one.data_s, one.compute_s, one.hidden_s, one.exposed_s].map(|s| Cell::from(time(s))));
    cells.extend([one.transfer_s, one.waiting_s].map(|s| Cell::from(units::or_unknown(s, time))));
    cells.push(units::or_unknown(one.late, percent).into());
    cells
}

/// The ranks that are shown: all of few; of many those that are named, dead, latest or that wait longest.
fn outliers(known: &[(&RankSummary, RankCommunication)], communication: &CommunicationSummary) -> Vec<u32> {
    if known.len() <= MOST_ROWS {
        return known.iter().map(|(rank, _)| rank.rank).collect();
    }
    let named = [&communication.straggler, &communication.one_off];
    let named = named.into_iter().flatten().flat_map(|one| one.ranks.iter().copied()).take(MOST_OUTLIERS);
    let unfinished = known.iter().filter(|(rank, _)| rank.status != Status::Finished);
    let unfinished = unfinished.map(|(rank, _)| rank.rank).take(MOST_OUTLIERS);
    let first = known.first().map(|(rank, _)| rank.rank);
    let mut shown: Vec<u32> = named.chain(unfinished).chain(first).collect();
    for of in [|one: &RankCommunication| one.late, |one: &RankCommunication| one.waiting_s] {
        let most = known.iter().max_by(|a, b| of(&a.1).unwrap_or(0.0).total_cmp(&of(&b.1).unwrap_or(0.0)));
        shown.extend(most.map(|(rank, _)| rank.rank));
    }
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// `between ranks: 97.3 MiB a step, 8.5 GiB/s, 74 % hidden`, and a line for each group where there are several.
fn lines(communication: &CommunicationSummary) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(communication.bytes_per_step.map(|amount| format!("{} a step", bytes(amount as u64))));
    facts.extend(communication.bytes_per_s.map(|rate| format!("{}/s", bytes(rate as u64))));
    facts.extend(
        communication.hidden_share.map(|share| format!("{} hidden behind other stages", percent(share))),
    );
    let mut lines = vec![format!("between ranks: {}", facts.join(", "))];
    let groups = &communication.groups;
    if groups.len() > 1 {
        lines.extend(groups.iter().take(MOST_GROUPS).map(group));
        let more = groups.len().saturating_sub(MOST_GROUPS);
        lines.extend((more > 0).then(|| format!("  and {more} more groups (--json has all)")));
    }
    lines
}

fn group(group: &GroupSummary) -> String {
    let purpose =
        group.purpose.as_deref().map_or_else(String::new, |purpose| format!(", {}", shown(purpose)));
    let rate = group.bytes_per_s.map_or_else(String::new, |rate| format!(", {}/s", bytes(rate as u64)));
    format!(
        "  group {} ({}{purpose}, {}): {}{rate}",
        shown(&group.name),
        shown(&group.backend),
        units::counted(group.ranks.len() as u64, "rank"),
        bytes(group.bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::super::ranks::ranks_text;
    use super::super::sample;
    use super::*;

    /// The rows of the ranks, and whether every line fits.
    fn shown_at(width: usize, ranks: u32) -> (Vec<String>, String) {
        let text = ranks_text(&sample::exchanging(ranks), &Style { width, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        let is_row = |line: &&str| line.trim_start().starts_with(char::is_numeric);
        (text.lines().filter(is_row).map(str::to_owned).collect(), text)
    }

    #[test]
    fn each_rank_has_a_row_with_what_it_exchanged_and_how_often_it_was_late() {
        let (rows, text) = shown_at(80, 4);
        let words = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert_eq!(
            words(text.lines().next().unwrap()),
            "rank host step data compute hidden exposed transfer waiting late"
        );
        assert_eq!(words(&rows[0]), "0 a 212 2 121 31 89 12 77 1.3 %");
        assert_eq!(words(&rows[3]), "3 b 212 2 198 31 12 12 0 96 %");
        assert!(text.contains("ms a step; together 26,446 samples/s"), "{text}");
        assert!(
            text.contains("between ranks: 97.3 MiB a step, 8.5 GiB/s, 74 % hidden behind other stages"),
            "{text}"
        );
    }

    #[test]
    fn a_narrow_terminal_keeps_who_waits_for_whom() {
        let (rows, text) = shown_at(40, 4);
        assert_eq!(rows.len(), 4);
        assert!(text.contains("waiting") && text.contains("late"), "{text}");
    }

    #[test]
    fn of_a_thousand_ranks_those_that_stand_out_are_shown() {
        let (rows, text) = shown_at(80, 1_000);
        assert!((2..=12).contains(&rows.len()), "{text}");
        assert!(rows.iter().any(|row| row.trim_start().starts_with("999 ")), "{text}");
        assert!(text.contains("of 1,000 ranks, those that stand out"), "{text}");
    }
}
