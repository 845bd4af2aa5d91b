//! Memory that is kept from step to step.

use super::float::Float;

/// What a vector register is aligned to, and a cache line is large.
const ALIGNMENT_BYTES: usize = 64;

/// Numbers that begin at a cache line; the memory grows when more are needed, and stays.
pub(super) struct Buffer<F> {
    values: Vec<F>,
    start: usize,
}

impl<F: Float> Buffer<F> {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self { values: Vec::new(), start: 0 }
    }

    /// A buffer of these numbers.
    pub(super) fn of(values: impl ExactSizeIterator<Item = F>) -> Self {
        let mut buffer = Self::new();
        for (own, value) in buffer.take(values.len()).iter_mut().zip(values) {
            *own = value;
        }
        buffer
    }

    /// Room for so many numbers, of which those that were there before stay and new ones are zero; after growing,
    /// all are zero.
    pub(super) fn take(&mut self, count: usize) -> &mut [F] {
        if self.values.len() < self.start + count {
            let spare = ALIGNMENT_BYTES / size_of::<F>();
            self.values = vec![F::ZERO; count + spare];
            // Misaligned memory would be slower and as right.
            self.start = self.values.as_ptr().align_offset(ALIGNMENT_BYTES).min(spare);
        }
        &mut self.values[self.start..self.start + count]
    }

    /// All numbers that there is room for.
    pub(super) fn all(&mut self) -> &mut [F] {
        &mut self.values[self.start..]
    }

    /// The first so many numbers; as many must have been taken.
    pub(super) fn first(&self, count: usize) -> &[F] {
        &self.values[self.start..self.start + count]
    }
}
