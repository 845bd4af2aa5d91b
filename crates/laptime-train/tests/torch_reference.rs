//! The engine computes the losses that PyTorch computes from the same data and weights.
//!
//! `fixtures/torch_reference/make.py` made the numbers and holds the same formulas. It leaves out epochs that
//! PyTorch itself does not repeat in 64 bits: RMSprop at its default rate takes steps so large that rounding grows.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail by panicking")]

use laptime_load::Batch;
use laptime_train::{
    CpuEngine, Engine, ModelKind, ModelSpec, OptimizerSpec, Recipe, Schedule, Start, VOCABULARY,
    WeightTensor, Weights,
};
use serde_json::Value;

/// At most half a unit of the fourth significant digit, whatever the leading digit is.
const TOLERANCE: f64 = 5e-5;

const SIDE: usize = 28;

#[test]
fn every_epoch_loss_agrees_with_pytorch_to_four_digits() {
    let text = include_str!("../../../fixtures/torch_reference/losses.json");
    let reference: Value = serde_json::from_str(text).unwrap();
    let cases = reference["cases"].as_array().unwrap();
    let epochs: usize = cases.iter().map(|case| case["losses"].as_array().unwrap().len()).sum();
    assert_eq!((cases.len(), epochs), (30, 88), "two epochs of RMSprop at 0.01 are left out, no others");
    cases.iter().for_each(check);
}

fn check(case: &Value) {
    let theirs = case["losses"].as_array().unwrap().iter().map(|loss| loss.as_f64().unwrap());
    for (epoch, (ours, theirs)) in losses(case).into_iter().zip(theirs).enumerate() {
        let apart = (ours - theirs).abs() / theirs;
        assert!(apart < TOLERANCE, "epoch {epoch} of {case}: {ours} is {apart:.1e} from {theirs}");
    }
}

fn losses(case: &Value) -> Vec<f64> {
    let (spec, recipe) = (spec(case), recipe(case));
    let schedule: Schedule =
        case["schedule"].as_str().map_or(Schedule::Constant, |name| name.parse().unwrap());
    let engine = CpuEngine::new(1).unwrap();
    let mut model = engine.model(&spec, &weights(&spec), &recipe).unwrap();
    let (rows, batches) = (number(case, "rows"), batches(case, &spec));
    let mut epoch = |at| {
        model.set_learning_rate(schedule.rate(recipe.optimizer.lr, at, 3));
        let step =
            |batch: &Batch| model.train_step(std::slice::from_ref(batch)).unwrap().loss * batch.rows as f64;
        batches.iter().map(step).sum::<f64>() / rows as f64
    };
    (0..3).map(&mut epoch).collect()
}

fn recipe(case: &Value) -> Recipe {
    let kind: ModelKind = case["model"].as_str().unwrap().parse().unwrap();
    let usual = Recipe::new(kind, case["optimizer"].as_str().unwrap().parse().unwrap());
    let optimizer = OptimizerSpec {
        lr: case["lr"].as_f64().unwrap(),
        weight_decay: case["weight_decay"].as_f64().unwrap_or(usual.optimizer.weight_decay),
        ..usual.optimizer
    };
    let loss = case["loss"].as_str().map_or(usual.loss, |name| name.parse().unwrap());
    Recipe { optimizer, loss, clip: case["clip"].as_f64(), ..usual }
}

fn number(case: &Value, name: &str) -> usize {
    usize::try_from(case[name].as_u64().unwrap()).unwrap()
}

fn spec(case: &Value) -> ModelSpec {
    ModelSpec {
        kind: case["model"].as_str().unwrap().parse().unwrap(),
        features: number(case, "features"),
        layers: number(case, "layers"),
        width: number(case, "width"),
        kernel: number(case, "kernel"),
    }
}

