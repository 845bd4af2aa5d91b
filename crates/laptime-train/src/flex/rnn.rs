//! The plain recurrent cell.

use burn::prelude::Module;
use burn::prelude::Tensor;

use super::recurrent::{Gates, State};

/// The new state is the tanh of input and old state.
#[derive(Module, Debug)]
pub(super) struct Rnn {
    pub(super) gates: Gates,
}

impl Rnn {
    pub(super) fn step(&self, projected: Tensor<2>, state: &State) -> State {
        let hidden = (projected + self.gates.of_state(state)).tanh();
        State { hidden, memory: state.memory.clone() }
    }
}
