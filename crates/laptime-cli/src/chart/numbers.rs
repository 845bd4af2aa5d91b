//! The numbers behind a chart, as a table of text.

/// Heads and rows; the first column says what a row is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Numbers {
    /// The head of each column.
    pub(crate) heads: Vec<String>,
    /// The rows, each as long as the heads.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Numbers {
    /// A table without rows.
    pub(super) fn new<'a>(heads: impl IntoIterator<Item = &'a str>) -> Self {
        Self { heads: heads.into_iter().map(str::to_owned).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}
