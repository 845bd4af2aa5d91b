//! Floating-point operations of a training step, a sample.
//!
//! The rule, the same for every model and whatever an engine does to get there: a product of matrices counts two
//! operations for each multiplication and addition; nothing else counts, neither biases, activations, norms,
//! look-ups and losses nor the optimizer. The way back costs twice the way forward, once for the inputs and
//! once for the weights. Attention counts all pairs of places, also those that the causal mask hides.

use crate::model_kind::{CLASSES, EMBEDDING, FEED_FORWARD, IMAGE_SIDE, VOCABULARY};
use crate::{ModelKind, ModelSpec, TrainError};

/// Forward once, backward twice as much.
const PASSES: u64 = 3;

impl ModelSpec {
    /// Floating-point operations that one row takes forward and backward.
    pub fn flops_per_sample(&self) -> Result<u64, TrainError> {
        Ok(self.multiplications()?.saturating_mul(2 * PASSES))
    }

    /// Multiplications of the way forward, a row.
    fn multiplications(&self) -> Result<u64, TrainError> {
        let [features, layers, width] = [self.features, self.layers, self.width].map(|size| size as u64);
        Ok(match self.kind {
            ModelKind::Linear => features,
            ModelKind::Mlp => {
                let between = product(&[layers.saturating_sub(1), width, width]);
                product(&[features, width]).saturating_add(between).saturating_add(width)
            }
            ModelKind::Cnn => self.convolution_multiplications()?,
            ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => {
                let inputs = EMBEDDING as u64 + layers.saturating_sub(1).saturating_mul(width);
                let state = layers.saturating_mul(width);
                let gates = product(&[self.kind.gates() as u64, width, inputs.saturating_add(state)]);
                product(&[features, gates.saturating_add(product(&[width, VOCABULARY as u64]))])
            }
            ModelKind::Transformer => {
                // Query, key, value and output; both feed-forward layers; scores and their use.
                let dense = product(&[4 + 2 * FEED_FORWARD as u64, width, width]);
                let block = dense.saturating_add(product(&[2, features, width]));
                let place = layers.saturating_mul(block).saturating_add(product(&[width, VOCABULARY as u64]));
                product(&[features, place])
            }
        })
    }

    fn convolution_multiplications(&self) -> Result<u64, TrainError> {
        let (width, kernel) = (self.width as u64, self.kernel as u64);
        let (mut side, mut channels, mut sum) = (IMAGE_SIDE as u64, 1, 0u64);
        for after in self.image_sides()? {
            let places = side + 1 - kernel;
            sum = sum.saturating_add(product(&[places, places, kernel, kernel, channels, width]));
            (side, channels) = (after as u64, width);
        }
        Ok(sum.saturating_add(product(&[channels, side, side, CLASSES as u64])))
    }
}

fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product, factor| product.saturating_mul(*factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flops(kind: ModelKind, features: usize, layers: usize, width: usize) -> u64 {
        ModelSpec { kind, features, layers, width, kernel: 3 }.flops_per_sample().unwrap()
    }

    #[test]
    fn operations_are_those_counted_by_hand() {
        assert_eq!(flops(ModelKind::Linear, 1, 0, 1), 6);
        assert_eq!(flops(ModelKind::Mlp, 10, 1, 64), 6 * (10 * 64 + 64));
        assert_eq!(flops(ModelKind::Mlp, 10, 2, 64), 6 * (10 * 64 + 64 * 64 + 64));
        assert_eq!(flops(ModelKind::Cnn, 784, 1, 32), 6 * (26 * 26 * 9 * 32 + 32 * 13 * 13 * 10));
        assert_eq!(flops(ModelKind::Rnn, 50, 1, 64), 6 * 50 * (64 * (32 + 64) + 64 * 20));
        assert_eq!(flops(ModelKind::Lstm, 50, 1, 64), 6 * 50 * (4 * 64 * (32 + 64) + 64 * 20));
        assert_eq!(flops(ModelKind::Gru, 50, 2, 64), 6 * 50 * (3 * 64 * (32 + 64 + 2 * 64) + 64 * 20));
        let block = 12 * 128 * 128 + 2 * 64 * 128;
        assert_eq!(flops(ModelKind::Transformer, 64, 4, 128), 6 * 64 * (4 * block + 128 * 20));
    }

    #[test]
    fn sizes_beyond_all_measure_are_counted_as_the_most_there_is() {
        assert_eq!(flops(ModelKind::Mlp, usize::MAX, 2, usize::MAX), u64::MAX);
        assert_eq!(flops(ModelKind::Transformer, usize::MAX, 2, usize::MAX - 3), u64::MAX);
    }
}
