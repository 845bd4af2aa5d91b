//! The linear model and the mlp: dense layers.

use super::buffer::Buffer;
use super::dense::Dense;
use super::dropout::{Dropout, Mask};
use super::few_outputs::FewOutputs;
use super::float::Float;
use super::isa::Isa;
use super::layout::Layout;
use super::network::{Network, Rows};
use crate::{ModelKind, ModelSpec, Recipe};

/// Layers up to this width are narrow.
const NARROW: usize = 128;

/// Rows that go through narrow layers together: all that they become stays in the first cache.
const TOGETHER: usize = 64;

/// Rows that go through wide layers together: their weights are packed for many rows at once.
const TOGETHER_IF_WIDE: usize = 1024;

/// Multiplications of a shard below which it is not worth a thread: some 50 microseconds.
const LEAST_MULTIPLICATIONS: usize = 1 << 20;

/// Dense layers with ReLU, of which the linear model has none, and one to a number; dropout follows every ReLU.
pub(super) struct Mlp<F> {
    hidden: Vec<Hidden<F>>,
    last: FewOutputs,
    dropout: Dropout,
    features: usize,
    width: usize,
    least_rows: usize,
    rows: usize,
    input: Buffer<F>,
    outputs: Buffer<F>,
}

/// A hidden layer and what it keeps of a shard.
struct Hidden<F> {
    dense: Dense<F>,
    values: Buffer<F>,
    /// One for the rows that go through together.
    masks: Vec<Mask<F>>,
    /// Gradients of the values of rows that go back together.
    gradients: Buffer<F>,
}

impl<F: Float> Mlp<F> {
    pub(super) fn new(spec: &ModelSpec, recipe: &Recipe, isa: Isa, shard: u64, layout: &mut Layout) -> Self {
        let layers = if spec.kind == ModelKind::Linear { 0 } else { spec.layers };
        let (mut inputs, mut multiplications) = (spec.features, 0usize);
        let mut hidden = |_| {
            let dense = Dense::new(inputs, spec.width, isa, layout);
            multiplications = multiplications.saturating_add(inputs * spec.width);
            inputs = spec.width;
            Hidden { dense, values: Buffer::new(), masks: Vec::new(), gradients: Buffer::new() }
        };
        let hidden = (0..layers).map(&mut hidden).collect();
        Self {
            hidden,
            last: FewOutputs::new(1, isa, layout),
            dropout: Dropout::new(recipe, shard),
            features: spec.features,
            width: spec.width,
            least_rows: LEAST_MULTIPLICATIONS / (multiplications + inputs) + 1,
            rows: 0,
            input: Buffer::new(),
            outputs: Buffer::new(),
        }
    }

    fn together(&self) -> usize {
        if self.width.max(self.features) <= NARROW { TOGETHER } else { TOGETHER_IF_WIDE }
    }
}

impl<F: Float> Network<F> for Mlp<F> {
    fn load(&mut self, rows: &Rows<'_>, targets: &mut Vec<f32>) {
        self.rows = rows.rows;
        let input = self.input.take(rows.features.len());
        input.iter_mut().zip(rows.features).for_each(|(own, value)| *own = F::from_f32(*value).stored());
        targets.extend_from_slice(rows.targets);
    }

    fn forward(&mut self, parameters: &[F], training: bool) {
        let (together, width, rows) = (self.together(), self.width, self.rows);
        let input = self.input.first(rows * self.features);
        let outputs = self.outputs.take(rows);
        for layer in &mut self.hidden {
            layer.values.take(rows * width);
            layer.gradients.take(together.min(rows) * width);
            layer.masks.resize_with(rows.div_ceil(together).max(layer.masks.len()), Mask::new);
        }
        let parts = input.chunks(together * self.features).zip(outputs.chunks_mut(together));
        for (part, (input, outputs)) in parts.enumerate() {
            let mut before = input;
            for layer in &mut self.hidden {
                let values = &mut layer.values.all()[part * together * width..][..outputs.len() * width];
                layer.dense.forward(parameters, before, values);
                self.dropout.forward(values, &mut layer.masks[part], training);
                before = values;
            }
            self.last.forward(parameters, before, outputs);
        }
    }

    fn outputs(&mut self) -> &mut [F] {
        self.outputs.take(self.rows)
    }

    fn backward(&mut self, parameters: &[F], gradients: &mut [F]) {
        let (together, width, rows) = (self.together(), self.width, self.rows);
        let parts = self.input.first(rows * self.features).chunks(together * self.features);
        let outputs = self.outputs.first(rows).chunks(together);
        for (part, (input, of_outputs)) in parts.zip(outputs).enumerate() {
            let Some((last, _)) = self.hidden.split_last_mut() else {
                self.last.backward(parameters, input, of_outputs, gradients, None);
                continue;
            };
            let place = part * together * width..part * together * width + of_outputs.len() * width;
            let of_values = last.gradients.take(place.len());
            let values = &last.values.all()[place.clone()];
            self.last.backward(parameters, values, of_outputs, gradients, Some(of_values));
            for at in (0..self.hidden.len()).rev() {
                let (before, from) = self.hidden.split_at_mut(at);
                let layer = &mut from[0];
                let of_values = layer.gradients.take(place.len());
                layer.masks[part].backward(of_values);
                let values = &layer.values.all()[place.clone()];
                let (inputs, of_inputs) = match before.last_mut() {
                    None => (input, None),
                    Some(before) => {
                        (&before.values.all()[place.clone()], Some(before.gradients.take(place.len())))
                    }
                };
                layer.dense.backward(parameters, (inputs, values), of_values, gradients, of_inputs);
            }
        }
    }

    fn least_rows(&self) -> usize {
        self.least_rows
    }
}
