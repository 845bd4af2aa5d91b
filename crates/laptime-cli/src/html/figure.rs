//! A figure of a page: the chart, what it says in words, and its table.

use super::table::Table;
use crate::chart::{Figure, Numbers};
use crate::markup::escaped;

/// Figures one below the other.
pub(super) fn figures(all: impl IntoIterator<Item = Figure>) -> String {
    all.into_iter().map(|one| figure(&one)).collect()
}

/// The figure with the table behind it.
fn figure(figure: &Figure) -> String {
    let (id, title, described) = (&figure.id, escaped(&figure.title), escaped(&figure.described));
    format!(
        "<figure id=\"figure-{id}\"><h3>{title}</h3>\n{}<figcaption>{described}</figcaption>\n{}</figure>\n",
        figure.markup(),
        behind(id, &figure.title, &figure.numbers)
    )
}

/// A table that is shown on demand.
fn behind(id: &str, title: &str, numbers: &Numbers) -> String {
    if numbers.rows.is_empty() {
        return String::new();
    }
    let table = Table { caption: title, heads: &numbers.heads, rows: &numbers.rows, words: false };
    format!(
        "<details id=\"table-{id}\"><summary>Table<span class=\"hidden\"> of: {}</span></summary>{}</details>\n",
        escaped(title),
        table.drawn()
    )
}
