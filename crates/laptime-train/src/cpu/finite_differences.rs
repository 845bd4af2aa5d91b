//! Gradients held against differences, for the tests of the layers.

use std::ops::Range;

use super::layout::Layout;
use super::network::{Network, Rows};
use crate::{ModelSpec, VOCABULARY};

/// How far the values are moved: little, so that no ReLU turns on the way, yet far above rounding.
const STEP: f64 = 1e-6;

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

/// The gradients of all parameters of a network are slopes; it is built anew each time, so that dropout repeats.
pub(super) fn assert_network<N: Network<f64>>(spec: &ModelSpec, build: impl Fn(&mut Layout) -> N) {
    const ROWS: usize = 3;
    let chance = numbers(ROWS * (spec.features + 1), 3);
    let tokens: Vec<f32> =
        chance.iter().map(|number| ((number + 1.0) * VOCABULARY as f64 / 2.0).floor() as f32).collect();
    let (features, next) = tokens.split_at(ROWS * spec.features);
    let rows = Rows { rows: ROWS, width: spec.features, features, targets: next };
    let mut layout = Layout::new(spec.shapes().unwrap());
    let mut network = build(&mut layout);
    let mut targets = Vec::new();
    network.load(&rows, &mut targets);
    assert_eq!(targets.len(), ROWS * spec.features, "an answer for each place");

    let parameters = numbers(layout.count(), 4);
    network.forward(&parameters, true);
    let pull = numbers(network.outputs().len(), 5);
    network.outputs().copy_from_slice(&pull);
    let mut gradients = vec![0.0; parameters.len()];
    network.backward(&parameters, &mut gradients);
    assert_gradients(&parameters, &gradients, |parameters| {
        let mut network = build(&mut Layout::new(spec.shapes().unwrap()));
        network.load(&rows, &mut Vec::new());
        network.forward(parameters, true);
        network.outputs().iter().zip(&pull).map(|(output, pull)| output * pull).sum()
    });
}

/// What a network makes of one row, after a larger batch, is what it made of it there; `row_of` says which row an
/// answer belongs to.
pub(super) fn assert_rows_alone<N: Network<f64>>(
    spec: &ModelSpec,
    build: impl Fn(&mut Layout) -> N,
    row_of: impl Fn(usize, usize) -> usize,
) {
    const ROWS: usize = 5;
    let mut layout = Layout::new(spec.shapes().unwrap());
    let mut network = build(&mut layout);
    let parameters = numbers(layout.count(), 6);
    let tokens: Vec<f32> = (0..ROWS * spec.features).map(|at| (at * 7 % 19) as f32).collect();
    let mut outputs = |range: Range<usize>| {
        let features = &tokens[range.start * spec.features..range.end * spec.features];
        let rows = Rows { rows: range.len(), width: spec.features, features, targets: &[0.0; ROWS][range] };
        network.load(&rows, &mut Vec::new());
        network.forward(&parameters, true);
        network.outputs().to_vec()
    };
    let together = outputs(0..ROWS);
    for row in 0..ROWS {
        let alone = outputs(row..row + 1);
        let answers = together.chunks_exact(VOCABULARY).enumerate();
        let own = answers.filter(|(at, _)| row_of(*at, ROWS) == row).flat_map(|(_, answer)| answer);
        for (alone, own) in alone.iter().zip(own) {
            assert!((alone - own).abs() < 1e-12 * own.abs().max(1.0), "row {row}: {alone} and {own}");
        }
    }
}
