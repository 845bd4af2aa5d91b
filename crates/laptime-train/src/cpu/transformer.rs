//! The transformer: pre-norm blocks with causal attention, learned places, ReLU.

use std::ops::Range;

use super::attention::{Attention, AttentionGradients};
use super::buffer::Buffer;
use super::dropout::{Dropout, Mask};
use super::feed_forward::FeedForward;
use super::float::Float;
use super::isa::{Isa, vectorised};
use super::layout::Layout;
use super::network::{Network, Rows};
use super::norm::Norm;
use super::product::Start;
use super::projection::Projection;
use crate::model_kind::VOCABULARY;
use crate::{ModelSpec, Recipe};

/// Places of all rows of a shard below which it is not worth a thread.
const LEAST_PLACES: usize = 1024;

/// Embeddings of tokens and places, blocks, a norm and a dense layer.
///
/// Dropout lies after the embeddings and at the end of both halves of a block. Everything is ordered by row first,
/// then by place.
pub(super) struct Transformer<F> {
    isa: Isa,
    width: usize,
    places: usize,
    token_embedding: Range<usize>,
    place_embedding: Range<usize>,
    blocks: Vec<Block<F>>,
    norm: Norm<F>,
    dense: Projection<F>,
    dropout: Dropout,
    mask: Mask<F>,
    tokens: Vec<usize>,
    /// What the blocks add to.
    values: Buffer<F>,
    /// What the dense layer sees.
    normed: Buffer<F>,
    outputs: Buffer<F>,
    /// What a half of a block adds; on the way back the gradients of that.
    added: Buffer<F>,
    of_values: Buffer<F>,
    of_normed: Buffer<F>,
    of_attention: AttentionGradients<F>,
    of_hidden: Buffer<F>,
}

/// Attention, then a feed-forward layer; each takes a normed input and adds to what came in.
struct Block<F> {
    attention_norm: Norm<F>,
    attention: Attention<F>,
    attention_mask: Mask<F>,
    feed_norm: Norm<F>,
    feed: FeedForward<F>,
    feed_mask: Mask<F>,
    /// The inputs of attention and feed-forward layer.
    attention_input: Buffer<F>,
    feed_input: Buffer<F>,
}

impl<F: Float> Transformer<F> {
    pub(super) fn new(spec: &ModelSpec, recipe: &Recipe, isa: Isa, shard: u64, layout: &mut Layout) -> Self {
        let (token_embedding, place_embedding) = (layout.next(), layout.next());
        let blocks = (0..spec.layers).map(|_| Block::new(isa, spec.width, layout)).collect();
        let [values, normed, outputs, added, of_values, of_normed] = std::array::from_fn(|_| Buffer::new());
        Self {
            isa,
            width: spec.width,
            places: spec.features,
            token_embedding,
            place_embedding,
            blocks,
            norm: Norm::new(isa, layout),
            dense: Projection::new(isa, spec.width, VOCABULARY, layout),
            dropout: Dropout::new(recipe, shard),
            mask: Mask::new(),
            tokens: Vec::new(),
            values,
            normed,
            outputs,
            added,
            of_values,
            of_normed,
            of_attention: AttentionGradients::new(),
            of_hidden: Buffer::new(),
        }
    }

    fn embed(&mut self, parameters: &[F]) {
        let values = self.values.take(self.tokens.len() * self.width);
        let (tokens, places) =
            (&parameters[self.token_embedding.clone()], &parameters[self.place_embedding.clone()]);
        let places = places.chunks_exact(self.width).cycle();
        for ((value, token), place) in values.chunks_exact_mut(self.width).zip(&self.tokens).zip(places) {
            let token = &tokens[token * self.width..][..self.width];
            for (value, (token, place)) in value.iter_mut().zip(token.iter().zip(place)) {
                *value = (*token + *place).stored();
            }
        }
    }

    fn backward_embed(&mut self, gradients: &mut [F]) {
        let of_values = self.of_values.take(self.tokens.len() * self.width);
        self.mask.backward(of_values);
        for (at, (gradient, token)) in of_values.chunks_exact(self.width).zip(&self.tokens).enumerate() {
            let place = self.place_embedding.start + at % self.places * self.width;
            let token = self.token_embedding.start + token * self.width;
            add(self.isa, &mut gradients[place..place + self.width], gradient);
            add(self.isa, &mut gradients[token..token + self.width], gradient);
        }
    }
}

impl<F: Float> Network<F> for Transformer<F> {
    fn load(&mut self, rows: &Rows<'_>, targets: &mut Vec<f32>) {
        self.tokens.clear();
        self.tokens.extend(rows.features.iter().map(|token| *token as usize));
        for row in 0..rows.rows {
            targets.extend((0..rows.width).map(|place| rows.next_token(row, place)));
        }
    }

