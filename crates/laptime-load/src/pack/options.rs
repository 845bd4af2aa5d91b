//! How a pack is laid out.

/// Bytes of samples that a record batch has about: enough for a disk to be fast, little enough to be checked at
/// the first touch of one sample.
const BATCH_BYTES: usize = 1 << 20;

/// Bytes that a part has about; an interrupted pack goes on after the last whole one.
const PART_BYTES: u64 = 512 << 20;

/// Most rows of a record batch: a Loader counts them in 32 bits.
pub(super) const MOST_ROWS: u64 = u32::MAX as u64;

/// How a pack is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackOptions {
    /// A part is ended when it has this many bytes.
    pub part_bytes: u64,
    /// Bytes of samples in a record batch, from which its rows are computed: a power of two, so that a sample is
    /// found without a division.
    pub batch_bytes: usize,
    /// Rows of a record batch, instead of computing them.
    pub batch_rows: Option<usize>,
    /// Whether a pack that has the name already is replaced.
    pub overwrite: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self { part_bytes: PART_BYTES, batch_bytes: BATCH_BYTES, batch_rows: None, overwrite: false }
    }
}

impl PackOptions {
    /// Rows of a record batch for rows of about this many bytes.
    pub(super) fn rows_of(&self, row_bytes: usize) -> usize {
        let computed = || {
            let rows = (self.batch_bytes / row_bytes.max(1)).max(1);
            // Rounded down to a power of two.
            1 << rows.ilog2()
        };
        self.batch_rows.map_or_else(computed, |rows| rows.clamp(1, MOST_ROWS as usize))
    }
}
