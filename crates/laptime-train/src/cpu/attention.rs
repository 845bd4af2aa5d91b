//! Causal attention by several heads.

use super::buffer::Buffer;
use super::exp::exp;
use super::float::Float;
use super::isa::{Isa, vectorised};
use super::layout::Layout;
use super::product::{Matrix, Panels, Start, multiply};
use super::projection::{Projection, round};
use super::sums::{dot, largest, sum};
use crate::model_kind::HEADS;

/// Places that are computed together. What lies after all of them is not computed at all, what lies after one of
/// them is computed and then set to zero.
const BLOCK: usize = 32;

/// Each place takes from itself and those before it, by head.
pub(super) struct Attention<F> {
    isa: Isa,
    width: usize,
    query: Projection<F>,
    key: Projection<F>,
    value: Projection<F>,
    output: Projection<F>,
    queries: Buffer<F>,
    keys: Buffer<F>,
    values: Buffer<F>,
    /// How much each place takes from each other, by row and head.
    shares: Buffer<F>,
    taken: Buffer<F>,
    places: usize,
    room: Vec<F>,
}

/// Gradients of what is taken, of queries, keys and values, and of the shares of one head. They are needed only
/// within a way back, so that all blocks have the same.
pub(super) struct AttentionGradients<F> {
    taken: Buffer<F>,
    queries: Buffer<F>,
    keys: Buffer<F>,
    values: Buffer<F>,
    shares: Buffer<F>,
}

impl<F: Float> AttentionGradients<F> {
    pub(super) fn new() -> Self {
        let [taken, queries, keys, values, shares] = std::array::from_fn(|_| Buffer::new());
        Self { taken, queries, keys, values, shares }
    }
}

/// Where one head of one row lies.
#[derive(Clone, Copy)]
struct Head {
    isa: Isa,
    places: usize,
    /// Numbers of a head.
    size: usize,
    /// Numbers of all heads: from a place to the next.
    stride: usize,
}

impl<F: Float> Attention<F> {
    pub(super) fn new(isa: Isa, width: usize, layout: &mut Layout) -> Self {
        let [query, key, value, output] = std::array::from_fn(|_| Projection::new(isa, width, width, layout));
        let [queries, keys, values, shares, taken] = std::array::from_fn(|_| Buffer::new());
        Self {
            isa,
            width,
            query,
            key,
            value,
            output,
            queries,
            keys,
            values,
            shares,
            taken,
            places: 0,
            room: Vec::new(),
        }
    }

    fn head(&self) -> Head {
        Head { isa: self.isa, places: self.places, size: self.width / HEADS, stride: self.width }
    }

    /// Outputs for inputs that are sequences of so many places, row after row.
    pub(super) fn forward(&mut self, parameters: &[F], inputs: &[F], outputs: &mut [F], places: usize) {
        self.places = places;
        let (count, head, area) = (inputs.len(), self.head(), places * places);
        let (queries, keys, values) =
            (self.queries.take(count), self.keys.take(count), self.values.take(count));
        self.query.forward(parameters, inputs, queries);
        self.key.forward(parameters, inputs, keys);
        self.value.forward(parameters, inputs, values);
        let shares = self.shares.take(count / self.width * places * HEADS);
        let taken = self.taken.take(count);
        for (at, shares) in shares.chunks_exact_mut(area).enumerate() {
            let first = at / HEADS * places * head.stride + at % HEADS * head.size;
            let room = &mut self.room;
            head.share(&queries[first..], &keys[first..], shares, room);
            head.take(shares, &values[first..], &mut taken[first..], room);
        }
        round(taken);
        self.output.forward(parameters, taken, outputs);
    }

    /// Adds the gradients of the parameters, given those of the outputs, and writes those of the inputs.
    pub(super) fn backward(
        &mut self,
        parameters: &[F],
        inputs: &[F],
        (of_outputs, of_inputs): (&[F], &mut [F]),
        gradients: &mut [F],
        own: &mut AttentionGradients<F>,
    ) {
        let (count, head, area) = (inputs.len(), self.head(), self.places * self.places);
        let of_taken = own.taken.take(count);
        self.output.backward_weights(self.taken.first(count), of_outputs, gradients);
        self.output.backward_inputs(parameters, of_outputs, of_taken, Start::Zero);
        let (queries, keys, values) =
            (self.queries.first(count), self.keys.first(count), self.values.first(count));
        let (of_queries, of_keys, of_values) =
            (own.queries.take(count), own.keys.take(count), own.values.take(count));
        let of_shares = own.shares.take(area);
        let shares = self.shares.first(count / self.width * self.places * HEADS);
        for (at, shares) in shares.chunks_exact(area).enumerate() {
            let first = at / HEADS * self.places * head.stride + at % HEADS * head.size;
            let room = &mut self.room;
            head.give(shares, &of_taken[first..], &mut of_values[first..], room);
            head.share_backward([shares, &of_taken[first..], &values[first..]], of_shares, room);
            head.take(of_shares, &keys[first..], &mut of_queries[first..], room);
            head.give(of_shares, &queries[first..], &mut of_keys[first..], room);
        }
        let projections = [&mut self.query, &mut self.key, &mut self.value];
        let of_projected = [of_queries, of_keys, of_values];
        for (at, (projection, of_projected)) in projections.into_iter().zip(of_projected).enumerate() {
            round(of_projected);
            projection.backward_weights(inputs, of_projected, gradients);
            let start = if at == 0 { Start::Zero } else { Start::Sum };
            projection.backward_inputs(parameters, of_projected, of_inputs, start);
        }
    }
}

