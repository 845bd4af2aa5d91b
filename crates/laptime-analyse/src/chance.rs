//! Chance for simulations.

/// A small deterministic generator (xorshift64*), so that every trial is the same everywhere.
pub(crate) struct Chance(u64);

impl Chance {
    /// The generator of a trial.
    pub(crate) fn new(trial: u64) -> Self {
        Self(trial.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Anything from 0 up to 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Around 0, with a standard deviation of 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}
