//! Random numbers for generated data.

use std::f32::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::weights::unit;

/// Another stream of the seed than the weights use.
const DATA_STREAM: u64 = 2;

/// Random numbers whose bits never depend on the platform or on another crate's version.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut bits = ChaCha8Rng::seed_from_u64(seed);
        bits.set_stream(DATA_STREAM);
        Self(bits)
    }

    /// Uniform in ±`range`.
    pub(crate) fn within(&mut self, range: f32) -> f32 {
        (2.0 * unit(self.0.next_u32()) - 1.0) * range
    }

    /// A whole number below `count`; the bias of the multiplication is far below the noise.
    pub(crate) fn below(&mut self, count: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(count)) >> 32) as u32
    }

    /// Normal with mean 0 and spread 1, after Box and Muller.
    pub(crate) fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - unit(self.0.next_u32())).ln()).sqrt();
        radius * (TAU * unit(self.0.next_u32())).cos()
    }
}
