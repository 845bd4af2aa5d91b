use laptime_load::{Batch, Dataset, Order};
use laptime_train::*;
use std::time::Instant;
fn main() {
    let threads: u32 = std::env::args().nth(1).map_or(1, |t| t.parse().unwrap());
    let only = std::env::args().nth(2);
    let engine = CpuEngine::new(threads).unwrap();
    println!("{} {}", engine.name(), engine.threads());
    for (kind, rows, size, epochs) in [
        (ModelKind::Linear, 100, 100, 2000),
        (ModelKind::Mlp, 10000, 32, 10),
        (ModelKind::Mlp, 10000, 512, 30),
        (ModelKind::Cnn, 1000, 32, 5),
        (ModelKind::Cnn, 1000, 1000, 5),
        (ModelKind::Rnn, 1000, 32, 1),
        (ModelKind::Lstm, 1000, 32, 1),
        (ModelKind::Gru, 1000, 32, 1),
        (ModelKind::Transformer, 64, 32, 1),
    ] {
        if only.as_ref().is_some_and(|only| only != kind.name()) {
            continue;
        }
        let plan = Plan::new(kind);
        let f = match kind {
            ModelKind::Linear => 1,
            ModelKind::Mlp => 10,
            ModelKind::Cnn => 784,
            ModelKind::Transformer => 64,
            _ => 50,
        };
        let data = Dataset::from_table(generate(kind, rows, f, 0));
        let spec = ModelSpec { kind, features: f, layers: plan.layers, width: plan.width, kernel: 3 };
        let dtype: Dtype = std::env::var("DTYPE").map_or(Dtype::F32, |d| d.parse().unwrap());
        let recipe = Recipe { dtype, ..Recipe::new(kind, plan.optimizer) };
        let Ok(mut model) = engine.model(&spec, &Weights::seeded(&spec, 0).unwrap(), &recipe) else {
            continue;
        };
        let batches: Vec<Batch> = data.batches(size, Order::AsStored).map(Result::unwrap).collect();
        let mut times = Vec::new();
        let mut loss = 0.0;
        for _ in 0..15 {
            let begin = Instant::now();
            for _ in 0..epochs {
                for b in &batches {
                    loss = model.train_step(std::slice::from_ref(b)).unwrap().loss;
                }
            }
            times.push(begin.elapsed().as_secs_f64() / epochs as f64);
        }
        times.sort_by(f64::total_cmp);
        let flops = spec.flops_per_sample().unwrap() as f64 * rows as f64;
        println!(
            "{kind} b{size}: {:.3} ms/epoch (min {:.3}), {:.2} us/step, {:.1} GFLOP/s loss {loss}",
            times[7] * 1e3,
            times[0] * 1e3,
            times[7] * 1e6 / batches.len() as f64,
            flops / times[7] / 1e9
        );
    }
}
