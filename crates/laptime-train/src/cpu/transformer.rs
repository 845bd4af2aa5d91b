//! The transformer.

use super::float::Float;
use super::isa::Isa;
use super::layout::Layout;
use super::network::{Network, Rows};
use crate::{ModelSpec, Recipe, TrainError};

/// Embeddings of tokens and places, blocks, a norm and a dense layer.
pub(super) struct Transformer;

impl Transformer {
    pub(super) fn new(
        spec: &ModelSpec,
        _recipe: &Recipe,
        _isa: Isa,
        _shard: u64,
        _layout: &mut Layout,
    ) -> Result<Self, TrainError> {
        Err(TrainError::Engine { reason: format!("there is no {} yet", spec.kind) })
    }
}

impl<F: Float> Network<F> for Transformer {
    fn load(&mut self, _rows: &Rows<'_>, _targets: &mut Vec<f32>) {}

    fn forward(&mut self, _parameters: &[F], _training: bool) {}

    fn outputs(&mut self) -> &mut [F] {
        &mut []
    }

    fn backward(&mut self, _parameters: &[F], _gradients: &mut [F]) {}

    fn least_rows(&self) -> usize {
        1
    }
}
