//! The part of a batch that one thread computes at a time, and how a batch is divided.

use std::ops::Range;

use rayon::prelude::*;

use super::buffer::Buffer;
use super::criterion::{Criterion, Score};
use super::float::Float;
use super::network::{Network, Rows};

/// The most shards of a batch, and so the most threads that can share it.
const MOST_SHARDS: usize = 8;

/// The most that the gradients of all shards together take: a large model has fewer shards.
const MOST_GRADIENT_BYTES: usize = 256 << 20;

/// A network that computes a part of every batch, with gradients of its own.
pub(super) struct Shard<F> {
    network: Box<dyn Network<F>>,
    targets: Vec<f32>,
    gradients: Buffer<F>,
    parameters: usize,
    /// Whether it has gone backward in this step.
    went_back: bool,
    /// How the last rows did.
    score: Score,
}

impl<F: Float> Shard<F> {
    pub(super) fn new(network: Box<dyn Network<F>>, parameters: usize) -> Self {
        Self {
            network,
            targets: Vec::new(),
            gradients: Buffer::new(),
            parameters,
            went_back: false,
            score: Score::default(),
        }
    }

    /// Shards that a batch of so many rows is divided into, whatever the number of threads.
    pub(super) fn count(&self, rows: usize) -> usize {
        let room = MOST_GRADIENT_BYTES / (self.parameters * size_of::<F>()).max(1);
        (rows / self.network.least_rows()).min(MOST_SHARDS).min(room).max(1)
    }

    /// Takes rows in.
    pub(super) fn load(&mut self, rows: &Rows<'_>) {
        self.targets.clear();
        self.network.load(rows, &mut self.targets);
    }

    /// Answers that the rows ask for.
    pub(super) fn answers(&self) -> usize {
        self.targets.len()
    }

    pub(super) fn forward(&mut self, parameters: &[F], training: bool) {
        self.network.forward(parameters, training);
    }

    /// Scores the outputs, whose gradients take their place.
    pub(super) fn judge(&mut self, criterion: &Criterion, scale: f64) {
        self.score = criterion.score(self.network.outputs(), &self.targets, scale);
    }

    pub(super) fn score(&self) -> Score {
        self.score
    }

    /// Goes backward and adds to the gradients of this step.
    pub(super) fn backward(&mut self, parameters: &[F]) {
        let gradients = self.gradients.take(self.parameters);
        if !self.went_back {
            gradients.fill(F::ZERO);
            self.went_back = true;
        }
        self.network.backward(parameters, gradients);
    }
}

/// Does some work on every shard, on as many threads as this thread computes with.
pub(super) fn each<F: Float>(
    shards: &mut [Shard<F>],
    threads: u32,
    work: impl Fn(usize, &mut Shard<F>) + Sync,
) {
    if threads == 1 || shards.len() == 1 {
        shards.iter_mut().enumerate().for_each(|(at, shard)| work(at, shard));
    } else {
        shards.par_iter_mut().with_max_len(1).enumerate().for_each(|(at, shard)| work(at, shard));
    }
}

/// Sums the gradients of a step in the order of the shards, and makes them ready for the next step.
pub(super) fn sum_gradients<F: Float>(shards: &mut [Shard<F>]) -> &mut [F] {
    let [first, others @ ..] = shards else { return &mut [] };
    let sum = first.gradients.take(first.parameters);
    first.went_back = false;
    for other in others.iter_mut().filter(|other| other.went_back) {
        other.went_back = false;
        for (sum, gradient) in sum.iter_mut().zip(other.gradients.first(other.parameters)) {
            *sum += *gradient;
        }
    }
    sum
}

/// The rows of a shard, of so many shards of so many rows.
pub(super) fn rows_of(shard: usize, shards: usize, rows: usize) -> Range<usize> {
    rows * shard / shards..rows * (shard + 1) / shards
}
