//! Rows in memory.

use std::ops::Range;

/// Rows in memory: a target and `width` features each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    width: usize,
    features: Vec<f32>,
    targets: Vec<f32>,
}

impl Table {
    /// A table of one row for each target, with `width` features a row.
    ///
    /// # Panics
    /// If there are not `width` features for every target: the caller made both, so it is a mistake in code.
    #[must_use]
    pub fn new(width: usize, features: Vec<f32>, targets: Vec<f32>) -> Self {
        assert_eq!(
            width.checked_mul(targets.len()),
            Some(features.len()),
            "a table needs {width} features for each of its {} targets",
            targets.len()
        );
        Self { width, features, targets }
    }

    /// Rows of the table.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// Features of a row, the target not counted.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// All features, row after row.
    #[must_use]
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    /// All targets, one for each row.
    #[must_use]
    pub fn targets(&self) -> &[f32] {
        &self.targets
    }

    pub(crate) fn empty(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Makes room for rows that are known to exist in a file, so that growing never copies.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.features.reserve_exact(rows.saturating_mul(self.width));
        self.targets.reserve_exact(rows);
    }

    /// Adds one row; an iterator of another length is a bug of the caller.
    pub(crate) fn push(&mut self, features: impl Iterator<Item = f32>, target: f32) {
        self.features.extend(features);
        self.targets.push(target);
        debug_assert_eq!(self.features.len(), self.width * self.targets.len());
    }

    pub(crate) fn features_of(&self, rows: Range<usize>) -> &[f32] {
        &self.features[rows.start * self.width..rows.end * self.width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_where_they_were_put() {
        let mut table = Table::new(2, vec![1.0, 2.0], vec![9.0]);
        table.push([3.0, 4.0].into_iter(), 8.0);
        assert_eq!((table.rows(), table.width()), (2, 2));
        assert_eq!(table.features_of(1..2), [3.0, 4.0]);
        assert_eq!(table.features(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(table.targets(), [9.0, 8.0]);
    }

    #[test]
    #[should_panic(expected = "3 features for each of its 2 targets")]
    fn features_that_do_not_match_the_targets_are_refused() {
        let _ = Table::new(3, vec![0.0; 5], vec![0.0; 2]);
    }
}
