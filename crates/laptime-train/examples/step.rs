use laptime_load::{Dataset, Order};
use laptime_train::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let engine = CpuEngine::new(args.get(2).map_or(1, |t| t.parse().unwrap())).unwrap();
    for (kind, features, layers, width) in [
        (ModelKind::Rnn, 50, 1, 64),
        (ModelKind::Lstm, 50, 1, 64),
        (ModelKind::Gru, 50, 1, 64),
        (ModelKind::Transformer, 64, 4, 128),
    ] {
        if args.len() > 1 && args[1] != "all" && args[1] != kind.name() {
            continue;
        }
        let spec = ModelSpec { kind, features, layers, width, kernel: 3 };
        let mut model = engine
            .model(&spec, &Weights::seeded(&spec, 0).unwrap(), &Recipe::new(kind, OptimizerKind::Adam))
            .unwrap();
        let data = Dataset::from_table(generate(kind, 32, features, 5));
        let batch: Vec<_> = data.batches(32, Order::AsStored).map(Result::unwrap).collect();
        let reps = if kind == ModelKind::Transformer { 10 } else { 300 };
        let mut times: Vec<f64> = (0..reps)
            .map(|_| {
                let t = Instant::now();
                model.train_step(&batch).unwrap();
                t.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let flops = spec.flops_per_sample().unwrap() as f64 * 32.0;
        println!(
            "{kind} median {:.3} ms, min {:.3} ms, {:.0} GFLOP/s nominal",
            times[reps / 2],
            times[0],
            flops / times[reps / 2] / 1e6
        );
    }
}
