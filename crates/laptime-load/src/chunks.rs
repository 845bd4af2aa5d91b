//! The chunks of a streamed file, read one after another.

use std::ops::Range;
use std::sync::Arc;

use crate::error::LoadError;
use crate::order::{Order, Shelf};
use crate::pass::Pass;
use crate::source::Source;
use crate::table::Table;

/// Reads a range of rows chunk by chunk, each ready to be delivered in its order.
#[derive(Debug)]
pub(crate) struct Chunks {
    source: Arc<Source>,
    order: Order,
    ranges: std::vec::IntoIter<Range<u64>>,
    raw: Vec<u8>,
}

impl Chunks {
    pub(crate) fn new(source: Arc<Source>, rows: &Range<u64>, order: Order) -> Self {
        let mut ranges = source.chunks(rows);
        if source.reads_anywhere() {
            order.arrange(Shelf::Chunks, &mut ranges);
        }
        Self { source, order, ranges: ranges.into_iter(), raw: Vec::new() }
    }

    fn read(&mut self, rows: &Range<u64>) -> Result<Pass, LoadError> {
        let mut table = Table::empty(self.source.width());
        self.source.read(rows, &mut self.raw, &mut table)?;
        let count = table.rows();
        Ok(Pass::new(Arc::new(table), 0..count, self.order, rows.start))
    }
}

impl Iterator for Chunks {
    type Item = Result<Pass, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.ranges.next()?;
        let pass = self.read(&rows);
        if pass.is_err() {
            // Rows after a gap are of no use: an epoch delivers all its rows or fails.
            self.ranges = Vec::new().into_iter();
        }
        Some(pass)
    }
}
