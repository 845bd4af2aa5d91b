//! The rnn, lstm and gru: what they have in common around their cells.

use std::ops::Range;

use super::buffer::Buffer;
use super::dropout::{Dropout, Mask};
use super::float::Float;
use super::gru::Gru;
use super::isa::Isa;
use super::layout::Layout;
use super::lstm::Lstm;
use super::network::{Network, Rows};
use super::product::Start;
use super::projection::Projection;
use super::recurrence::{Cell, Recurrence};
use super::rnn::Rnn;
use crate::model_kind::{EMBEDDING, VOCABULARY};
use crate::{ModelKind, ModelSpec, Recipe};

/// Fewer rows leave a good part of the tiles of a product empty.
const LEAST_ROWS: usize = 16;

/// Embedding, recurrent layers, and a dense layer on the last one's state at every place.
///
/// Dropout lies before the dense layer. Everything is ordered by place first, then by row.
pub(super) struct Recurrent<F> {
    embedding: Range<usize>,
    layers: Vec<Recurrence<F>>,
    dense: Projection<F>,
    dropout: Dropout,
    mask: Mask<F>,
    width: usize,
    /// Tokens of all rows at the first place, then at the second, and so on.
    tokens: Vec<usize>,
    rows: usize,
    places: usize,
    /// What the first layer makes of each token; on the way back its gradients.
    projected: Buffer<F>,
    /// The states that the dense layer sees, after dropout.
    seen: Buffer<F>,
    /// Gradients of the states of two layers: of one that goes backward and of the one below it.
    gradients: [Buffer<F>; 2],
    outputs: Buffer<F>,
}

impl<F: Float> Recurrent<F> {
    pub(super) fn new(spec: &ModelSpec, recipe: &Recipe, isa: Isa, shard: u64, layout: &mut Layout) -> Self {
        let width = spec.width;
        let embedding = layout.next();
        let mut layer = |at: usize| {
            let inputs = if at == 0 { EMBEDDING } else { width };
            Recurrence::new(isa, cell(spec.kind), inputs, width, layout)
        };
        Self {
            embedding,
            layers: (0..spec.layers).map(&mut layer).collect(),
            dense: Projection::new(isa, width, VOCABULARY, layout),
            dropout: Dropout::new(recipe, shard),
            mask: Mask::new(),
            width,
            tokens: Vec::new(),
            rows: 0,
            places: 0,
            projected: Buffer::new(),
            seen: Buffer::new(),
            gradients: [Buffer::new(), Buffer::new()],
            outputs: Buffer::new(),
        }
    }

    /// Numbers in all states of a layer.
    fn states(&self) -> usize {
        self.tokens.len() * self.width
    }

    /// There are few tokens, so what the first layer makes of each is computed once and looked up at every place.
    fn look_up(&mut self, parameters: &[F]) {
        let Some(first) = self.layers.first_mut() else { return };
        let width = first.gates_width();
        let projected = self.projected.take(VOCABULARY * width);
        first.project(parameters, &parameters[self.embedding.clone()], projected);
        for (gates, token) in first.gates().chunks_exact_mut(width).zip(&self.tokens) {
            gates.copy_from_slice(&projected[token * width..][..width]);
        }
    }

    /// Sums the gradients of all places by token, and goes backward from there.
    fn backward_look_up(&mut self, parameters: &[F], gradients: &mut [F]) {
        let Some(first) = self.layers.first_mut() else { return };
        let width = first.gates_width();
        let projected = self.projected.take(VOCABULARY * width);
        projected.fill(F::ZERO);
        for (gates, token) in first.gates().chunks_exact(width).zip(&self.tokens) {
            for (sum, gate) in projected[token * width..][..width].iter_mut().zip(gates) {
                *sum += *gate;
            }
        }
        first.backward_project(&parameters[self.embedding.clone()], projected, gradients);
        let embedding = &mut gradients[self.embedding.clone()];
        first.backward_inputs(parameters, projected, embedding, Start::Sum);
    }
}

