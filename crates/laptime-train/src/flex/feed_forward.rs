//! The linear model, the mlp and the cnn as a Burn module.

use burn::module::Param;
use burn::prelude::{Module, Tensor};
use burn::tensor::activation::relu;
use burn::tensor::module::{conv2d, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};

use super::dense::Dense;
use super::dropout::Dropout;
use super::network::Source;
use crate::{IMAGE_SIDE, ModelKind, ModelSpec};

/// Convolution blocks, perhaps none, and then dense layers with ReLU between them.
///
/// Dropout follows every ReLU of a dense layer, and the last convolution block.
#[derive(Module, Debug)]
pub(super) struct FeedForward {
    blocks: Vec<Block>,
    dense: Vec<Dense>,
}

/// A convolution without padding, ReLU and max-pool 2.
#[derive(Module, Debug)]
struct Block {
    weight: Param<Tensor<4>>,
    bias: Param<Tensor<1>>,
}

impl FeedForward {
    pub(super) fn new(spec: &ModelSpec, source: &mut Source<'_>) -> Self {
        let (blocks, dense) = match spec.kind {
            ModelKind::Cnn => (spec.layers, 1),
            ModelKind::Mlp => (0, spec.layers + 1),
            _ => (0, 1),
        };
        Self {
            blocks: (0..blocks).map(|_| Block { weight: source.next(), bias: source.next() }).collect(),
            dense: (0..dense).map(|_| Dense::new(source)).collect(),
        }
    }

    pub(super) fn forward(&self, input: Tensor<2>, dropout: &mut Dropout) -> Tensor<2> {
        let mut flat = self.convolve(input, dropout);
        let last = self.dense.len().saturating_sub(1);
        for (at, layer) in self.dense.iter().enumerate() {
            flat = layer.forward(flat);
            if at < last {
                flat = dropout.forward(relu(flat));
            }
        }
        flat
    }

    fn convolve(&self, input: Tensor<2>, dropout: &mut Dropout) -> Tensor<2> {
        if self.blocks.is_empty() {
            return input;
        }
        let [rows, _] = input.dims();
        let image = input.reshape([rows, 1, IMAGE_SIDE, IMAGE_SIDE]);
        let features = self.blocks.iter().fold(image, |image, block| block.forward(image));
        dropout.forward(features.flatten(1, 3))
    }
}

impl Block {
    fn forward(&self, image: Tensor<4>) -> Tensor<4> {
        let options = ConvOptions::new([1, 1], [0, 0], [1, 1], 1);
        let dtype = image.dtype();
        let (weight, bias) = (self.weight.val().cast(dtype), self.bias.val().cast(dtype));
        let features = conv2d(image, weight, Some(bias), options);
        // ReLU keeps order, so it may follow the pooling: same values, same gradients, a quarter of the work.
        relu(max_pool2d(features, MaxPoolOptions::new([2, 2])))
    }
}
