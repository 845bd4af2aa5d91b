//! Three trainings of different size in one run: the report prints the law through them.
//!
//! `cargo run --release -p laptime --example sizes && cargo run --release -- report`

use laptime::{FitFacts, Metric, Options, Recorder, Status, measured, stage};

/// A line learned by gradient descent, one row at a time: small, and yours to replace.
#[derive(Default)]
struct Line {
    slope: f64,
    offset: f64,
}

impl Line {
    fn step(&mut self, rows: &[(f64, f64)]) -> f64 {
        let errors: Vec<f64> = {
            let _forward = stage!("forward");
            rows.iter().map(|(x, y)| self.slope * x + self.offset - y).collect()
        };
        let _optimizer = stage!("optimizer");
        for ((x, _), error) in rows.iter().zip(&errors) {
            self.slope -= 0.01 * error * x / rows.len() as f64;
            self.offset -= 0.01 * error / rows.len() as f64;
        }
        errors.iter().map(|error| error * error).sum::<f64>() / rows.len() as f64
    }
}

fn main() {
    let recorder = Recorder::start(&Options::default());
    for rows in [10_000_u64, 40_000, 160_000] {
        let data: Vec<(f64, f64)> =
            (0..rows).map(|row| row as f64 / rows as f64).map(|x| (x, 2.0 * x + 1.0)).collect();
        let facts =
            FitFacts { label: "line".into(), rows: Some(rows), batch: Some(100), ..FitFacts::default() };
        let mut fit = recorder.fit(facts);
        let mut line = Line::default();
        for _ in 0..5 {
            let mut loss = 0.0;
            let epoch = fit.epoch();
            for batch in epoch.batches(data.chunks(100), |batch| batch.len() as u32) {
                loss = line.step(batch);
                epoch.loss(loss);
            }
            drop(epoch);
            measured(Metric::Loss, loss);
        }
    }
    recorder.finish(Status::Finished, None);
}