    fn forward(&mut self, parameters: &[F], training: bool) {
        let count = self.tokens.len() * self.width;
        self.embed(parameters);
        let (values, added) = (self.values.take(count), self.added.take(count));
        self.dropout.forward(values, &mut self.mask, training);
        for block in &mut self.blocks {
            let input = block.attention_input.take(count);
            block.attention_norm.forward(parameters, values, input);
            block.attention.forward(parameters, input, added, self.places);
            self.dropout.forward(added, &mut block.attention_mask, training);
            add(self.isa, values, added);
            let input = block.feed_input.take(count);
            block.feed_norm.forward(parameters, values, input);
            block.feed.forward(parameters, input, added);
            self.dropout.forward(added, &mut block.feed_mask, training);
            add(self.isa, values, added);
        }
        let normed = self.normed.take(count);
        self.norm.forward(parameters, values, normed);
        self.dense.forward(parameters, normed, self.outputs.take(self.tokens.len() * VOCABULARY));
    }

    fn outputs(&mut self) -> &mut [F] {
        self.outputs.take(self.tokens.len() * VOCABULARY)
    }

    fn backward(&mut self, parameters: &[F], gradients: &mut [F]) {
        let count = self.tokens.len() * self.width;
        let outputs = self.outputs.first(self.tokens.len() * VOCABULARY);
        let (of_values, of_normed) = (self.of_values.take(count), self.of_normed.take(count));
        let of_added = self.added.take(count);
        self.dense.backward_weights(self.normed.first(count), outputs, gradients);
        self.dense.backward_inputs(parameters, outputs, of_normed, Start::Zero);
        of_values.fill(F::ZERO);
        self.norm.backward(parameters, of_normed, of_values, gradients);
        for block in self.blocks.iter_mut().rev() {
            of_added.copy_from_slice(of_values);
            block.feed_mask.backward(of_added);
            let input = block.feed_input.first(count);
            block.feed.backward(parameters, input, (of_added, of_normed), gradients, &mut self.of_hidden);
            block.feed_norm.backward(parameters, of_normed, of_values, gradients);
            of_added.copy_from_slice(of_values);
            block.attention_mask.backward(of_added);
            let input = block.attention_input.first(count);
            block.attention.backward(
                parameters,
                input,
                (of_added, of_normed),
                gradients,
                &mut self.of_attention,
            );
            block.attention_norm.backward(parameters, of_normed, of_values, gradients);
        }
        self.backward_embed(gradients);
    }

    fn least_rows(&self) -> usize {
        LEAST_PLACES.div_ceil(self.places.max(1))
    }
}

impl<F: Float> Block<F> {
    fn new(isa: Isa, width: usize, layout: &mut Layout) -> Self {
        Self {
            attention_norm: Norm::new(isa, layout),
            attention: Attention::new(isa, width, layout),
            attention_mask: Mask::new(),
            feed_norm: Norm::new(isa, layout),
            feed: FeedForward::new(isa, width, layout),
            feed_mask: Mask::new(),
            attention_input: Buffer::new(),
            feed_input: Buffer::new(),
        }
    }
}

vectorised! {
    fn add<F, I>(sums: &mut [F], values: &[F]) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = (*sum + *value).stored();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::finite_differences::{assert_network, assert_rows_alone, numbers};
    use crate::{ModelKind, OptimizerKind};

    fn check(layers: usize, width: usize, places: usize, dropout: f64) {
        let kind = ModelKind::Transformer;
        let spec = ModelSpec { kind, features: places, layers, width, kernel: 3 };
        let recipe = Recipe { dropout, ..Recipe::new(kind, OptimizerKind::Adam) };
        for isa in Isa::available() {
            assert_network(&spec, |layout| Transformer::new(&spec, &recipe, isa, 0, layout));
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        check(2, 8, 5, 0.0);
        check(1, 8, 5, 0.4);
    }

    #[test]
    fn gradients_are_right_for_more_places_than_are_computed_together_and_for_one() {
        check(1, 4, 37, 0.0);
        check(1, 4, 1, 0.0);
    }
    #[test]
    fn a_row_gives_the_same_alone_as_with_others() {
        let kind = ModelKind::Transformer;
        let spec = ModelSpec { kind, features: 40, layers: 2, width: 20, kernel: 3 };
        let recipe = Recipe::new(kind, OptimizerKind::Adam);
        let build = |layout: &mut Layout| Transformer::new(&spec, &recipe, Isa::best(), 0, layout);
        assert_rows_alone(&spec, build, |at, _| at / 40);
    }

    #[test]
    fn a_place_knows_nothing_of_those_after_it() {
        let kind = ModelKind::Transformer;
        let spec = ModelSpec { kind, features: 40, layers: 1, width: 8, kernel: 3 };
        let recipe = Recipe::new(kind, OptimizerKind::Adam);
        let mut layout = Layout::new(spec.shapes().unwrap());
        let mut network = Transformer::<f64>::new(&spec, &recipe, Isa::best(), 0, &mut layout);
        let parameters = numbers(layout.count(), 4);
        let mut outputs = |last: f32| {
            let mut tokens = vec![3.0; 40];
            tokens[39] = last;
            let rows = Rows { rows: 1, width: 40, features: &tokens, targets: &[0.0] };
            network.load(&rows, &mut Vec::new());
            network.forward(&parameters, true);
            network.outputs().to_vec()
        };
        let (one, other) = (outputs(1.0), outputs(2.0));
        let before = 39 * VOCABULARY;
        assert_eq!(one[..before], other[..before]);
        assert_ne!(one[before..], other[before..]);
    }
}
