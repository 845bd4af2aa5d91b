//! A dense layer, and a norm.

use burn::module::Param;
use burn::prelude::{Module, Tensor};
use burn::tensor::module::{layer_norm, linear};

use super::network::Source;

/// As PyTorch's.
const NORM_EPSILON: f64 = 1e-5;

/// Inputs times weights, plus a bias; the weights become of the input's type.
#[derive(Module, Debug)]
pub(super) struct Dense {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

impl Dense {
    pub(super) fn new(source: &mut Source<'_>) -> Self {
        Self { weight: source.next_turned(), bias: source.next() }
    }

    pub(super) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let dtype = input.dtype();
        linear(input, self.weight.val().cast(dtype), Some(self.bias.val().cast(dtype)))
    }
}

/// Brings each row to mean 0 and spread 1, then scales and moves it.
#[derive(Module, Debug)]
pub(super) struct Norm {
    scale: Param<Tensor<1>>,
    offset: Param<Tensor<1>>,
}

impl Norm {
    pub(super) fn new(source: &mut Source<'_>) -> Self {
        Self { scale: source.next(), offset: source.next() }
    }

    pub(super) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let dtype = input.dtype();
        layer_norm(input, self.scale.val().cast(dtype), Some(self.offset.val().cast(dtype)), NORM_EPSILON)
    }
}