impl Head {
    /// Blocks of places: where each begins, and how many places it has.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let places = self.places;
        (0..places).step_by(BLOCK).map(move |from| (from, BLOCK.min(places - from)))
    }

    /// How much each place takes from those up to itself.
    fn share<F: Float>(&self, queries: &[F], keys: &[F], shares: &mut [F], room: &mut Vec<F>) {
        self.compare(queries, keys, shares, room);
        let scale = F::from_f64(1.0 / (self.size as f64).sqrt());
        soften(self.isa, shares, self.places, scale);
    }

    /// The products of each place of one and the places up to it of another.
    fn compare<F: Float>(&self, one: &[F], other: &[F], products: &mut [F], room: &mut Vec<F>) {
        let (places, stride) = (self.places, self.stride);
        let panels = Panels::new(self.isa, Matrix::new(other, stride).turned(), self.size, places, room);
        for (from, count) in self.blocks() {
            let panels = panels.part(self.size, from + count);
            let left = Matrix::new(&one[from * stride..], stride);
            multiply(self.isa, left, count, &panels, Start::Zero, (&mut products[from * places..], places));
        }
    }

    /// What each place takes from those up to itself.
    fn take<F: Float>(&self, shares: &[F], values: &[F], taken: &mut [F], room: &mut Vec<F>) {
        let (places, stride) = (self.places, self.stride);
        let panels = Panels::new(self.isa, Matrix::new(values, stride), places, self.size, room);
        for (from, count) in self.blocks() {
            let panels = panels.part(from + count, self.size);
            let left = Matrix::new(&shares[from * places..], places);
            multiply(self.isa, left, count, &panels, Start::Zero, (&mut taken[from * stride..], stride));
        }
    }

    /// What each place gives to those from itself on: the way back of [`take`](Self::take).
    fn give<F: Float>(&self, shares: &[F], of_taken: &[F], given: &mut [F], room: &mut Vec<F>) {
        let (places, stride) = (self.places, self.stride);
        for (from, count) in self.blocks() {
            let right = Matrix::new(&of_taken[from * stride..], stride);
            let panels = Panels::new(self.isa, right, places - from, self.size, room);
            let left = Matrix::new(&shares[from * places + from..], places).turned();
            multiply(self.isa, left, count, &panels, Start::Zero, (&mut given[from * stride..], stride));
        }
    }

    /// The gradients of what the shares were made of.
    fn share_backward<F: Float>(
        &self,
        [shares, of_taken, values]: [&[F]; 3],
        of_shares: &mut [F],
        room: &mut Vec<F>,
    ) {
        self.compare(of_taken, values, of_shares, room);
        let scale = F::from_f64(1.0 / (self.size as f64).sqrt());
        soften_backward(self.isa, shares, of_shares, self.places, scale);
    }
}

vectorised! {
    /// The softmax of each row up to the diagonal; zero up to the end of its block.
    fn soften<F, I>(scores: &mut [F], places: usize, scale: F) {
        for (place, row) in scores.chunks_exact_mut(places).enumerate() {
            let end = (place / BLOCK * BLOCK + BLOCK).min(places);
            let (seen, hidden) = row[..end].split_at_mut(place + 1);
            let most = largest(seen);
            for score in &mut *seen {
                *score = exp::<F, I>((*score - most) * scale);
            }
            let share = F::ONE / sum(seen);
            for score in seen {
                *score = (*score * share).stored();
            }
            hidden.fill(F::ZERO);
        }
    }
}

vectorised! {
    /// From the gradients of shares to those of the scores that they were made of.
    fn soften_backward<F, I>(shares: &[F], gradients: &mut [F], places: usize, scale: F) {
        let rows = shares.chunks_exact(places).zip(gradients.chunks_exact_mut(places));
        for (place, (shares, gradients)) in rows.enumerate() {
            let end = (place / BLOCK * BLOCK + BLOCK).min(places);
            let (seen, hidden) = gradients[..end].split_at_mut(place + 1);
            let mean = dot(&shares[..=place], seen);
            for (gradient, share) in seen.iter_mut().zip(shares) {
                *gradient = (*share * (*gradient - mean) * scale).stored();
            }
            hidden.fill(F::ZERO);
        }
    }
}
