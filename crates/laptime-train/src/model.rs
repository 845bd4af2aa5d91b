//! A reference model with its sizes settled.

use crate::model_kind::{HEADS, ModelKind};

/// A reference model with its sizes settled, so that its weights have a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSpec {
    /// Which model.
    pub kind: ModelKind,
    /// Numbers in one row of input; tokens in a sequence.
    pub features: usize,
    /// Hidden layers of the mlp, convolution blocks of the cnn, recurrent layers, transformer blocks; the
    /// linear model has none.
    pub layers: usize,
    /// Units of a hidden layer, channels of a convolution, numbers that a transformer's token is.
    pub width: usize,
    /// Side of the square convolution kernel.
    pub kernel: usize,
}

impl ModelSpec {
    /// An estimate of the bytes that one row's activations and their gradients take while training in 32 bits.
    ///
    /// Peak memory grew by 329 bytes a row for the mlp of 10 features and 64 units and by 33 kB for the cnn of one
    /// block: the row twice and each cell with the place it is from, to which dropout adds as much again. A place of a
    /// sequence took 2.2 copies of the rnn's state and gates, 2.4 of the gru's and 1.9 of the lstm's; three leave some
    /// room. In a block of the transformer it took 16 copies of the token and 3 of its attention scores, and as much
    /// besides the blocks.
    #[must_use]
    pub fn bytes_per_row(&self) -> u64 {
        let [features, layers, width] = [self.features, self.layers, self.width].map(|size| size as u64);
        let row = features.saturating_mul(2);
        let values = match self.kind {
            ModelKind::Linear => row,
            ModelKind::Mlp => row.saturating_add(layers.saturating_mul(width).saturating_mul(2)),
            ModelKind::Cnn => {
                // A block that uses the image up is another error's.
                let sides = self.image_sides().unwrap_or_default();
                let cells: u64 = sides.iter().map(|side| (side * side) as u64).sum();
                row.saturating_add(cells.saturating_mul(width).saturating_mul(3))
            }
            ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => {
                let places = layers.saturating_mul(features);
                places.saturating_mul(width).saturating_mul(3 * (self.kind.gates() as u64 + 1))
            }
            ModelKind::Transformer => {
                let scores = features.saturating_mul(HEADS as u64);
                let place = width.saturating_mul(5).saturating_add(scores).saturating_mul(4);
                (layers + 1).saturating_mul(features).saturating_mul(place)
            }
        };
        values.saturating_mul(4)
    }
}
