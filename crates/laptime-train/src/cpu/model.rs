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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::float::Bf16;
    use crate::threads::use_threads;
    use crate::{LossKind, ModelKind, OptimizerKind, generate};

    /// A small one of each kind, with two layers.
    fn spec(kind: ModelKind) -> ModelSpec {
        let features = match kind {
            ModelKind::Cnn => 784,
            _ => 6,
        };
        ModelSpec { kind, features, layers: 2, width: 12, kernel: 3 }
    }

    fn recipe(kind: ModelKind) -> Recipe {
        let dropout = if kind == ModelKind::Linear { 0.0 } else { 0.2 };
        Recipe { dropout, clip: Some(1.0), ..Recipe::new(kind, OptimizerKind::Adam) }
    }

    fn model<F: Float>(kind: ModelKind, isa: Isa, threads: u32, seed: u64) -> CpuModel<F> {
        let (spec, recipe) = (spec(kind), recipe(kind));
        CpuModel::new(&spec, &Weights::seeded(&spec, seed).unwrap(), &recipe, isa, threads).unwrap()
    }

    fn batch(kind: ModelKind, rows: usize) -> Batch {
        let data = laptime_load::Dataset::from_table(generate(kind, rows, spec(kind).features, 3));
        data.batches(rows, laptime_load::Order::AsStored).next().unwrap().unwrap()
    }

    fn losses<F: Float>(mut model: CpuModel<F>, batches: &[Batch]) -> Vec<f64> {
        let steps = batches.iter().cycle().take(2 * batches.len());
        steps.map(|batch| model.train_step(std::slice::from_ref(batch)).unwrap().loss).collect()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_losses_to_the_last_bit() {
        for kind in ModelKind::ALL {
            // A batch of many shards, a smaller one as the last of an epoch is, and one row for all threads.
            let sizes = if kind == ModelKind::Mlp { [20_000, 9_000, 1] } else { [150, 70, 1] };
            let with = move |threads| {
                let train = move || {
                    use_threads(threads).unwrap();
                    let batches = sizes.map(|rows| batch(kind, rows));
                    losses::<f32>(model(kind, Isa::best(), threads, 0), &batches)
                };
                std::thread::spawn(train).join().unwrap()
            };
            let alone = with(1);
            assert!(alone.iter().all(|loss| loss.is_finite()), "{kind}: {alone:?}");
            for threads in [2, 3, 5] {
                assert_eq!(with(threads), alone, "{kind} with {threads} threads");
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_losses_up_to_rounding() {
        for kind in ModelKind::ALL {
            let batches = [batch(kind, 40), batch(kind, 7)];
            let with = |isa| losses::<f64>(model(kind, isa, 1, 0), &batches);
            let best = with(Isa::best());
            for isa in Isa::available() {
                for (one, other) in with(isa).iter().zip(&best) {
                    assert!((one / other - 1.0).abs() < 1e-9, "{kind} on {isa}: {one} is not {other}");
                }
                let single = losses::<f32>(model(kind, isa, 1, 0), &batches);
                let half = losses::<Bf16>(model(kind, isa, 1, 0), &batches);
                for ((single, half), best) in single.iter().zip(&half).zip(&best) {
                    assert!((single / best - 1.0).abs() < 1e-3, "{kind} on {isa}: {single} is not {best}");
                    assert!((half / best - 1.0).abs() < 0.1, "{kind} on {isa}: {half} is not {best}");
                }
            }
        }
    }

    #[test]
    fn the_gradients_of_every_model_are_those_of_finite_differences() {
        for kind in ModelKind::ALL {
            let recipe = Recipe::new(kind, OptimizerKind::Sgd);
            let spec = ModelSpec { layers: 1, width: 4, ..spec(kind) };
            let start = Weights::seeded(&spec, 1).unwrap();
            let mut model = CpuModel::<f64>::new(&spec, &start, &recipe, Isa::best(), 1).unwrap();
            let batch = batch(kind, 3);
            model.pass(&batch, 1.0).unwrap();
            let gradients = sum_gradients(&mut model.shards).to_vec();
            let exact = model.parameters.first(gradients.len()).to_vec();
            // Some of all: there are thousands, and a pass for each.
            let chosen: Vec<usize> = (0..gradients.len()).step_by(gradients.len() / 97 + 1).collect();
            let values: Vec<f64> = chosen.iter().map(|at| exact[*at]).collect();
            let slopes: Vec<f64> = chosen.iter().map(|at| gradients[*at]).collect();
            crate::cpu::finite_differences::assert_gradients(&values, &slopes, |moved| {
                for (at, value) in chosen.iter().zip(moved) {
                    model.parameters.all()[*at] = *value;
                }
                model.evaluate(&batch).unwrap().loss
            });
        }
    }

    #[test]
    fn training_goes_on_from_a_checkpoint_as_if_it_had_not_been_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        for kind in [ModelKind::Mlp, ModelKind::Cnn, ModelKind::Lstm, ModelKind::Transformer] {
            for optimizer in OptimizerKind::ALL {
                let place = folder.path().join(kind.name()).join(optimizer.name());
                let batch = [batch(kind, 5)];
                let recipe = Recipe::new(kind, optimizer);
                let model = |seed| {
                    let start = Weights::seeded(&spec(kind), seed).unwrap();
                    CpuModel::<f32>::new(&spec(kind), &start, &recipe, Isa::best(), 1).unwrap()
                };
                let (mut trained, mut resumed) = (model(0), model(1));
                for _ in 0..3 {
                    trained.train_step(&batch).unwrap();
                }
                trained.write_checkpoint(&place).unwrap();
                resumed.read_checkpoint(&place).unwrap();
                for _ in 0..2 {
                    let (resumed, trained) = (resumed.train_step(&batch), trained.train_step(&batch));
                    assert_eq!(resumed.unwrap(), trained.unwrap(), "{kind} {optimizer}");
                }
            }
        }
    }

    #[test]
    fn a_checkpoint_of_another_model_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        model::<f32>(ModelKind::Mlp, Isa::best(), 1, 0).write_checkpoint(folder.path()).unwrap();
        let refused = |error| matches!(error, Err(TrainError::CheckpointUnreadable { .. }));
        assert!(refused(model::<f32>(ModelKind::Rnn, Isa::best(), 1, 0).read_checkpoint(folder.path())));
        assert!(refused(model::<f64>(ModelKind::Mlp, Isa::best(), 1, 0).read_checkpoint(folder.path())));
        std::fs::write(folder.path().join("model.safetensors"), [255; 20]).unwrap();
        assert!(refused(model::<f32>(ModelKind::Mlp, Isa::best(), 1, 0).read_checkpoint(folder.path())));
    }

    #[test]
    fn batches_that_do_not_fit_the_model_are_errors_not_panics() {
        let step = |kind, rows, width, feature, target| {
            let batch =
                Batch { rows, width, features: vec![feature; rows * width], targets: vec![target; rows] };
            model::<f32>(kind, Isa::best(), 1, 0).train_step(&[batch])
        };
        assert!(matches!(step(ModelKind::Mlp, 0, 6, 0.0, 0.0), Err(TrainError::NoRows)));
        assert!(matches!(step(ModelKind::Mlp, 2, 5, 0.0, 0.0), Err(TrainError::Width { .. })));
        assert!(matches!(step(ModelKind::Cnn, 2, 784, 0.0, 10.0), Err(TrainError::Label { .. })));
        assert!(matches!(step(ModelKind::Gru, 2, 6, 20.0, 0.0), Err(TrainError::Label { .. })));
        assert!(matches!(step(ModelKind::Transformer, 2, 6, 0.0, -1.0), Err(TrainError::Label { .. })));
    }

    #[test]
    fn numbers_that_overflow_or_are_none_show_in_the_loss() {
        for (kind, loss) in [(ModelKind::Mlp, LossKind::Mse), (ModelKind::Linear, LossKind::Huber)] {
            for feature in [f32::NAN, f32::INFINITY, f32::MAX] {
                let (spec, recipe) = (spec(kind), Recipe { loss, ..Recipe::new(kind, OptimizerKind::Sgd) });
                let start = Weights::seeded(&spec, 0).unwrap();
                let mut model = CpuModel::<f32>::new(&spec, &start, &recipe, Isa::best(), 1).unwrap();
                let batch = Batch { rows: 1, width: 6, features: vec![feature; 6], targets: vec![0.0] };
                let mut step = || model.train_step(std::slice::from_ref(&batch)).unwrap().loss;
                assert!((0..3).any(|_| !step().is_finite()), "{kind} {feature}");
            }
        }
        let mut cnn = model::<f32>(ModelKind::Cnn, Isa::best(), 1, 0);
        let batch = Batch { rows: 1, width: 784, features: vec![f32::NAN; 784], targets: vec![0.0] };
        assert!(cnn.train_step(&[batch]).unwrap().loss.is_nan());
    }

    #[test]
    fn one_unit_and_one_row_train() {
        for kind in ModelKind::ALL.into_iter().filter(|kind| *kind != ModelKind::Transformer) {
            let spec = ModelSpec { width: 1, ..spec(kind) };
            let recipe = Recipe::new(kind, OptimizerKind::Adam);
            let start = Weights::seeded(&spec, 0).unwrap();
            let mut model = CpuModel::<f32>::new(&spec, &start, &recipe, Isa::best(), 1).unwrap();
            let batch = [batch(kind, 1)];
            let losses: Vec<f64> = (0..20).map(|_| model.train_step(&batch).unwrap().loss).collect();
            assert!(losses[19] < losses[0], "{kind}: {losses:?}");
        }
    }
}
