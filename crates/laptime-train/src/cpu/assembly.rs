//! From a spec to the network that it describes.

use super::cnn::Cnn;
use super::float::Float;
use super::isa::Isa;
use super::layout::Layout;
use super::mlp::Mlp;
use super::network::Network;
use super::recurrent::Recurrent;
use super::transformer::Transformer;
use crate::{ModelKind, ModelSpec, Recipe, TrainError};

/// Builds the network that a spec describes for one shard, and says where its parameters lie.
///
/// Every shard has a number of its own, which decides what its dropout takes; the layout is the same for all.
pub(super) fn network<F: Float>(
    spec: &ModelSpec,
    recipe: &Recipe,
    isa: Isa,
    shard: u64,
) -> Result<(Box<dyn Network<F>>, Layout), TrainError> {
    let mut layout = Layout::new(spec.shapes()?);
    let network: Box<dyn Network<F>> = match spec.kind {
        ModelKind::Linear | ModelKind::Mlp => Box::new(Mlp::new(spec, recipe, isa, shard, &mut layout)),
        ModelKind::Cnn => Box::new(Cnn::new(spec, recipe, isa, shard, &mut layout)?),
        ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => {
            Box::new(Recurrent::new(spec, recipe, isa, shard, &mut layout))
        }
        ModelKind::Transformer => Box::new(Transformer::new(spec, recipe, isa, shard, &mut layout)),
    };
    Ok((network, layout))
}
