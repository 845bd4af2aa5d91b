//! Dropout with random numbers of our own, so that equal plans train the same everywhere.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::buffer::Buffer;
use super::float::Float;
use crate::Recipe;

/// Another stream of the seed than data and weights use; every shard has one of its own.
const DROPOUT_STREAM: u64 = 3;

/// Streams from one shard's to the next, so that none meets those of data and weights.
const STREAMS_APART: u64 = 16;

/// Sets a share of values to zero and scales the others up, so that their sum is expected to stay.
pub(super) struct Dropout {
    /// Random bits below this drop a value.
    threshold: u32,
    scale: f64,
    random: ChaCha8Rng,
}

/// What one dropout did to each value: the factor it was multiplied by.
pub(super) struct Mask<F> {
    factors: Buffer<F>,
    /// Values of the last pass; 0 when nothing was dropped in it.
    count: usize,
}

impl Dropout {
    pub(super) fn new(recipe: &Recipe, shard: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(recipe.seed);
        random.set_stream(DROPOUT_STREAM + shard * STREAMS_APART);
        let share = recipe.dropout;
        let threshold = (share * (u64::from(u32::MAX) + 1) as f64) as u32;
        Self { threshold, scale: 1.0 / (1.0 - share), random }
    }

    /// Drops some of the values while training, and keeps in the mask which.
    pub(super) fn forward<F: Float>(&mut self, values: &mut [F], mask: &mut Mask<F>, training: bool) {
        mask.count = 0;
        if self.threshold == 0 || !training {
            return;
        }
        mask.count = values.len();
        let kept = F::from_f64(self.scale);
        for (factor, value) in mask.factors.take(values.len()).iter_mut().zip(values) {
            *factor = if self.random.next_u32() < self.threshold { F::ZERO } else { kept };
            *value = (*value * *factor).stored();
        }
    }
}

impl<F: Float> Mask<F> {
    pub(super) fn new() -> Self {
        Self { factors: Buffer::new(), count: 0 }
    }

    /// Does to the gradients what the last forward pass did to the values.
    pub(super) fn backward(&self, gradients: &mut [F]) {
        for (gradient, factor) in gradients.iter_mut().zip(self.factors.first(self.count)) {
            *gradient = (*gradient * *factor).stored();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelKind, OptimizerKind};

    fn dropped(share: f64, shard: u64, training: bool) -> Vec<f32> {
        let recipe = Recipe { dropout: share, ..Recipe::new(ModelKind::Mlp, OptimizerKind::Adam) };
        let (mut values, mut mask) = (vec![1.0; 100_000], Mask::new());
        Dropout::new(&recipe, shard).forward(&mut values, &mut mask, training);
        let mut gradients = vec![1.0; 100_000];
        mask.backward(&mut gradients);
        assert_eq!(gradients, values);
        values
    }

    #[test]
    fn a_share_of_the_values_is_dropped_and_the_mean_is_kept() {
        let kept = dropped(0.2, 0, true);
        let zeros = kept.iter().filter(|value| **value == 0.0).count();
        assert!((19_500..20_500).contains(&zeros), "{zeros}");
        assert!(kept.iter().all(|value| *value == 0.0 || *value == 1.25));
        let mean = kept.iter().sum::<f32>() / 100_000.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert_ne!(kept, dropped(0.2, 1, true), "shards differ");
    }

    #[test]
    fn nothing_is_dropped_in_an_evaluation_or_without_a_share() {
        assert_eq!(dropped(0.0, 0, true), [1.0; 100_000]);
        assert_eq!(dropped(0.5, 0, false), [1.0; 100_000]);
    }
}
