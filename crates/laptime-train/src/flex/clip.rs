//! Clipping of gradients by the norm of all of them together, as PyTorch's `clip_grad_norm_` does.

use burn::module::{ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::prelude::{Module, Tensor};

use super::network::Network;

/// Keeps a norm of nothing from dividing by zero; PyTorch's value.
const EPSILON: f64 = 1e-6;

/// Scales all gradients by one factor where their common norm is above `most`.
pub(super) fn clip(gradients: GradientsParams, network: &Network, most: f64) -> GradientsParams {
    let mut squares = Squares { gradients: &gradients, sum: 0.0 };
    network.visit(&mut squares);
    let factor = most / (squares.sum.sqrt() + EPSILON);
    if factor >= 1.0 {
        return gradients;
    }
    let mut scaled = Scaled { gradients, factor };
    network.visit(&mut scaled);
    scaled.gradients
}

/// Adds up the squares of all gradients.
struct Squares<'a> {
    gradients: &'a GradientsParams,
    sum: f64,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(parameter.id) {
            // A norm that cannot be read is no number, and then the loss will not be one either.
            self.sum += gradient.square().sum().try_into_scalar::<f64>().unwrap_or(f64::NAN);
        }
    }
}

struct Scaled {
    gradients: GradientsParams,
    factor: f64,
}

impl ModuleVisitor for Scaled {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(parameter.id) {
            self.gradients.register(parameter.id, gradient.mul_scalar(self.factor));
        }
    }
}
