//! How fast a what-if is simulated: 10^6 steps of a model whose batches workers load, with stages that vary.

use std::time::Instant;

use laptime_analyse::forecast::{Loader, StageTimes, simulated_step_s};

const STEPS: u64 = 1_000_000;
/// The bar: seconds.
const BAR_S: f64 = 1.0;

pub(crate) fn run() {
    let shape = |salt: u64| (0..1_000_u64).map(|at| 0.5 + (at * salt % 1_000) as f64 / 1_000.0).collect();
    let stages =
        StageTimes { compute_s: 0.04, load_s: 0.06, compute_shape: shape(7_919), load_shape: shape(104_729) };
    println!("{STEPS} simulated steps   (bar: {BAR_S} s)");
    println!("  workers   a step, ms   seconds");
    for workers in [0, 1, 2, 8, 64] {
        let loader = Loader { workers, ahead: 2, start_s: 0.0 };
        let began = Instant::now();
        let step_s = simulated_step_s(&stages, &loader, STEPS, STEPS);
        println!("  {workers:>7}   {:>10.1}   {:>7.3}", step_s * 1e3, began.elapsed().as_secs_f64());
    }
}
