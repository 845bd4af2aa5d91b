//! What a pack is made of: rows in blocks, read in any order by any number of threads.

use laptime_load::pack::{PackSchema, RowBlock};

use super::error::SourceError;

/// Bytes of a source that are read for one block: large enough that a hand-over costs nothing, small enough that a
/// few per thread fit into the cache that the threads share.
pub(super) const BLOCK_BYTES: u64 = 2 << 20;

/// A dataset that is cut into blocks of rows.
pub trait PackSource: Sync {
    /// The columns of every block.
    fn schema(&self) -> &PackSchema;

    /// How many blocks there are; `None` where that shows only when one is asked for that is not there.
    fn blocks(&self) -> Option<usize>;

    /// Rows of all blocks together, where they are known before they are read.
    fn rows(&self) -> Option<u64>;

    /// Rows of a block that is there, where they are known before it is read.
    fn rows_of(&self, block: usize) -> Option<u64>;

    /// What one thread reads with.
    ///
    /// # Errors
    /// When nothing can be read at all.
    fn reader(&self) -> Result<Box<dyn BlockReader + '_>, SourceError>;

    /// How many threads can read at the same time.
    fn most_threads(&self) -> usize {
        usize::MAX
    }

    /// Cuts what begins with a block in another way, after reading it failed by [`SourceError::CutAgain`].
    ///
    /// # Errors
    /// When the source cannot be read.
    fn cut_again(&self, _block: usize) -> Result<(), SourceError> {
        Ok(())
    }

    /// Ends whatever is under way, so that no reader is waited for.
    fn cancel(&self) {}

    /// What a person should know about what was left out or put together.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Reads blocks, with working space that is kept from one to the next.
pub trait BlockReader {
    /// Reads a block; `None` where there is none any more.
    ///
    /// # Errors
    /// When its rows cannot be had.
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError>;
}
