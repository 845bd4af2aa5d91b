//! How much memory and disk 10^8 spans take, and whether every one is counted.

use std::time::Instant;

use laptime_core::{Event, Record, Status};
use laptime_record::{Options, Recorder, stage};
use laptime_store::RunReader;

const SPANS: u64 = 100_000_000;
/// The bar: how much the process may grow.
const BAR_MIB: f64 = 16.0;

pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let recorder = Recorder::start(&Options { root: Some(folder.path().into()), ..Options::default() });
    record(10_000);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let before = resident_mib()?;
    let began = Instant::now();
    let mut most: f64 = before;
    for _ in 0..100 {
        record(SPANS / 100);
        most = most.max(resident_mib()?);
    }
    let took = began.elapsed().as_secs_f64();
    let finished = recorder.finish(Status::Finished, None);
    let run = finished.run.ok_or_else(|| anyhow::anyhow!("the run was not kept"))?;
    let disk: u64 =
        std::fs::read_dir(&run)?.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    let (kept, dropped, counted) = counted(&run)?;
    println!("{SPANS} spans in {took:.1} s, back to back: far faster than any training records");
    println!(
        "  memory before {before:.1} MiB, most {most:.1} MiB: grew by {:.1} MiB   (bar: {BAR_MIB} MiB)",
        most - before
    );
    println!("  log on disk {:.0} MiB", disk as f64 / 1024.0 / 1024.0);
    println!("  kept {kept}, dropped {dropped}, together {} of {}", kept + dropped, SPANS + 10_000);
    println!("  counted in the totals {counted}");
    Ok(())
}

fn record(spans: u64) {
    for _ in 0..spans {
        let _guard = stage!("bench");
    }
}

fn resident_mib() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()).unwrap_or("0").parse()?;
    Ok(kib / 1024.0)
}

/// Spans in the log, events dropped, spans in the last totals.
fn counted(run: &std::path::Path) -> anyhow::Result<(u64, u64, u64)> {
    let (mut kept, mut dropped, mut counted) = (0, 0, 0);
    RunReader::open(run)?.poll(&mut |_, record| match record {
        Record::Event { event: Event::Span { .. }, .. } => kept += 1,
        Record::State(state) if state.lane == 0 => {
            dropped = state.dropped;
            counted = state.totals.iter().map(|total| total.count).sum();
        }
        _ => {}
    })?;
    Ok((kept, dropped, counted))
}
