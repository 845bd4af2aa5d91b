//! A reference model with its sizes settled.

use crate::model_kind::{HEADS, IMAGE_SIDE, ModelKind};

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
    /// Peak memory grew by 3.3 copies of the widest layer a row for the cnn and 3.2 for the mlp (one block, one
    /// hidden layer); four leaves some room. Later convolution blocks are smaller and are not counted. A place
    /// of a sequence took 6.5 copies of the rnn's state, 15 of the gru's and 18 of the lstm's; in a block of the
    /// transformer it took 18 copies of the token and 3 of its attention scores, and as much besides the blocks.
    #[must_use]
    pub fn bytes_per_row(&self) -> u64 {
        let [features, layers, width] = [self.features, self.layers, self.width].map(|size| size as u64);
        let values = match self.kind {
            ModelKind::Linear => features,
            ModelKind::Mlp => features.saturating_add(layers.saturating_mul(width)),
            ModelKind::Cnn => {
                let side = (IMAGE_SIDE + 1).saturating_sub(self.kernel) as u64;
                side.saturating_mul(side).saturating_mul(width)
            }
            ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => {
                let places = layers.saturating_mul(features);
                places.saturating_mul(width).saturating_mul(self.kind.gates() as u64 + 1)
            }
            ModelKind::Transformer => {
                let scores = features.saturating_mul(HEADS as u64);
                let place = width.saturating_mul(5).saturating_add(scores);
                (layers + 1).saturating_mul(features).saturating_mul(place)
            }
        };
        values.saturating_mul(4 * 4)
    }
}
