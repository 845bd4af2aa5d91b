//! How close a Loader comes to a bare gather of the same rows: `cargo run --release -p laptime-load --example gather_speed`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it shows a measurement, and ends if there is none"
)]

use std::hint::black_box;
use std::time::Instant;

use laptime_load::loader::{Loader, LoaderOptions, Shuffle};
use laptime_load::pack::{Column, ColumnData, ColumnKind, Element, PackOptions, PackSchema, PackWriter};
use laptime_load::pack::{Provenance, RowBlock};

const ROWS: usize = 1_000_000;
const BATCH: usize = 256;
const BATCHES: usize = ROWS / BATCH;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("table.pack");
    let fixed = |name: &str, shape| Column::new(name, ColumnKind::Fixed { element: Element::F32, shape });
    let schema = PackSchema { columns: vec![fixed("x", vec![10]), fixed("y", Vec::new())] };
    let mut writer =
        PackWriter::create(&target, schema, Provenance::default(), PackOptions::default()).unwrap();
    let features: Vec<u8> = (0..ROWS * 10).flat_map(|number| (number as f32).to_le_bytes()).collect();
    let targets: Vec<u8> = (0..ROWS).flat_map(|number| (number as f32).to_le_bytes()).collect();
    let columns = vec![ColumnData::Fixed(features.clone()), ColumnData::Fixed(targets.clone())];
    writer.write(&RowBlock { rows: ROWS, columns }).unwrap();
    writer.finish().unwrap();

    let mut order: Vec<u32> = (0..ROWS as u32).collect();
    let mut state = 1_u64;
    for place in (1..ROWS).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(place, ((state >> 33) as usize) % (place + 1));
    }
    let options = |verify| LoaderOptions {
        batch_size: BATCH,
        shuffle: Shuffle::Exact,
        verify,
        ..LoaderOptions::default()
    };
    let mut checked = Loader::open(&target, options(true)).unwrap();
    let mut unchecked = Loader::open(&target, options(false)).unwrap();
    let (mut bare, mut with, mut without) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..15 {
        bare.push(micros(|| bare_gather(&features, &targets, &order)));
        with.push(micros(|| load(&mut checked)));
        without.push(micros(|| load(&mut unchecked)));
    }
    let (bare, with, without) = (median(bare), median(with), median(without));
    println!(
        "us a batch of {BATCH} x (10 + 1) float32, median of 15 epochs: bare gather {bare:.2}, Loader {with:.2}, without checks {without:.2}"
    );
    println!("Loader at {:.0} % of the bare gather", 100.0 * bare / with);
}

fn micros(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6 / BATCHES as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Rows copied into one buffer, by an order that is there already.
fn bare_gather(features: &[u8], targets: &[u8], order: &[u32]) {
    let mut x = vec![[0_u8; 40]; BATCH];
    let mut y = vec![[0_u8; 4]; BATCH];
    for batch in order.chunks_exact(BATCH) {
        for (out, row) in x.iter_mut().zip(batch) {
            out.copy_from_slice(&features[*row as usize * 40..][..40]);
        }
        for (out, row) in y.iter_mut().zip(batch) {
            out.copy_from_slice(&targets[*row as usize * 4..][..4]);
        }
        black_box((&x, &y));
    }
}

fn load(loader: &mut Loader) {
    while let Some(batch) = loader.next().unwrap() {
        black_box(&batch);
    }
}
