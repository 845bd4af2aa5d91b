//! The rnn, lstm and gru as a Burn module: what they have in common around their cells.

use burn::module::Param;
use burn::prelude::{Int, Module, Tensor};
use burn::tensor::activation::sigmoid;
use burn::tensor::module::linear;
use burn::tensor::{DType, Device};

use super::dense::Dense;
use super::dropout::Dropout;
use super::gru::Gru;
use super::lstm::Lstm;
use super::network::Source;
use super::rnn::Rnn;
use crate::{ModelKind, ModelSpec};

/// Embedding, recurrent layers, and a dense layer on the last one's state at every place.
///
/// Dropout lies before the dense layer.
#[derive(Module, Debug)]
pub(super) struct Recurrent {
    embedding: Param<Tensor<2>>,
    layers: Vec<Cell>,
    dense: Dense,
}

/// A recurrent layer.
#[derive(Module, Debug)]
enum Cell {
    Rnn(Rnn),
    Lstm(Lstm),
    Gru(Gru),
}

/// The weights of a recurrent layer, as PyTorch has them: for the input and for the state, a bias each.
#[derive(Module, Debug)]
pub(super) struct Gates {
    input: Param<Tensor<2>>,
    state: Param<Tensor<2>>,
    input_bias: Param<Tensor<1>>,
    state_bias: Param<Tensor<1>>,
}

/// What a layer remembers, a row each.
pub(super) struct State {
    /// What it hands on.
    pub(super) hidden: Tensor<2>,
    /// What the lstm keeps to itself.
    pub(super) memory: Tensor<2>,
}

impl Recurrent {
    pub(super) fn new(spec: &ModelSpec, source: &mut Source<'_>) -> Self {
        let cell = |source: &mut Source<'_>| {
            let gates = Gates::new(source);
            match spec.kind {
                ModelKind::Lstm => Cell::Lstm(Lstm { gates }),
                ModelKind::Gru => Cell::Gru(Gru { gates }),
                _ => Cell::Rnn(Rnn { gates }),
            }
        };
        Self {
            embedding: source.next(),
            layers: (0..spec.layers).map(|_| cell(source)).collect(),
            dense: Dense::new(source),
        }
    }

    /// Outputs for all rows of the first place, then of the second, and so on.
    pub(super) fn forward(
        &self,
        places: Vec<Tensor<1, Int>>,
        dtype: DType,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let embedding = self.embedding.val().cast(dtype);
        let rows = places.first().map_or(0, |tokens| tokens.dims()[0]);
        let zeros = |cell: &Cell| State::zeros(rows, cell.gates().width(), &embedding.device(), dtype);
        let mut states: Vec<State> = self.layers.iter().map(zeros).collect();
        // There are few tokens, so what the first layer makes of each is computed once and looked up at every
        // place: the same sums, and no slices of a long sequence, whose way back would cost its square.
        let projected = self.layers.first().map_or(embedding.clone(), |cell| cell.project(embedding.clone()));
        let mut outputs = Vec::with_capacity(places.len());
        for tokens in places {
            let mut input = projected.clone().select(0, tokens);
            for (at, cell) in self.layers.iter().enumerate() {
                if at > 0 {
                    input = cell.project(input);
                }
                states[at] = cell.step(input, &states[at]);
                input = states[at].hidden.clone();
            }
            outputs.push(input);
        }
        self.dense.forward(dropout.forward(Tensor::cat(outputs, 0)))
    }
}

impl Cell {
    fn gates(&self) -> &Gates {
        match self {
            Self::Rnn(cell) => &cell.gates,
            Self::Lstm(cell) => &cell.gates,
            Self::Gru(cell) => &cell.gates,
        }
    }

    /// The input's part of the gates.
    fn project(&self, input: Tensor<2>) -> Tensor<2> {
        let gates = self.gates();
        let bias = match self {
            Self::Rnn(_) | Self::Lstm(_) => gates.input_bias.val() + gates.state_bias.val(),
            // The gru scales the state's part, bias included, before it adds it.
            Self::Gru(_) => gates.input_bias.val(),
        };
        let dtype = input.dtype();
        linear(input, gates.input.val().cast(dtype), Some(bias.cast(dtype)))
    }

    fn step(&self, projected: Tensor<2>, state: &State) -> State {
        match self {
            Self::Rnn(cell) => cell.step(projected, state),
            Self::Lstm(cell) => cell.step(projected, state),
            Self::Gru(cell) => cell.step(&projected, state),
        }
    }
}

impl Gates {
    fn new(source: &mut Source<'_>) -> Self {
        Self {
            input: source.next_turned(),
            state: source.next_turned(),
            input_bias: source.next(),
            state_bias: source.next(),
        }
    }

    fn width(&self) -> usize {
        self.state.dims()[0]
    }

    /// The state's part of the gates without a bias.
    pub(super) fn of_state(&self, state: &State) -> Tensor<2> {
        let hidden = state.hidden.clone();
        let weight = self.state.val().cast(hidden.dtype());
        hidden.matmul(weight)
    }

    /// The state's part of the gates with its bias.
    pub(super) fn of_state_with_bias(&self, state: &State) -> Tensor<2> {
        let hidden = state.hidden.clone();
        let dtype = hidden.dtype();
        linear(hidden, self.state.val().cast(dtype), Some(self.state_bias.val().cast(dtype)))
    }
}

impl State {
    fn zeros(rows: usize, width: usize, device: &Device, dtype: DType) -> Self {
        let zeros = Tensor::zeros([rows, width], (device, dtype));
        Self { hidden: zeros.clone(), memory: zeros }
    }
}

/// The part of some gates that belongs to one of them, or to several that follow each other.
pub(super) fn part(gates: &Tensor<2>, first: usize, count: usize, width: usize) -> Tensor<2> {
    gates.clone().narrow(1, first * width, count * width)
}

/// The hyperbolic tangent, by way of the sigmoid: the C library's takes seven times as long, which was a third
/// of an lstm's step. What is lost is below 1e-7, but too much for 16 bits.
pub(super) fn tanh(values: Tensor<2>) -> Tensor<2> {
    if values.dtype() == DType::BF16 {
        return values.tanh();
    }
    sigmoid(values * 2.0) * 2.0 - 1.0
}
