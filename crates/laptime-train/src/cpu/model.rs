//! A reference model in training.

use std::path::Path;

use laptime_load::Batch;
use laptime_record::stage;

use super::assembly::network;
use super::buffer::Buffer;
use super::checkpoint;
use super::clip::clip;
use super::criterion::{Criterion, Score};
use super::float::Float;
use super::isa::Isa;
use super::layout::Layout;
use super::network::Rows;
use super::optimizer::Optimizer;
use super::shard::{Shard, each, rows_of, sum_gradients};
use crate::checks::check_whole;
use crate::{Model, ModelSpec, Recipe, StepResult, TrainError, Weights};

/// A model whose parameters, gradients and moments are flat slices of one layout.
pub(super) struct CpuModel<F> {
    spec: ModelSpec,
    recipe: Recipe,
    isa: Isa,
    threads: u32,
    lr: f64,
    layout: Layout,
    parameters: Buffer<F>,
    /// The parameters as the passes have them, where those are rounded.
    stored: Buffer<F>,
    shards: Vec<Shard<F>>,
    criterion: Criterion,
    optimizer: Optimizer<F>,
}

impl<F: Float> CpuModel<F> {
    /// A model that starts from given weights and computes with as many threads as this thread was given.
    pub(super) fn new(
        spec: &ModelSpec,
        start: &Weights,
        recipe: &Recipe,
        isa: Isa,
        threads: u32,
    ) -> Result<Self, TrainError> {
        let (network, layout) = network(spec, recipe, isa, 0)?;
        let converted = |values: &[f32]| values.iter().map(|value| F::from_f32(*value)).collect();
        let tensors: Vec<(&[usize], Vec<F>)> =
            start.0.iter().map(|tensor| (tensor.dims.as_slice(), converted(&tensor.values))).collect();
        let parameters = layout.flatten(&tensors).ok_or_else(|| TrainError::Weights {
            model: spec.kind,
            found: start.0.iter().map(|tensor| tensor.dims.clone()).collect(),
        })?;
        let mut model = Self {
            spec: spec.clone(),
            recipe: *recipe,
            isa,
            threads,
            lr: recipe.optimizer.lr,
            parameters: Buffer::of(parameters.into_iter()),
            stored: Buffer::new(),
            shards: vec![Shard::new(network, layout.count())],
            criterion: Criterion::new(recipe.loss, spec.kind, isa),
            optimizer: Optimizer::new(&recipe.optimizer, layout.count(), isa),
            layout,
        };
        model.round_parameters();
        Ok(model)
    }

    fn round_parameters(&mut self) {
        if F::ROUNDED_IN_STORE {
            let count = self.layout.count();
            let exact = self.parameters.first(count).iter();
            self.stored
                .take(count)
                .iter_mut()
                .zip(exact)
                .for_each(|(stored, exact)| *stored = exact.stored());
        }
    }

    /// Divides a batch among shards and says how many; they are made when they are first needed.
    fn load(&mut self, batch: &Batch) -> Result<usize, TrainError> {
        let (rows, width) = (batch.rows, batch.width);
        if rows == 0 {
            return Err(TrainError::NoRows);
        }
        if width != self.spec.features {
            let (model, expected) = (self.spec.kind, self.spec.features);
            return Err(TrainError::Width { model, expected, found: width });
        }
        if let Some(classes) = self.spec.kind.classes() {
            let (tokens, what) = if self.spec.kind.reads_tokens() { (width, "token") } else { (0, "label") };
            check_whole(&batch.features[..rows * tokens], tokens.max(1), classes, 0, what)?;
            check_whole(&batch.targets, 1, classes, 0, what)?;
        }
        let count = self.shards[0].count(rows);
        for number in self.shards.len()..count {
            let (network, layout) = network(&self.spec, &self.recipe, self.isa, number as u64)?;
            self.shards.push(Shard::new(network, layout.count()));
        }
        each(&mut self.shards[..count], self.threads, |at, shard| {
            shard.load(&Rows::of(batch, rows_of(at, count, rows)));
        });
        Ok(count)
    }