fn weights(spec: &ModelSpec) -> Weights {
    let shapes = spec.shapes().unwrap();
    let tensors = shapes.into_iter().zip(1..).map(|(shape, stream)| {
        let values = match shape.start {
            Start::Uniform { fan_in } => {
                noise(stream, shape.count()).map(|value| value * scale(fan_in)).collect()
            }
            Start::One => vec![1.0; shape.count()],
            Start::Zero => vec![0.0; shape.count()],
        };
        WeightTensor { dims: shape.dims, values }
    });
    Weights(tensors.collect())
}

fn batches(case: &Value, spec: &ModelSpec) -> Vec<Batch> {
    let (rows, width) = (number(case, "rows"), spec.features);
    let (features, targets) =
        if spec.kind.reads_tokens() { sequences(rows, width) } else { table(rows, spec) };
    let size = number(case, "batch");
    let pairs = features.chunks(size * width).zip(targets.chunks(size));
    pairs
        .map(|(features, targets)| Batch {
            rows: targets.len(),
            width,
            features: features.to_vec(),
            targets: targets.to_vec(),
        })
        .collect()
}

fn table(rows: usize, spec: &ModelSpec) -> (Vec<f32>, Vec<f32>) {
    let mut features: Vec<f32> = noise(0, rows * spec.features).collect();
    let target = |(at, row): (usize, &mut [f32])| match spec.kind {
        ModelKind::Linear => 2.0 * row[0] + 1.0,
        ModelKind::Mlp => row[0] * row[1] + row[2],
        _ => brighten(row, at % 10),
    };
    let targets = features.chunks_exact_mut(spec.features).enumerate().map(target).collect();
    (features, targets)
}

/// Tokens and the one that follows each row: what comes next depends on two tokens, one time in four on chance.
fn sequences(rows: usize, length: usize) -> (Vec<f32>, Vec<f32>) {
    let chance: Vec<usize> =
        noise(0, rows * (length + 1)).map(|value| ((value + 1.0) * 32_768.0) as usize).collect();
    let row = |chance: &[usize]| {
        let mut tokens: Vec<usize> = Vec::new();
        for chance in chance {
            let back = |places: usize| tokens.iter().rev().nth(places).copied().unwrap_or(0);
            let follows = (3 * back(0) + back(1) % 2 + 1) % VOCABULARY;
            tokens.push(if chance % 4 == 0 { chance / 4 % VOCABULARY } else { follows });
        }
        tokens
    };
    let tokens: Vec<Vec<usize>> = chance.chunks_exact(length + 1).map(row).collect();
    let features = tokens.iter().flat_map(|row| row[..length].iter().map(|token| *token as f32));
    (features.collect(), tokens.iter().map(|row| row[length] as f32).collect())
}

/// Gives the class its bright band and returns its label.
fn brighten(pixels: &mut [f32], class: usize) -> f32 {
    for (at, pixel) in pixels.iter_mut().enumerate() {
        let bright = (2 * class..2 * class + 8).contains(&(at / SIDE));
        *pixel = 0.5 * *pixel + if bright { 1.0 } else { 0.0 };
    }
    class as f32
}

/// Numbers in [-1, 1), all multiples of 2^-23 and so exact in 32 bits.
fn noise(stream: u32, count: usize) -> impl Iterator<Item = f32> {
    (0..u32::try_from(count).unwrap()).map(move |at| {
        let start = stream.wrapping_mul(40_503).wrapping_add(12_345);
        let mut bits = at.wrapping_mul(2_654_435_761).wrapping_add(start);
        bits ^= bits >> 16;
        bits = bits.wrapping_mul(2_246_822_519);
        bits ^= bits >> 13;
        bits = bits.wrapping_mul(3_266_489_917);
        bits ^= bits >> 16;
        ((bits >> 8) as f32 - (1 << 23) as f32) / (1 << 23) as f32
    })
}

/// The largest power of two that is at most 1/√fan-in: multiplying by it is exact.
fn scale(fan_in: usize) -> f32 {
    let mut power = 1.0f32;
    while power * power * fan_in as f32 > 1.0 {
        power /= 2.0;
    }
    power
}
