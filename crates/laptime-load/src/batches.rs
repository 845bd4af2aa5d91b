//! The batches of one epoch.

use crate::batch::Batch;
use crate::chunks::Chunks;
use crate::error::LoadError;
use crate::pass::Pass;
use crate::prefetch::Prefetch;

/// The batches of one epoch: all full but the last, together exactly the rows of the dataset.
///
/// After an error it is over. Dropping it early stops the prefetch thread.
#[derive(Debug)]
pub struct Batches {
    batch_rows: usize,
    width: usize,
    /// Rows that are still to be delivered.
    missing: u64,
    pass: Option<Pass>,
    supply: Supply,
}

/// Where the next pass comes from when one is over.
#[derive(Debug)]
enum Supply {
    /// All rows are in the first pass.
    Memory,
    Stream(Prefetch<Result<Pass, LoadError>>),
    /// The stream could not be started; said once, when the first batch is asked for.
    Broken(LoadError),
}

impl Batches {
    pub(crate) fn from_pass(pass: Pass, batch_rows: usize, width: usize, rows: u64) -> Self {
        Self { batch_rows: batch_rows.max(1), width, missing: rows, pass: Some(pass), supply: Supply::Memory }
    }

    /// Starts reading ahead at once, before the first batch is asked for.
    pub(crate) fn from_chunks(chunks: Chunks, batch_rows: usize, width: usize, rows: u64) -> Self {
        let supply = match Prefetch::start(chunks) {
            Ok(prefetch) => Supply::Stream(prefetch),
            Err(source) => Supply::Broken(LoadError::NoThread { source }),
        };
        Self { batch_rows: batch_rows.max(1), width, missing: rows, pass: None, supply }
    }

    fn next_batch(&mut self) -> Result<Batch, LoadError> {
        let rows = usize::try_from(self.missing).map_or(self.batch_rows, |rows| rows.min(self.batch_rows));
        let mut batch = Batch::with_room_for(rows, self.width)?;
        while batch.rows < rows {
            let most = rows - batch.rows;
            let filled = self.pass.as_mut().map_or(0, |pass| pass.fill(&mut batch, most));
            if filled == 0 {
                // Let go of the old chunk before waiting, so that one less is in memory.
                self.pass = None;
                self.pass = Some(self.next_pass()?);
            }
            self.missing -= filled as u64;
        }
        Ok(batch)
    }

    fn next_pass(&mut self) -> Result<Pass, LoadError> {
        let ended = LoadError::ReadAheadEnded { missing: self.missing };
        match &mut self.supply {
            Supply::Memory => Err(ended),
            Supply::Stream(prefetch) => prefetch.next().unwrap_or(Err(ended)),
            Supply::Broken(error) => Err(std::mem::replace(error, ended)),
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.missing == 0 {
            return None;
        }
        let batch = self.next_batch();
        if batch.is_err() {
            self.missing = 0;
        }
        if self.missing == 0 {
            // Nothing more will be asked for: the thread and the last chunk need not wait for the drop.
            (self.pass, self.supply) = (None, Supply::Memory);
        }
        Some(batch)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let batches = self.missing.div_ceil(self.batch_rows as u64);
        // An error ends it early, so only one more is certain.
        (usize::from(batches > 0), usize::try_from(batches).ok())
    }
}
