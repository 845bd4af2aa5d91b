//! Dropout with random numbers of our own, so that equal plans train the same on every engine.

use burn::prelude::{Tensor, TensorData};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Another stream of the seed than data and weights use.
const DROPOUT_STREAM: u64 = 3;

/// Sets a share of values to zero and scales the others up, so that their sum is expected to stay.
pub(super) struct Dropout {
    /// Random bits below this drop a value.
    threshold: u32,
    scale: f32,
    random: ChaCha8Rng,
}

impl Dropout {
    pub(super) fn new(share: f64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(DROPOUT_STREAM);
        let threshold = (share * (u64::from(u32::MAX) + 1) as f64) as u32;
        Self { threshold, scale: (1.0 / (1.0 - share)) as f32, random }
    }

    /// Leaves all values as they are, as an evaluation does.
    pub(super) fn off() -> Self {
        Self::new(0.0, 0)
    }

    pub(super) fn forward<const D: usize>(&mut self, values: Tensor<D>) -> Tensor<D> {
        if self.threshold == 0 {
            return values;
        }
        let dims = values.dims();
        let kept = (0..dims.iter().product())
            .map(|_| if self.random.next_u32() < self.threshold { 0.0 } else { self.scale })
            .collect::<Vec<f32>>();
        // The mask needs no gradient, so it stays out of the graph.
        let (device, dtype) = (values.device().without_autodiff(), values.dtype());
        let mask = Tensor::from_data(TensorData::new(kept, dims), (&device, dtype));
        values * mask
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn a_share_of_the_values_is_dropped_and_the_mean_is_kept() {
        let ones = Tensor::<1>::ones([100_000], &Device::flex());
        let kept = Dropout::new(0.2, 7).forward(ones).into_data().try_to_vec::<f32>().unwrap();
        let dropped = kept.iter().filter(|value| **value == 0.0).count();
        assert!((19_500..20_500).contains(&dropped), "{dropped}");
        assert!(kept.iter().all(|value| *value == 0.0 || *value == 1.25));
        let mean = kept.iter().sum::<f32>() / 100_000.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn nothing_is_dropped_when_it_is_off() {
        let ones = Tensor::<1>::ones([100], &Device::flex());
        let kept = Dropout::off().forward(ones).into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(kept, [1.0; 100]);
    }
}