    /// The shards of a batch and the parameters that they pass with.
    fn parts(&mut self, count: usize) -> (&mut [Shard<F>], &[F]) {
        let parameters = if F::ROUNDED_IN_STORE { &self.stored } else { &self.parameters };
        (&mut self.shards[..count], parameters.first(self.layout.count()))
    }

    fn forward(&mut self, count: usize, training: bool) {
        let threads = self.threads;
        let (shards, parameters) = self.parts(count);
        each(shards, threads, |_, shard| shard.forward(parameters, training));
    }

    /// The score of all shards; what counts of the batch in a step decides how large the gradients are.
    fn judge(&mut self, count: usize, share: f64) -> Score {
        let (criterion, threads, shards) = (self.criterion, self.threads, &mut self.shards[..count]);
        let answers: usize = shards.iter().map(Shard::answers).sum();
        each(shards, threads, |_, shard| shard.judge(&criterion, share / answers as f64));
        let mut total = Score::default();
        shards.iter().for_each(|shard| total.add(shard.score()));
        total
    }

    fn result(&self, score: Score) -> StepResult {
        let answers = score.answers as f64;
        let accuracy = self.spec.kind.classifies().then(|| score.right as f64 / answers);
        StepResult { loss: score.loss / answers, accuracy }
    }

    fn pass(&mut self, batch: &Batch, share: f64) -> Result<StepResult, TrainError> {
        let count = {
            let _stage = stage!("host_to_device");
            self.load(batch)?
        };
        {
            let _stage = stage!("forward");
            self.forward(count, true);
        }
        let score = {
            let _stage = stage!("loss");
            self.judge(count, share)
        };
        let _stage = stage!("backward");
        let threads = self.threads;
        let (shards, parameters) = self.parts(count);
        each(shards, threads, |_, shard| shard.backward(parameters));
        Ok(self.result(score))
    }

    fn optimize(&mut self) {
        let gradients = sum_gradients(&mut self.shards);
        if let Some(most) = self.recipe.clip {
            clip(gradients, most);
        }
        self.optimizer.step(self.lr, self.parameters.take(gradients.len()), gradients);
        self.round_parameters();
    }
}

impl<F: Float> Model for CpuModel<F> {
    fn train_step(&mut self, batches: &[Batch]) -> Result<StepResult, TrainError> {
        let rows: usize = batches.iter().map(|batch| batch.rows).sum();
        let mut total = StepResult { loss: 0.0, accuracy: self.spec.kind.classifies().then_some(0.0) };
        for batch in batches {
            // Every row counts alike, whatever batch it came in.
            let share = batch.rows as f64 / rows as f64;
            let result = self.pass(batch, share)?;
            total.loss += share * result.loss;
            total.accuracy = total.accuracy.zip(result.accuracy).map(|(sum, part)| sum + share * part);
        }
        let _stage = stage!("optimizer");
        self.optimize();
        Ok(total)
    }

    fn evaluate(&mut self, batch: &Batch) -> Result<StepResult, TrainError> {
        let count = self.load(batch)?;
        self.forward(count, false);
        let score = self.judge(count, 1.0);
        Ok(self.result(score))
    }

    fn set_learning_rate(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn write_checkpoint(&self, folder: &Path) -> Result<(), TrainError> {
        checkpoint::write(folder, &self.layout, self.parameters.first(self.layout.count()), &self.optimizer)
    }

    fn read_checkpoint(&mut self, folder: &Path) -> Result<(), TrainError> {
        let (parameters, steps, moments) = checkpoint::read(folder, &self.layout, &self.optimizer)?;
        self.parameters = Buffer::of(parameters.into_iter());
        self.optimizer.restore(steps, moments);
        self.round_parameters();
        Ok(())
    }

    fn parameters(&self) -> u64 {
        self.layout.dims().map(|dims| dims.iter().product::<usize>() as u64).sum()
    }
}
