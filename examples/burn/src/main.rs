//! A training by Burn's own trainer, recorded: the loop is the library's, so it is timed from around.
//!
//! `cargo run --release && laptime report`
//!
//! - Batches: [`recorded_loader`] wraps Burn's loader, so that each pass is an epoch and each batch a step.
//! - Stages: the model opens spans of `tracing`, and laptime's layer makes stages of them.
//! - The rest of each step, such as Burn's metrics, is what no stage claims: `unaccounted`.

mod recorded_loader;
mod shown_losses;

use burn::data::{dataloader::DataLoaderBuilder, dataloader::batcher::Batcher, dataset::InMemDataset};
use burn::nn::{Linear, LinearConfig, Relu, loss::MseLoss, loss::Reduction};
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::prelude::*;
use burn::train::logger::InMemoryMetricLogger;
use burn::train::metric::LossMetric;
use burn::train::{InferenceStep, Learner, RegressionOutput, SupervisedTraining, TrainOutput, TrainStep};
use laptime::{FitFacts, Options, Recorder, Status, TracingLayer};
use tracing::info_span;
use tracing_subscriber::prelude::*;

use recorded_loader::RecordedLoader;
use shown_losses::ShownLosses;

const ROWS: usize = 131_072;
const INPUTS: usize = 16;
const BATCH: usize = 256;
const EPOCHS: usize = 6;

type Row = ([f32; INPUTS], f32);

#[derive(Clone, Debug)]
struct Batch {
    inputs: Tensor<2>,
    targets: Tensor<2>,
}

struct Rows;

impl Batcher<Row, Batch> for Rows {
    fn batch(&self, rows: Vec<Row>, device: &Device) -> Batch {
        let (inputs, targets): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let (inputs, count) = (inputs.concat(), targets.len());
        Batch {
            inputs: Tensor::from_data(TensorData::new(inputs, [count, INPUTS]), device),
            targets: Tensor::from_data(TensorData::new(targets, [count, 1]), device),
        }
    }
}

#[derive(Module, Debug)]
struct Model {
    hidden: Linear,
    out: Linear,
    relu: Relu,
}

impl Model {
    fn new(width: usize, device: &Device) -> Self {
        let hidden = LinearConfig::new(INPUTS, width).init(device);
        Self { hidden, out: LinearConfig::new(width, 1).init(device), relu: Relu::new() }
    }
}

impl InferenceStep for Model {
    type Input = Batch;
    type Output = RegressionOutput;

    fn step(&self, Batch { inputs, targets }: Batch) -> RegressionOutput {
        let output = info_span!("forward")
            .in_scope(|| self.out.forward(self.relu.forward(self.hidden.forward(inputs))));
        let _loss = info_span!("loss").entered();
        let loss = MseLoss::new().forward(output.clone(), targets.clone(), Reduction::Mean);
        RegressionOutput { loss, output, targets }
    }
}

impl TrainStep for Model {
    type Input = Batch;
    type Output = RegressionOutput;

    fn step(&self, batch: Batch) -> TrainOutput<RegressionOutput> {
        let item = InferenceStep::step(self, batch);
        let _backward = info_span!("backward").entered();
        TrainOutput::new(self, item.loss.backward(), item)
    }

    fn optimize(self, optim: &mut ModuleOptimizer, rate: ModuleLearningRate, grads: GradientsParams) -> Self {
        let _optimizer = info_span!("optimizer").entered();
        optim.step(rate, self, grads)
    }
}

fn main() {
    tracing_subscriber::registry().with(TracingLayer::for_target(module_path!())).init();
    let recorder = Recorder::start(&Options::named("burn"));
    let device = Device::flex();
    device.seed(1);
    let loader = |rows| {
        let loader = DataLoaderBuilder::new(Rows).batch_size(BATCH).shuffle(1);
        loader.build(InMemDataset::new(generated(rows)))
    };
    let training = SupervisedTraining::new(
        std::env::temp_dir(),
        RecordedLoader::training(loader(ROWS)),
        RecordedLoader::validation(loader(ROWS / 8)),
    );
    let training = training
        .num_epochs(EPOCHS)
        .metrics((LossMetric::new(),))
        .with_metric_logger(InMemoryMetricLogger::new())
        .renderer(Box::new(ShownLosses::default()))
        .with_application_logger(None); // spans are laptime's here
    let model = Model::new(512, &device.clone().autodiff());
    let fit = recorder.fit(FitFacts {
        label: "regression".into(),
        framework: Some("burn".into()),
        rows: Some(ROWS as u64),
        batch: Some(BATCH as u64),
        epochs: Some(EPOCHS as u64),
        parameters: Some(model.num_params() as u64),
        ..FitFacts::default()
    });
    training.launch(Learner::new(model, AdamConfig::new().init(), 3e-3));
    drop(fit);
    if let Some(run) = recorder.finish(Status::Finished, None).run {
        println!("run kept in {}", run.display());
    }
}

/// Rows of a smooth function.
fn generated(rows: usize) -> Vec<Row> {
    let mut random = fastrand::Rng::with_seed(rows as u64);
    let row = |_| {
        let inputs = std::array::from_fn(|_| random.f32() * 2.0 - 1.0);
        (inputs, inputs.iter().map(|x| (3.0 * x).sin()).sum())
    };
    (0..rows).map(row).collect()
}
