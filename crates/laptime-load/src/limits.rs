//! How much memory a dataset may take.

/// How much memory a dataset may take: beyond it, a file is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Decoded bytes (four for every number) up to which a file is held in memory as a whole.
    pub in_memory_bytes: u64,
    /// Decoded bytes of one chunk of a streamed file; about four chunks are in memory at a time.
    pub chunk_bytes: u64,
}

impl Default for Limits {
    /// 64 MiB in memory, chunks of 4 MiB: large enough that reading one hides its start-up cost.
    fn default() -> Self {
        Self { in_memory_bytes: 64 << 20, chunk_bytes: 4 << 20 }
    }
}

impl Limits {
    /// Rows of one chunk; a row larger than a chunk is a chunk of its own.
    pub(crate) fn chunk_rows(&self, columns: usize) -> u64 {
        (self.chunk_bytes / row_bytes(columns)).max(1)
    }

    pub(crate) fn fit_in_memory(&self, rows: u64, columns: usize) -> bool {
        rows.checked_mul(row_bytes(columns)).is_some_and(|bytes| bytes <= self.in_memory_bytes)
    }
}

fn row_bytes(columns: usize) -> u64 {
    (columns as u64).saturating_mul(size_of::<f32>() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_larger_than_a_chunk_is_a_chunk_of_its_own() {
        let limits = Limits { in_memory_bytes: 0, chunk_bytes: 100 };
        assert_eq!(limits.chunk_rows(5), 5);
        assert_eq!(limits.chunk_rows(1000), 1);
    }

    #[test]
    fn sizes_beyond_any_memory_are_streamed() {
        let limits = Limits { in_memory_bytes: u64::MAX, chunk_bytes: 1 };
        assert!(limits.fit_in_memory(1000, 1000));
        assert!(!limits.fit_in_memory(u64::MAX, 2));
        assert!(!Limits { in_memory_bytes: 79, ..limits }.fit_in_memory(10, 2));
        assert!(Limits { in_memory_bytes: 80, ..limits }.fit_in_memory(10, 2));
    }
}
