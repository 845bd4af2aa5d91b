//! The shapes of every model's weights, in the order in which PyTorch lists the parameters of the same model.

use crate::model_kind::{CLASSES, EMBEDDING, FEED_FORWARD, HEADS, IMAGE_SIDE, VOCABULARY};
use crate::weight_shape::{Start, WeightShape};
use crate::{ModelKind, ModelSpec, TrainError};

impl ModelSpec {
    /// The shapes of the weights in forward order, as the same PyTorch model lists its parameters.
    ///
    /// Fails when the convolution blocks use up the image, or the heads cannot share the width.
    pub fn shapes(&self) -> Result<Vec<WeightShape>, TrainError> {
        shapes(self)
    }

    /// Numbers the model learns.
    pub fn parameters(&self) -> Result<u64, TrainError> {
        let numbers = |shape: &WeightShape| {
            shape.dims.iter().fold(1u64, |product, size| product.saturating_mul(*size as u64))
        };
        Ok(self.shapes()?.iter().map(numbers).fold(0, u64::saturating_add))
    }

    /// Sides of the image after each convolution block of the cnn.
    pub(crate) fn image_sides(&self) -> Result<Vec<usize>, TrainError> {
        image_sides(self.layers, self.kernel)
    }
}

/// The shapes of a model's weights in forward order.
fn shapes(spec: &ModelSpec) -> Result<Vec<WeightShape>, TrainError> {
    match spec.kind {
        ModelKind::Linear => Ok(dense(&[spec.features, 1])),
        ModelKind::Mlp => {
            let mut sizes = vec![spec.features];
            sizes.extend(std::iter::repeat_n(spec.width, spec.layers));
            sizes.push(1);
            Ok(dense(&sizes))
        }
        ModelKind::Cnn => convolutions(spec),
        ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => Ok(recurrent(spec)),
        ModelKind::Transformer => transformer(spec),
    }
}

/// Sides of the image after each convolution block.
fn image_sides(blocks: usize, kernel: usize) -> Result<Vec<usize>, TrainError> {
    let mut side = IMAGE_SIDE;
    let mut after = |block| {
        side = (side + 1).saturating_sub(kernel) / 2;
        if side == 0 { Err(TrainError::ImageUsedUp { block, kernel }) } else { Ok(side) }
    };
    (1..=blocks).map(&mut after).collect()
}

/// Each layer's weight, then its bias.
fn dense(sizes: &[usize]) -> Vec<WeightShape> {
    let layers = sizes.windows(2).map(|pair| (pair[0], pair[1]));
    layers
        .flat_map(|(inputs, outputs)| {
            let start = Start::Uniform { fan_in: inputs };
            [shape(&[outputs, inputs], start), shape(&[outputs], start)]
        })
        .collect()
}

fn convolutions(spec: &ModelSpec) -> Result<Vec<WeightShape>, TrainError> {
    let sides = spec.image_sides()?;
    let (width, kernel) = (spec.width, spec.kernel);
    let mut shapes = Vec::new();
    let mut channels = 1;
    for _ in 0..spec.layers {
        let start = Start::Uniform { fan_in: channels * kernel * kernel };
        shapes.extend([shape(&[width, channels, kernel, kernel], start), shape(&[width], start)]);
        channels = width;
    }
    let last = sides.last().copied().unwrap_or(IMAGE_SIDE);
    shapes.extend(dense(&[channels * last * last, CLASSES]));
    Ok(shapes)
}

/// The embedding; each layer's weights for its input and its state, then both biases; the dense layer.
fn recurrent(spec: &ModelSpec) -> Vec<WeightShape> {
    let (width, gates) = (spec.width, spec.kind.gates().saturating_mul(spec.width));
    // PyTorch starts all weights of a recurrent layer by the size of its state.
    let start = Start::Uniform { fan_in: width };
    let mut shapes = vec![shape(&[VOCABULARY, EMBEDDING], Start::Uniform { fan_in: 1 })];
    for layer in 0..spec.layers {
        let inputs = if layer == 0 { EMBEDDING } else { width };
        shapes.extend([&[gates, inputs][..], &[gates, width], &[gates], &[gates]].map(|d| shape(d, start)));
    }
    shapes.extend(dense(&[width, VOCABULARY]));
    shapes
}

