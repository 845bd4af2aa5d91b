//! The feed-forward half of a transformer's block.

use super::buffer::Buffer;
use super::float::Float;
use super::isa::{Isa, vectorised};
use super::layout::Layout;
use super::product::Start;
use super::projection::Projection;
use crate::model_kind::FEED_FORWARD;

/// Widens each place, drops what is below zero, and narrows it again.
pub(super) struct FeedForward<F> {
    isa: Isa,
    widen: Projection<F>,
    narrow: Projection<F>,
    hidden: Buffer<F>,
}

impl<F: Float> FeedForward<F> {
    pub(super) fn new(isa: Isa, width: usize, layout: &mut Layout) -> Self {
        let inner = FEED_FORWARD * width;
        let widen = Projection::new(isa, width, inner, layout);
        let narrow = Projection::new(isa, inner, width, layout);
        Self { isa, widen, narrow, hidden: Buffer::new() }
    }

    pub(super) fn forward(&mut self, parameters: &[F], inputs: &[F], outputs: &mut [F]) {
        let hidden = self.hidden.take(FEED_FORWARD * inputs.len());
        self.widen.forward(parameters, inputs, hidden);
        cut(self.isa, hidden);
        self.narrow.forward(parameters, hidden, outputs);
    }

    /// Adds the gradients of the parameters, given those of the outputs, and writes those of the inputs;
    /// all blocks have the same buffer for those of what is hidden.
    pub(super) fn backward(
        &mut self,
        parameters: &[F],
        inputs: &[F],
        (of_outputs, of_inputs): (&[F], &mut [F]),
        gradients: &mut [F],
        of_hidden: &mut Buffer<F>,
    ) {
        let hidden = self.hidden.first(FEED_FORWARD * inputs.len());
        let of_hidden = of_hidden.take(hidden.len());
        self.narrow.backward_weights(hidden, of_outputs, gradients);
        self.narrow.backward_inputs(parameters, of_outputs, of_hidden, Start::Zero);
        cut_like(self.isa, hidden, of_hidden);
        self.widen.backward_weights(inputs, of_hidden, gradients);
        self.widen.backward_inputs(parameters, of_hidden, of_inputs, Start::Zero);
    }
}

vectorised! {
    fn cut<F, I>(values: &mut [F]) {
        for value in values {
            // What is no number stays, so that the loss is none either.
            *value = if *value <= F::ZERO { F::ZERO } else { *value };
        }
    }
}

vectorised! {
    fn cut_like<F, I>(values: &[F], gradients: &mut [F]) {
        for (value, gradient) in values.iter().zip(gradients) {
            *gradient = if *value > F::ZERO { *gradient } else { F::ZERO };
        }
    }
}
