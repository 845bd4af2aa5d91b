//! The numbers a model starts from, made by us so that every engine starts the same.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::weight_shape::{Start, WeightShape};
use crate::{ModelSpec, TrainError};

/// Streams of one seed, so that data and weights never share a number.
const WEIGHT_STREAM: u64 = 1;

/// One weight tensor in PyTorch's layout: `[outputs, inputs]`, `[outputs, inputs, rows, columns]`, or
/// `[tokens, numbers]` of an embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightTensor {
    /// Sizes, outermost first.
    pub dims: Vec<usize>,
    /// The values, row-major.
    pub values: Vec<f32>,
}

/// Every weight of a model in forward order: each layer's weight, then its bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights(pub Vec<WeightTensor>);

impl Weights {
    /// PyTorch's default start for dense, convolution and recurrent layers and for norms: uniform in ±1/√fan-in,
    /// biases too, and 1 and 0. Embeddings are uniform as well.
    pub fn seeded(spec: &ModelSpec, seed: u64) -> Result<Self, TrainError> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(WEIGHT_STREAM);
        Self::from_values(spec, |shape| match shape.start {
            Start::Uniform { fan_in } => {
                (unit(random.next_u32()) * 2.0 - 1.0) * (1.0 / (fan_in as f32).sqrt())
            }
            Start::One => 1.0,
            Start::Zero => 0.0,
        })
    }

    /// Weights whose values come, in order, from a function of the tensor's shape.
    pub fn from_values(
        spec: &ModelSpec,
        mut value: impl FnMut(&WeightShape) -> f32,
    ) -> Result<Self, TrainError> {
        let tensors = spec.shapes()?.into_iter().map(|shape| {
            let values = (0..shape.count()).map(|_| value(&shape)).collect();
            WeightTensor { dims: shape.dims, values }
        });
        Ok(Self(tensors.collect()))
    }
}

/// A number in [0, 1) from the top 24 bits, which an `f32` holds exactly.
pub(crate) fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 / (1 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelKind;

    fn mlp() -> ModelSpec {
        ModelSpec { kind: ModelKind::Mlp, features: 16, layers: 1, width: 64, kernel: 3 }
    }

    #[test]
    fn the_same_seed_gives_the_same_weights_and_another_seed_others() {
        let first = Weights::seeded(&mlp(), 7).unwrap();
        assert_eq!(first, Weights::seeded(&mlp(), 7).unwrap());
        assert_ne!(first, Weights::seeded(&mlp(), 8).unwrap());
    }

    #[test]
    fn starting_values_fill_the_range_that_the_fan_in_allows() {
        let weights = Weights::seeded(&mlp(), 0).unwrap();
        let first = &weights.0[0];
        assert_eq!(first.dims, [64, 16]);
        let largest = first.values.iter().fold(0f32, |most, value| most.max(value.abs()));
        assert!(largest <= 0.25 && largest > 0.24, "{largest}");
        let mean = first.values.iter().sum::<f32>() / 1024.0;
        assert!(mean.abs() < 0.02, "{mean}");
    }
}
