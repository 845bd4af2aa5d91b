//! What one stage costs a Rust program: hot, and after the caches were swept.

use std::hint::black_box;
use std::time::Instant;

use laptime_core::Status;
use laptime_record::{Options, Recorder, stage};

const ROUNDS: usize = 41;
/// Few enough to fit the ring: a dropped record would be cheaper than a kept one.
const HOT_SPANS: u32 = 7_000;
const COLD_SPANS: usize = 15;
/// More than the last-level cache a core can call its own.
const SWEEP_BYTES: usize = 48 << 20;

/// Nanoseconds of one span by each way of taking it, all rounds.
#[derive(Default)]
struct Costs {
    empty: Vec<f64>,
    instants: Vec<f64>,
    guard: Vec<f64>,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let recorder = Recorder::start(&Options { root: Some(folder.path().into()), ..Options::default() });
    let mut hot = Costs::default();
    for _ in 0..ROUNDS {
        hot.empty.push(per_span(|| ()));
        hot.instants.push(per_span(instant_pair));
        hot.guard.push(per_span(staged));
        wait_for_drain();
    }
    let mut cold = Costs::default();
    let mut sweep = vec![1_u8; SWEEP_BYTES];
    for _ in 0..COLD_SPANS {
        cold.empty.push(after_sweep(&mut sweep, || ()));
        cold.instants.push(after_sweep(&mut sweep, instant_pair));
        cold.guard.push(after_sweep(&mut sweep, staged));
    }
    recorder.finish(Status::Finished, None);
    print_table(&hot, &cold);
    Ok(())
}

fn instant_pair() {
    let start = Instant::now();
    black_box(start.elapsed());
}

fn staged() {
    let _guard = stage!("bench");
}

fn per_span(body: impl Fn()) -> f64 {
    let start = Instant::now();
    for _ in 0..HOT_SPANS {
        body();
        black_box(());
    }
    start.elapsed().as_nanos() as f64 / f64::from(HOT_SPANS)
}

fn after_sweep(sweep: &mut [u8], body: impl Fn()) -> f64 {
    for line in sweep.iter_mut().step_by(64) {
        *line = black_box(line.wrapping_add(1));
    }
    let start = Instant::now();
    body();
    start.elapsed().as_nanos() as f64
}

/// The hot loop fills the ring faster than any training; it must be empty before the next round.
fn wait_for_drain() {
    std::thread::sleep(std::time::Duration::from_millis(120));
}

fn print_table(hot: &Costs, cold: &Costs) {
    println!(
        "one stage, ns; hot: {ROUNDS} interleaved rounds of {HOT_SPANS}; cold: {COLD_SPANS} single ones after a"
    );
    println!("sweep of {} MiB; net of an empty body", SWEEP_BYTES >> 20);
    println!();
    println!("                          min    median");
    for (name, costs) in [("hot", hot), ("cold", cold)] {
        let (empty_min, empty_median) = (lowest(&costs.empty), median(&costs.empty));
        for (what, values) in [("Instant::now pair", &costs.instants), ("stage! guard", &costs.guard)] {
            let (min, median) = (lowest(values) - empty_min, median(values) - empty_median);
            println!("{name:<5} {what:<18} {min:>7.1}  {median:>8.1}");
        }
    }
    let ratio = |empty: f64, guard: f64, pair: f64| (guard - empty) / (pair - empty);
    let by_min = ratio(lowest(&hot.empty), lowest(&hot.guard), lowest(&hot.instants));
    let by_median = ratio(median(&hot.empty), median(&hot.guard), median(&hot.instants));
    println!();
    println!("hot guard / Instant pair: {by_min:.2} by min, {by_median:.2} by median   (bar: at most 0.50)");
}

fn lowest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
