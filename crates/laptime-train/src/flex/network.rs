//! The reference models as Burn modules.

use burn::module::Param;
use burn::nn::Linear;
use burn::prelude::{Module, Tensor, TensorData};
use burn::tensor::Device;
use burn::tensor::activation::relu;
use burn::tensor::module::{conv2d, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};

use crate::{IMAGE_SIDE, ModelKind, ModelSpec, TrainError, WeightTensor, Weights};

/// Any reference model: convolution blocks, perhaps none, and then dense layers.
#[derive(Module, Debug)]
pub(super) struct Network {
    blocks: Vec<Block>,
    dense: Vec<Linear>,
}

/// A convolution without padding, ReLU and max-pool 2.
#[derive(Module, Debug)]
struct Block {
    weight: Param<Tensor<4>>,
    bias: Param<Tensor<1>>,
}

/// Builds the network that a spec describes, from weights in PyTorch's layout.
pub(super) fn network(spec: &ModelSpec, weights: &Weights, device: &Device) -> Result<Network, TrainError> {
    let expected: Vec<_> = spec.shapes()?.into_iter().map(|shape| shape.dims).collect();
    let found: Vec<_> = weights.0.iter().map(|tensor| tensor.dims.clone()).collect();
    let complete =
        weights.0.iter().all(|tensor| tensor.values.len() == tensor.dims.iter().product::<usize>());
    if found != expected || !complete {
        return Err(TrainError::Weights { model: spec.kind, found });
    }
    let blocks = if spec.kind == ModelKind::Cnn { spec.layers } else { 0 };
    let (convolutions, dense) = weights.0.split_at(2 * blocks);
    Ok(Network {
        blocks: convolutions.chunks_exact(2).map(|pair| block(&pair[0], &pair[1], device)).collect(),
        dense: dense.chunks_exact(2).map(|pair| dense_layer(&pair[0], &pair[1], device)).collect(),
    })
}

fn block(weight: &WeightTensor, bias: &WeightTensor, device: &Device) -> Block {
    Block { weight: Param::from_data(data(weight), device), bias: Param::from_data(data(bias), device) }
}

/// Burn keeps `[inputs, outputs]` where PyTorch keeps `[outputs, inputs]`.
fn dense_layer(weight: &WeightTensor, bias: &WeightTensor, device: &Device) -> Linear {
    let (outputs, inputs) = (weight.dims[0], weight.dims[1]);
    let turned: Vec<f32> =
        (0..inputs * outputs).map(|at| weight.values[at % outputs * inputs + at / outputs]).collect();
    Linear {
        weight: Param::from_data(TensorData::new(turned, [inputs, outputs]), device),
        bias: Some(Param::from_data(data(bias), device)),
    }
}

fn data(tensor: &WeightTensor) -> TensorData {
    TensorData::new(tensor.values.clone(), tensor.dims.clone())
}

impl Network {
    pub(super) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let mut flat = self.convolve(input);
        let last = self.dense.len().saturating_sub(1);
        for (at, layer) in self.dense.iter().enumerate() {
            flat = layer.forward(flat);
            if at < last {
                flat = relu(flat);
            }
        }
        flat
    }

    fn convolve(&self, input: Tensor<2>) -> Tensor<2> {
        if self.blocks.is_empty() {
            return input;
        }
        let [rows, _] = input.dims();
        let image = input.reshape([rows, 1, IMAGE_SIDE, IMAGE_SIDE]);
        self.blocks.iter().fold(image, |image, block| block.forward(image)).flatten(1, 3)
    }
}

impl Block {
    fn forward(&self, image: Tensor<4>) -> Tensor<4> {
        let options = ConvOptions::new([1, 1], [0, 0], [1, 1], 1);
        let features = conv2d(image, self.weight.val(), Some(self.bias.val()), options);
        // ReLU keeps order, so it may follow the pooling: same values, same gradients, a quarter of the work.
        relu(max_pool2d(features, MaxPoolOptions::new([2, 2])))
    }
}
