//! Places compared, as text.

use laptime_data::comparison::{Compared, Comparison};

use super::elsewhere::{per_second, time};
use super::shown;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units;
use super::wrap::wrapped;

/// A row for each place, the fastest first, and what went wrong with the others.
pub(crate) fn comparison_text(comparison: &Comparison, style: &Style) -> String {
    let mut table = Table::new(vec![
        Column::new("place", Align::Left).shrinks_to(20),
        Column::new("once", Align::Left),
        Column::new("streams", Align::Right).importance(2),
        Column::new("rate", Align::Unit),
        Column::new("first byte", Align::Unit).importance(1),
    ]);
    for place in comparison.places.iter().filter(|place| place.copy_s.is_some()) {
        table.row(cells(place));
    }
    let mut text = table.drawn(style);
    for place in &comparison.places {
        let problem =
            place.problem.as_ref().map(|problem| format!("{}: {}", shown(&place.url), shown(problem)));
        text.extend(
            problem
                .iter()
                .flat_map(|problem| wrapped(problem, style.width, "", "  "))
                .map(|line| line + "\n"),
        );
    }
    if let Some(cost) = comparison.tls_cost {
        let cost =
            if cost > 0.005 { format!("costs {}", units::percent(cost)) } else { "costs nothing".to_owned() };
        text += &format!("encryption {cost} here\n");
    }
    if let Some(best) = comparison.places.first().filter(|place| place.copy_s.is_some()) {
        let next = format!("next: laptime data {}", shown(&best.url));
        text += &format!("\n{}\n", style.paint(&style.fitted(&next), Emphasis::Dim));
    }
    text
}

fn cells(place: &Compared) -> Vec<Cell> {
    let link = place.network.as_ref();
    let best = link.and_then(|link| link.best());
    vec![
        shown(&place.url).into(),
        units::or_unknown(place.copy_s, |copy| time(&copy)).into(),
        units::or_unknown(best, |rate| rate.streams.to_string()).into(),
        units::or_unknown(best, |rate| per_second(rate.bytes_per_s.mean)).into(),
        units::or_unknown(link, |link| units::duration(link.first_byte_s)).into(),
    ]
}