/// Tokens and places; for each block norm, query, key, value, output, norm, feed-forward; norm; dense layer.
fn transformer(spec: &ModelSpec) -> Result<Vec<WeightShape>, TrainError> {
    let width = spec.width;
    if !width.is_multiple_of(HEADS) {
        return Err(TrainError::Heads { width });
    }
    let inner = FEED_FORWARD.saturating_mul(width);
    let norm = || [shape(&[width], Start::One), shape(&[width], Start::Zero)];
    let mut shapes = vec![
        shape(&[VOCABULARY, width], Start::Uniform { fan_in: 1 }),
        shape(&[spec.features, width], Start::Uniform { fan_in: width }),
    ];
    for _ in 0..spec.layers {
        shapes.extend(norm());
        (0..4).for_each(|_| shapes.extend(dense(&[width, width])));
        shapes.extend(norm());
        shapes.extend(dense(&[width, inner, width]));
    }
    shapes.extend(norm());
    shapes.extend(dense(&[width, VOCABULARY]));
    Ok(shapes)
}

fn shape(dims: &[usize], start: Start) -> WeightShape {
    WeightShape { dims: dims.to_vec(), start }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: ModelKind, layers: usize) -> ModelSpec {
        ModelSpec { kind, features: 10, layers, width: 64, kernel: 3 }
    }

    fn parameters(spec: &ModelSpec) -> usize {
        spec.shapes().unwrap().iter().map(WeightShape::count).sum()
    }

    #[test]
    fn parameter_counts_are_those_of_the_same_pytorch_models() {
        assert_eq!(parameters(&ModelSpec { features: 1, ..spec(ModelKind::Linear, 0) }), 2);
        assert_eq!(parameters(&spec(ModelKind::Mlp, 1)), 10 * 64 + 64 + 64 + 1);
        assert_eq!(parameters(&spec(ModelKind::Mlp, 2)), 10 * 64 + 64 + 64 * 64 + 64 + 64 + 1);
        let cnn = ModelSpec { width: 32, ..spec(ModelKind::Cnn, 1) };
        assert_eq!(parameters(&cnn), 32 * 9 + 32 + 32 * 13 * 13 * 10 + 10);
        // Counted by PyTorch: embedding, nn.RNN, nn.LSTM or nn.GRU, linear.
        assert_eq!(parameters(&spec(ModelKind::Rnn, 1)), 8_212);
        assert_eq!(parameters(&spec(ModelKind::Lstm, 1)), 27_028);
        assert_eq!(parameters(&spec(ModelKind::Gru, 1)), 20_756);
        assert_eq!(parameters(&spec(ModelKind::Rnn, 2)), 8_212 + 64 * 128 + 128);
        // Counted by PyTorch: two embeddings, four nn.TransformerEncoderLayer, norm, linear.
        let transformer = ModelSpec { features: 64, width: 128, ..spec(ModelKind::Transformer, 4) };
        assert_eq!(parameters(&transformer), 806_676);
    }

    #[test]
    fn too_many_convolution_blocks_are_an_error_not_a_panic() {
        assert!(spec(ModelKind::Cnn, 3).shapes().is_ok());
        assert!(matches!(
            spec(ModelKind::Cnn, 4).shapes(),
            Err(TrainError::ImageUsedUp { block: 4, kernel: 3 })
        ));
        let wide = ModelSpec { kernel: 29, ..spec(ModelKind::Cnn, 1) };
        assert!(wide.shapes().is_err());
    }

    #[test]
    fn a_width_that_the_heads_cannot_share_is_an_error() {
        let odd = ModelSpec { width: 130, ..spec(ModelKind::Transformer, 1) };
        assert!(matches!(odd.shapes(), Err(TrainError::Heads { width: 130 })));
    }
}
