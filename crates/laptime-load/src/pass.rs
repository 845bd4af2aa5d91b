//! A pass over rows in memory, in some order.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::Batch;
use crate::order::{Order, Shelf};
use crate::table::Table;

/// Rows of a table, each delivered once.
#[derive(Debug)]
pub(crate) struct Pass {
    table: Arc<Table>,
    rows: Range<usize>,
    /// Which row comes at each place; `None` if they come as they are stored.
    shuffled: Option<Vec<usize>>,
}

impl Pass {
    /// A pass over a range of rows; `first_row` is where the table starts in its file, for the shuffling.
    pub(crate) fn new(table: Arc<Table>, rows: Range<usize>, order: Order, first_row: u64) -> Self {
        let shuffled = matches!(order, Order::Shuffled { .. }).then(|| {
            let mut places: Vec<usize> = rows.clone().collect();
            order.arrange(Shelf::RowsFrom(first_row), &mut places);
            places
        });
        let rows = if shuffled.is_some() { 0..rows.len() } else { rows };
        Self { table, rows, shuffled }
    }

    /// Moves up to `most` rows into the batch and returns how many; none means that the pass is over.
    pub(crate) fn fill(&mut self, batch: &mut Batch, most: usize) -> usize {
        let count = self.rows.len().min(most);
        let taken = self.rows.start..self.rows.start + count;
        self.rows.start += count;
        match &self.shuffled {
            Some(places) => self.gather(&places[taken], batch),
            None => self.copy(taken, batch),
        }
        batch.rows += count;
        count
    }

    fn copy(&self, rows: Range<usize>, batch: &mut Batch) {
        batch.features.extend_from_slice(self.table.features_of(rows.clone()));
        batch.targets.extend_from_slice(&self.table.targets()[rows]);
    }

    fn gather(&self, rows: &[usize], batch: &mut Batch) {
        let (features, targets) = (self.table.features(), self.table.targets());
        batch.targets.extend(rows.iter().map(|&row| targets[row]));
        if self.table.width() == 1 {
            // Slices of one number each took four times as long.
            batch.features.extend(rows.iter().map(|&row| features[row]));
        } else {
            rows.iter().for_each(|&row| {
                batch.features.extend_from_slice(self.table.features_of(row..row + 1));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Arc<Table> {
        let targets: Vec<f32> = (0..10_u8).map(f32::from).collect();
        let features = targets.iter().flat_map(|&target| [target, -target]).collect();
        Arc::new(Table::new(2, features, targets))
    }

    fn filled(mut pass: Pass) -> Batch {
        let mut batch = Batch { width: 2, ..Batch::default() };
        while pass.fill(&mut batch, 3) > 0 {}
        batch
    }

    #[test]
    fn features_stay_with_their_target() {
        let order = Order::Shuffled { seed: 3, epoch: 0 };
        let batch = filled(Pass::new(table(), 0..10, order, 0));
        assert_eq!(batch.rows, 10);
        assert!(!batch.targets.is_sorted());
        for (row, target) in batch.features.chunks(2).zip(&batch.targets) {
            assert_eq!(row, [*target, -target]);
        }
    }

    #[test]
    fn only_the_rows_of_the_range_are_delivered() {
        assert_eq!(filled(Pass::new(table(), 3..6, Order::AsStored, 0)).targets, [3.0, 4.0, 5.0]);
        let mut targets = filled(Pass::new(table(), 3..6, Order::Shuffled { seed: 1, epoch: 1 }, 0)).targets;
        targets.sort_by(f32::total_cmp);
        assert_eq!(targets, [3.0, 4.0, 5.0]);
    }
}
