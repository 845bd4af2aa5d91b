//! Gradients held against differences, for the tests of the layers.

/// How far the values are moved; errors of the differences are about its square.
const STEP: f64 = 1e-5;

/// How far a gradient may be from the difference, relative to the largest of all.
const TOLERANCE: f64 = 1e-6;

/// Numbers between -1 and 1 without a pattern.
pub(super) fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x2545_f491_4f6c_dd1d);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Each gradient is the slope of the function in the direction of its value.
pub(super) fn assert_gradients(values: &[f64], gradients: &[f64], mut function: impl FnMut(&[f64]) -> f64) {
    let mut moved = values.to_vec();
    let largest = gradients.iter().fold(1.0, |most: f64, gradient| most.max(gradient.abs()));
    for at in 0..values.len() {
        moved[at] = values[at] + STEP;
        let above = function(&moved);
        moved[at] = values[at] - STEP;
        let below = function(&moved);
        moved[at] = values[at];
        let slope = (above - below) / (2.0 * STEP);
        let apart = (slope - gradients[at]).abs() / largest;
        assert!(apart < TOLERANCE, "value {at}: the slope is {slope}, the gradient {}", gradients[at]);
    }
}
