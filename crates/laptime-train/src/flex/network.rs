//! Any reference model as one Burn module.

use burn::module::Param;
use burn::prelude::{Int, Module, Tensor, TensorData};
use burn::tensor::{DType, Device};
use laptime_load::Batch;

use super::dropout::Dropout;
use super::feed_forward::FeedForward;
use super::recurrent::Recurrent;
use super::transformer::Transformer;
use crate::{ModelKind, ModelSpec, TrainError, WeightTensor, Weights};

/// Any reference model. All of them give a row of outputs for each answer: one answer a row of input, or one
/// for each place of a sequence.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "a training has one network, and it lies where it is")]
pub(super) enum Network {
    FeedForward(FeedForward),
    Recurrent(Recurrent),
    Transformer(Transformer),
}

/// A batch as the network takes it.
pub(super) enum Input {
    /// Numbers, a row each.
    Rows(Tensor<2>),
    /// Tokens of all rows, one tensor for each place of the sequence.
    Places(Vec<Tensor<1, Int>>),
    /// Tokens, row after row, with the number of rows.
    Tokens(Tensor<1, Int>, usize),
}

/// Where weights come from, and what they become.
pub(super) struct Source<'a> {
    tensors: std::slice::Iter<'a, WeightTensor>,
    pub(super) device: &'a Device,
    pub(super) dtype: DType,
}

/// Builds the network that a spec describes, from weights in PyTorch's order and layout.
pub(super) fn network(
    spec: &ModelSpec,
    weights: &Weights,
    device: &Device,
    dtype: DType,
) -> Result<Network, TrainError> {
    let expected: Vec<_> = spec.shapes()?.into_iter().map(|shape| shape.dims).collect();
    let found: Vec<_> = weights.0.iter().map(|tensor| tensor.dims.clone()).collect();
    let complete =
        weights.0.iter().all(|tensor| tensor.values.len() == tensor.dims.iter().product::<usize>());
    if found != expected || !complete {
        return Err(TrainError::Weights { model: spec.kind, found });
    }
    let mut source = Source { tensors: weights.0.iter(), device, dtype };
    Ok(match spec.kind {
        ModelKind::Linear | ModelKind::Mlp | ModelKind::Cnn => {
            Network::FeedForward(FeedForward::new(spec, &mut source))
        }
        ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru => {
            Network::Recurrent(Recurrent::new(spec, &mut source))
        }
        ModelKind::Transformer => Network::Transformer(Transformer::new(spec, &mut source)),
    })
}

impl Source<'_> {
    /// The next tensor as it is. Shapes were checked, so there is one.
    pub(super) fn next<const D: usize>(&mut self) -> Param<Tensor<D>> {
        let (values, dims) = self.take();
        self.parameter(values, dims)
    }

    /// The next matrix as Burn keeps it: `[inputs, outputs]` where PyTorch keeps `[outputs, inputs]`.
    pub(super) fn next_turned(&mut self) -> Param<Tensor<2>> {
        let (values, dims) = self.take();
        let (outputs, inputs) = (dims[0], dims[1]);
        let turned = (0..inputs * outputs).map(|at| values[at % outputs * inputs + at / outputs]);
        self.parameter(turned.collect(), vec![inputs, outputs])
    }

    fn take(&mut self) -> (Vec<f32>, Vec<usize>) {
        self.tensors.next().map(|tensor| (tensor.values.clone(), tensor.dims.clone())).unwrap_or_default()
    }

    fn parameter<const D: usize>(&self, values: Vec<f32>, dims: Vec<usize>) -> Param<Tensor<D>> {
        let tensor = Tensor::from_data(TensorData::new(values, dims), (self.device, self.dtype));
        Param::from_tensor(tensor)
    }
}

impl Network {
    /// Puts a batch where the network computes; numbers become the type it computes in.
    pub(super) fn input(&self, batch: &Batch, device: &Device, dtype: DType) -> Input {
        match self {
            Self::FeedForward(_) => {
                let data = TensorData::new(batch.features.clone(), [batch.rows, batch.width]);
                Input::Rows(Tensor::from_data(data, (device, dtype)))
            }
            Self::Recurrent(_) => {
                let place = |at| batch.features.iter().skip(at).step_by(batch.width);
                Input::Places((0..batch.width).map(|at| tokens(place(at), device)).collect())
            }
            Self::Transformer(_) => Input::Tokens(tokens(batch.features.iter(), device), batch.rows),
        }
    }

    /// The classes of a batch, in the order of the network's answers.
    pub(super) fn labels(&self, batch: &Batch) -> Vec<i64> {
        let next = |row: usize, place: usize| {
            let at = row * batch.width + place + 1;
            let label = if place + 1 < batch.width { batch.features[at] } else { batch.targets[row] };
            label as i64
        };
        match self {
            Self::FeedForward(_) => batch.targets.iter().map(|label| *label as i64).collect(),
            Self::Recurrent(_) => {
                (0..batch.width).flat_map(|place| (0..batch.rows).map(move |row| next(row, place))).collect()
            }
            Self::Transformer(_) => {
                (0..batch.rows).flat_map(|row| (0..batch.width).map(move |place| next(row, place))).collect()
            }
        }
    }

    /// A row of outputs for each answer, from an input that this network made.
    pub(super) fn forward(
        &self,
        input: Input,
        dtype: DType,
        dropout: &mut Dropout,
    ) -> Result<Tensor<2>, TrainError> {
        Ok(match (self, input) {
            (Self::FeedForward(network), Input::Rows(rows)) => network.forward(rows, dropout),
            (Self::Recurrent(network), Input::Places(places)) => network.forward(places, dtype, dropout),
            (Self::Transformer(network), Input::Tokens(tokens, rows)) => {
                network.forward(tokens, rows, dtype, dropout)
            }
            _ => return Err(TrainError::Engine { reason: "the input is another network's".to_owned() }),
        })
    }
}

fn tokens<'a>(values: impl Iterator<Item = &'a f32>, device: &Device) -> Tensor<1, Int> {
    let tokens: Vec<i64> = values.map(|token| *token as i64).collect();
    let count = tokens.len();
    Tensor::from_data(TensorData::new(tokens, [count]), device)
}
