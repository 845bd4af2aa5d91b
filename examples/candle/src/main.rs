//! A training by Candle, recorded: the loop is yours, so stages stand where the work is.
//!
//! `cargo run --release && laptime report`

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{AdamW, Linear, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear, loss};
use laptime::{FitFacts, Metric, Options, Recorder, Status, measured, stage};

const ROWS: usize = 16_384;
const INPUTS: usize = 32;
const CLASSES: usize = 4;
const BATCH: usize = 256;
const EPOCHS: usize = 6;

/// Points around one centre a class.
struct Points {
    inputs: Vec<f32>,
    classes: Vec<u32>,
}

impl Points {
    fn generated(rows: usize, random: &mut fastrand::Rng) -> Self {
        let classes: Vec<u32> = (0..rows).map(|_| random.u32(..CLASSES as u32)).collect();
        let mut point = |class: u32| {
            let centre = move |input| if input % CLASSES == class as usize { 0.4 } else { 0.0 };
            std::array::from_fn::<f32, INPUTS, _>(|input| centre(input) + random.f32() * 2.0 - 1.0)
        };
        Self { inputs: classes.iter().flat_map(|class| point(*class)).collect(), classes }
    }

    /// Batches as tensors, made when they are asked for.
    fn batches(&self) -> impl Iterator<Item = Result<(Tensor, Tensor)>> {
        let inputs = self.inputs.chunks(BATCH * INPUTS).zip(self.classes.chunks(BATCH));
        inputs.map(|(inputs, classes)| {
            let shape = (classes.len(), INPUTS);
            Ok((
                Tensor::from_slice(inputs, shape, &Device::Cpu)?,
                Tensor::from_slice(classes, classes.len(), &Device::Cpu)?,
            ))
        })
    }
}

struct Model {
    hidden: Linear,
    out: Linear,
}

impl Model {
    fn new(width: usize, vars: &VarBuilder) -> Result<Self> {
        let hidden = linear(INPUTS, width, vars.pp("hidden"))?;
        Ok(Self { hidden, out: linear(width, CLASSES, vars.pp("out"))? })
    }
}

impl Module for Model {
    fn forward(&self, inputs: &Tensor) -> Result<Tensor> {
        self.out.forward(&self.hidden.forward(inputs)?.relu()?)
    }
}

/// One step; gives the loss.
fn step(model: &Model, optimizer: &mut AdamW, inputs: &Tensor, classes: &Tensor) -> Result<f64> {
    let output = {
        let _forward = stage!("forward");
        model.forward(inputs)?
    };
    let loss = {
        let _loss = stage!("loss");
        loss::cross_entropy(&output, classes)?
    };
    let gradients = {
        let _backward = stage!("backward");
        loss.backward()?
    };
    let _optimizer = stage!("optimizer");
    optimizer.step(&gradients)?;
    Ok(f64::from(loss.to_scalar::<f32>()?))
}

/// The share of right answers.
fn accuracy(model: &Model, points: &Points) -> Result<f64> {
    let mut right = 0.0;
    for batch in points.batches() {
        let (inputs, classes) = batch?;
        let answers = model.forward(&inputs)?.argmax(D::Minus1)?;
        right += answers.eq(&classes)?.to_dtype(DType::F32)?.sum_all()?.to_scalar::<f32>()?;
    }
    Ok(f64::from(right) / points.classes.len() as f64)
}

fn main() -> Result<()> {
    let recorder = Recorder::start(&Options::named("candle"));
    let mut random = fastrand::Rng::with_seed(1);
    let (training, validation) =
        (Points::generated(ROWS, &mut random), Points::generated(ROWS / 8, &mut random));
    let vars = VarMap::new();
    let model = Model::new(256, &VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu))?;
    let mut optimizer = AdamW::new(vars.all_vars(), ParamsAdamW::default())?;
    let mut fit = recorder.fit(FitFacts {
        label: "points".into(),
        framework: Some("candle".into()),
        rows: Some(ROWS as u64),
        batch: Some(BATCH as u64),
        epochs: Some(EPOCHS as u64),
        ..FitFacts::default()
    });
    for number in 1..=EPOCHS {
        let epoch = fit.epoch();
        let mut sum = 0.0;
        let samples =
            |batch: &Result<(Tensor, Tensor)>| batch.as_ref().map_or(0, |(_, y)| y.elem_count() as u32);
        for batch in epoch.batches(training.batches(), samples) {
            let (inputs, classes) = batch?;
            let loss = step(&model, &mut optimizer, &inputs, &classes)?;
            epoch.loss(loss);
            sum += loss * classes.elem_count() as f64;
        }
        drop(epoch);
        let _evaluate = stage!("evaluate");
        let (loss, accuracy) = (sum / ROWS as f64, accuracy(&model, &validation)?);
        measured(Metric::Loss, loss);
        measured(Metric::ValidationAccuracy, accuracy);
        println!("epoch {number}: loss {loss:.4}, accuracy {accuracy:.3}");
    }
    drop(fit);
    if let Some(run) = recorder.finish(Status::Finished, None).run {
        println!("run kept in {}", run.display());
    }
    Ok(())
}
