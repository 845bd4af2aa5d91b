//! What a network does: the one thing that differs between the reference models.

use std::ops::Range;

use laptime_load::Batch;

use super::float::Float;

/// The layers of a reference model, with the buffers that one shard of a batch needs on its way through.
///
/// Parameters and gradients are flat slices of one layout, which the network made from a [`Layout`](super::layout::Layout). Buffers grow
/// when a larger shard comes, and stay.
pub(super) trait Network<F: Float>: Send {
    /// Takes rows in, and writes the target of every answer in the order of the answers.
    fn load(&mut self, rows: &Rows<'_>, targets: &mut Vec<f32>);

    /// Computes the outputs for the rows that were loaded.
    fn forward(&mut self, parameters: &[F], training: bool);

    /// The outputs, a row for each answer. To go backward they are overwritten with their gradients.
    fn outputs(&mut self) -> &mut [F];

    /// Adds the gradients of all parameters, given those of the outputs, for the rows that last went forward.
    fn backward(&mut self, parameters: &[F], gradients: &mut [F]);

    /// Rows below which a shard is not worth a thread, nor a sum of its gradients with others.
    fn least_rows(&self) -> usize;
}

/// Some rows of a batch.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// How many.
    pub(super) rows: usize,
    /// Features of a row.
    pub(super) width: usize,
    /// `rows * width` features, row after row.
    pub(super) features: &'a [f32],
    /// One target for each row.
    pub(super) targets: &'a [f32],
}

impl<'a> Rows<'a> {
    /// The rows of a batch that lie in a range.
    pub(super) fn of(batch: &'a Batch, range: Range<usize>) -> Self {
        Self {
            rows: range.len(),
            width: batch.width,
            features: &batch.features[range.start * batch.width..range.end * batch.width],
            targets: &batch.targets[range],
        }
    }

    /// The token that follows a place of a row: the next one, after the last place the target.
    pub(super) fn next_token(&self, row: usize, place: usize) -> f32 {
        let next = place + 1;
        if next < self.width { self.features[row * self.width + next] } else { self.targets[row] }
    }
}