fn cell<F: Float>(kind: ModelKind) -> Box<dyn Cell<F>> {
    match kind {
        ModelKind::Lstm => Box::new(Lstm::new()),
        ModelKind::Gru => Box::new(Gru),
        _ => Box::new(Rnn),
    }
}

impl<F: Float> Network<F> for Recurrent<F> {
    fn load(&mut self, rows: &Rows<'_>, targets: &mut Vec<f32>) {
        (self.rows, self.places) = (rows.rows, rows.width);
        self.tokens.clear();
        for place in 0..rows.width {
            for row in 0..rows.rows {
                self.tokens.push(rows.features[row * rows.width + place] as usize);
                targets.push(rows.next_token(row, place));
            }
        }
    }

    fn forward(&mut self, parameters: &[F], training: bool) {
        self.layers.iter_mut().for_each(|layer| layer.begin(self.rows, self.places));
        self.look_up(parameters);
        for at in 0..self.layers.len() {
            let (below, above) = self.layers.split_at_mut(at);
            if let Some(below) = below.last() {
                above[0].project_all(parameters, below.states());
            }
            above[0].forward(parameters);
        }
        let Some(last) = self.layers.last() else { return };
        let seen = self.seen.take(self.tokens.len() * self.width);
        seen.copy_from_slice(last.states());
        self.dropout.forward(seen, &mut self.mask, training);
        self.dense.forward(parameters, seen, self.outputs.take(self.tokens.len() * VOCABULARY));
    }

    fn outputs(&mut self) -> &mut [F] {
        self.outputs.take(self.tokens.len() * VOCABULARY)
    }

    fn backward(&mut self, parameters: &[F], gradients: &mut [F]) {
        let states = self.states();
        let outputs = self.outputs.first(self.tokens.len() * VOCABULARY);
        let [mut own, mut below] = self.gradients.each_mut().map(|buffer| buffer.take(states));
        self.dense.backward_weights(self.seen.first(states), outputs, gradients);
        self.dense.backward_inputs(parameters, outputs, own, Start::Zero);
        self.mask.backward(own);
        for at in (0..self.layers.len()).rev() {
            let (lower, upper) = self.layers.split_at_mut(at);
            upper[0].backward(parameters, own, gradients);
            if let Some(lower) = lower.last() {
                upper[0].backward_all(parameters, lower.states(), below, gradients);
                std::mem::swap(&mut own, &mut below);
            }
        }
        self.backward_look_up(parameters, gradients);
    }

    fn least_rows(&self) -> usize {
        LEAST_ROWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OptimizerKind;
    use crate::cpu::finite_differences::{assert_network, assert_rows_alone};

    fn check(kind: ModelKind, layers: usize, width: usize) {
        let spec = ModelSpec { kind, features: 4, layers, width, kernel: 3 };
        for dropout in [0.0, 0.4] {
            let recipe = Recipe { dropout, ..Recipe::new(kind, OptimizerKind::Adam) };
            for isa in Isa::available() {
                assert_network(&spec, |layout| Recurrent::new(&spec, &recipe, isa, 0, layout));
            }
        }
    }

    #[test]
    fn gradients_of_the_rnn_are_those_of_finite_differences() {
        check(ModelKind::Rnn, 2, 5);
        check(ModelKind::Rnn, 1, 1);
    }

    #[test]
    fn gradients_of_the_lstm_are_those_of_finite_differences() {
        check(ModelKind::Lstm, 2, 5);
        check(ModelKind::Lstm, 1, 1);
    }

    #[test]
    fn gradients_of_the_gru_are_those_of_finite_differences() {
        check(ModelKind::Gru, 2, 5);
        check(ModelKind::Gru, 1, 1);
    }
    #[test]
    fn a_row_gives_the_same_alone_as_with_others() {
        for kind in [ModelKind::Rnn, ModelKind::Lstm, ModelKind::Gru] {
            let spec = ModelSpec { kind, features: 7, layers: 2, width: 20, kernel: 3 };
            let recipe = Recipe::new(kind, OptimizerKind::Adam);
            assert_rows_alone(
                &spec,
                |layout| Recurrent::new(&spec, &recipe, Isa::best(), 0, layout),
                |at, rows| at % rows,
            );
        }
    }
}
