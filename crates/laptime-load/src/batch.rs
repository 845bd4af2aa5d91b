//! A batch: the rows of one training step.

use crate::error::LoadError;

/// The rows of one training step, gathered contiguous: reading shuffled rows in place is bound by memory latency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Rows in the batch; every batch but an epoch's last is full.
    pub rows: usize,
    /// Features of a row, the target not counted.
    pub width: usize,
    /// `rows * width` features, row after row.
    pub features: Vec<f32>,
    /// One target for each row.
    pub targets: Vec<f32>,
}

impl Batch {
    /// Bytes of features and targets, as handed to the model.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        size_of_val(self.features.as_slice()) as u64 + size_of_val(self.targets.as_slice()) as u64
    }

    /// An empty batch with room for `rows`; the batch size comes from a user, so it may be more than memory holds.
    pub(crate) fn with_room_for(rows: usize, width: usize) -> Result<Self, LoadError> {
        let mut batch = Self { width, ..Self::default() };
        let numbers = rows.saturating_mul(width);
        let reserved = batch.features.try_reserve_exact(numbers);
        let reserved = reserved.and_then(|()| batch.targets.try_reserve_exact(rows));
        match reserved {
            Ok(()) => Ok(batch),
            Err(source) => Err(LoadError::OutOfMemory { rows: rows as u64, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_features_and_targets() {
        let batch = Batch { rows: 2, width: 3, features: vec![0.0; 6], targets: vec![0.0; 2] };
        assert_eq!(batch.bytes(), 32);
        assert_eq!(Batch::default().bytes(), 0);
    }

    #[test]
    fn a_batch_larger_than_memory_is_an_error_and_not_an_abort() {
        let error = Batch::with_room_for(usize::MAX, 3).unwrap_err();
        assert!(matches!(error, LoadError::OutOfMemory { .. }));
        assert!(error.hint().unwrap().contains("smaller batch"));
    }
}
