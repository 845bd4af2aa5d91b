//! The transformer as a Burn module: pre-norm blocks with causal attention, learned places, ReLU.

use burn::module::Param;
use burn::prelude::{Int, Module, Tensor, TensorData};
use burn::tensor::activation::{relu, softmax};
use burn::tensor::{DType, Device};

use super::dense::{Dense, Norm};
use super::dropout::Dropout;
use super::network::Source;
use crate::ModelSpec;
use crate::model_kind::HEADS;

/// Embeddings of tokens and places, blocks, a norm and a dense layer.
///
/// Dropout lies after the embeddings and at the end of both halves of a block.
#[derive(Module, Debug)]
pub(super) struct Transformer {
    tokens: Param<Tensor<2>>,
    places: Param<Tensor<2>>,
    blocks: Vec<Block>,
    norm: Norm,
    dense: Dense,
}

/// Attention, then a feed-forward layer; each takes a normed input and adds to what came in.
#[derive(Module, Debug)]
struct Block {
    attention_norm: Norm,
    query: Dense,
    key: Dense,
    value: Dense,
    output: Dense,
    feed_norm: Norm,
    widen: Dense,
    narrow: Dense,
}

impl Transformer {
    pub(super) fn new(spec: &ModelSpec, source: &mut Source<'_>) -> Self {
        Self {
            tokens: source.next(),
            places: source.next(),
            blocks: (0..spec.layers).map(|_| Block::new(source)).collect(),
            norm: Norm::new(source),
            dense: Dense::new(source),
        }
    }

    /// Outputs for all places of the first row, then of the second, and so on.
    pub(super) fn forward(
        &self,
        tokens: Tensor<1, Int>,
        rows: usize,
        dtype: DType,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let [length, width] = self.places.dims();
        let embedded = self.tokens.val().cast(dtype).select(0, tokens).reshape([rows, length, width]);
        let placed = embedded + self.places.val().cast(dtype).unsqueeze();
        let mut values = dropout.forward(placed.reshape([rows * length, width]));
        let mask = causal_mask(length, &values.device().without_autodiff(), dtype);
        for block in &self.blocks {
            values = block.forward(values, rows, &mask, dropout);
        }
        self.dense.forward(self.norm.forward(values))
    }
}

impl Block {
    fn new(source: &mut Source<'_>) -> Self {
        Self {
            attention_norm: Norm::new(source),
            query: Dense::new(source),
            key: Dense::new(source),
            value: Dense::new(source),
            output: Dense::new(source),
            feed_norm: Norm::new(source),
            widen: Dense::new(source),
            narrow: Dense::new(source),
        }
    }

    fn forward(&self, values: Tensor<2>, rows: usize, mask: &Tensor<4>, dropout: &mut Dropout) -> Tensor<2> {
        let attended = self.attend(self.attention_norm.forward(values.clone()), rows, mask);
        let values = values + dropout.forward(attended);
        let fed = self.narrow.forward(relu(self.widen.forward(self.feed_norm.forward(values.clone()))));
        values + dropout.forward(fed)
    }

    /// Each place takes from itself and those before it, by head.
    fn attend(&self, values: Tensor<2>, rows: usize, mask: &Tensor<4>) -> Tensor<2> {
        let [all, width] = values.dims();
        let (length, size) = (all / rows.max(1), width / HEADS);
        let heads = |values: Tensor<2>| values.reshape([rows, length, HEADS, size]).swap_dims(1, 2);
        // Scaling the query is scaling the scores, of which there are more.
        let query = heads(self.query.forward(values.clone()) / (size as f64).sqrt());
        let key = heads(self.key.forward(values.clone()));
        let value = heads(self.value.forward(values));
        let scores = query.matmul(key.swap_dims(2, 3)) + mask.clone();
        let taken = softmax(scores, 3).matmul(value);
        self.output.forward(taken.swap_dims(1, 2).reshape([all, width]))
    }
}

/// Minus infinity where a place would look at a later one, so that it takes nothing from there.
fn causal_mask(length: usize, device: &Device, dtype: DType) -> Tensor<4> {
    let hidden = |at: usize| if at % length > at / length { f32::NEG_INFINITY } else { 0.0 };
    let values: Vec<f32> = (0..length * length).map(hidden).collect();
    Tensor::from_data(TensorData::new(values, [1, 1, length, length]), (device, dtype))
}
