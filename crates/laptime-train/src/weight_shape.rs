//! The shape of a weight tensor, and what its values are before training.

/// The shape of one weight tensor and what it starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightShape {
    /// Sizes, outermost first.
    pub dims: Vec<usize>,
    /// Its starting values.
    pub start: Start,
}

/// What the values of a weight tensor are before training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Uniform in ±1/√fan-in, where each output sums over so many inputs.
    Uniform {
        /// Inputs of one output.
        fan_in: usize,
    },
    /// All 1, as the scale of a norm.
    One,
    /// All 0, as the offset of a norm.
    Zero,
}

impl WeightShape {
    /// How many numbers the tensor holds.
    #[must_use]
    pub fn count(&self) -> usize {
        self.dims.iter().product()
    }
}
