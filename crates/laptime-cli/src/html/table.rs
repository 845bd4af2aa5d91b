//! Tables of a page.

use crate::markup::escaped;

/// A table of text; columns after the first hold numbers, unless said otherwise.
pub(super) struct Table<'a> {
    /// What it shows, for those who hear it.
    pub(super) caption: &'a str,
    /// The head of each column.
    pub(super) heads: &'a [String],
    /// The rows.
    pub(super) rows: &'a [Vec<String>],
    /// Whether its columns are words rather than numbers.
    pub(super) words: bool,
}

impl Table<'_> {
    /// The table as markup; a wide one scrolls by itself, by keyboard too.
    pub(super) fn drawn(&self) -> String {
        let class = if self.words { "words" } else { "numbers" };
        let heads: String =
            self.heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escaped(head))).collect();
        let rows: String = self.rows.iter().map(|row| drawn_row(row)).collect();
        let caption = escaped(self.caption);
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\
             <table class=\"{class}\"><caption>{caption}</caption>\
             <thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div>\n"
        )
    }
}

fn drawn_row(row: &[String]) -> String {
    let cells = row.iter().enumerate().map(|(at, cell)| {
        // Text that runs from right to left must not turn the cells beside it.
        let text = format!("<bdi>{}</bdi>", escaped(cell));
        if at == 0 { format!("<th scope=\"row\">{text}</th>") } else { format!("<td>{text}</td>") }
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}
