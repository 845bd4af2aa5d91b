//! Kills a recording process at random moments and checks that nothing acknowledged is lost.
//!
//! The victim is this program itself. It records spans and, after each, raises a counter in a file both
//! processes map: what the counter says when the kill strikes was acknowledged.

#![expect(unsafe_code, reason = "mapping a file that two processes share")]

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use laptime_analyse::Digest;
use laptime_core::{Counter, Event, Record, Status};
use laptime_record::{FitFacts, Options, Recorder, count, stage};
use laptime_store::{Catalogue, RunReader, salvage_rings};
use memmap2::MmapRaw;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The kill comes this long after the first span; in one trial of five, after the start of the process.
const KILL_BETWEEN_US: std::ops::Range<u64> = 0..20_000;
/// Time between spans: fast for a training, slow enough that a starved drain seldom overruns the ring.
const PAUSE: Duration = Duration::from_micros(10);
/// A process that has not recorded anything by then never will.
const PATIENCE: Duration = Duration::from_secs(20);

/// What all trials together came to.
#[derive(Default)]
struct Tally {
    trials: u64,
    failed: Vec<anyhow::Error>,
    before_first_span: u64,
    acknowledged: u64,
    found: u64,
    found_beyond_log: u64,
    dropped: u64,
    worst_closing_error: f64,
    worst_unaccounted: f64,
}

pub(crate) fn run(trials: u64) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut dice = ChaCha8Rng::seed_from_u64(2026);
    let mut tally = Tally::default();
    let began = Instant::now();
    for trial in 0..trials {
        let root = folder.path().join(trial.to_string());
        let moment = Moment { after_first_span: trial % 5 != 0, us: dice.random_range(KILL_BETWEEN_US) };
        tally.trials += 1;
        if let Err(error) = one_trial(&root, moment, &mut tally) {
            tally.failed.push(error.context(format!("trial {trial}")));
        }
        fs::remove_dir_all(&root)?;
    }
    print_tally(&tally, began.elapsed());
    tally.failed.pop().map_or(Ok(()), Err)
}

/// When the kill strikes.
#[derive(Clone, Copy)]
struct Moment {
    after_first_span: bool,
    us: u64,
}

fn one_trial(root: &Path, moment: Moment, tally: &mut Tally) -> anyhow::Result<()> {
    fs::create_dir_all(root)?;
    let acknowledged = Acknowledged::create(&root.join("acknowledged"))?;
    let mut victim = start_victim(root)?;
    let began = Instant::now();
    while moment.after_first_span && acknowledged.count() == 0 && began.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_micros(moment.us));
    victim.kill()?;
    victim.wait()?;
    let count = acknowledged.count();
    tally.acknowledged += count;
    let runs = Catalogue::at(root.join("runs")).list()?;
    let Some(run) = runs.first() else {
        ensure!(count == 0, "{count} spans were acknowledged and there is no run");
        tally.before_first_span += 1;
        return Ok(());
    };
    let found = Found::read(&run.path)?;
    found.check(count, tally)?;
    salvage_rings();
    let after = Found::read(&run.path)?;
    ensure!(after.spans == found.spans, "salvage changed {} spans to {}", found.spans, after.spans);
    ensure!(after.numbers == found.numbers, "salvage changed {:?} to {:?}", found.numbers, after.numbers);
    // To the last digit but one: the length of a tick goes through JSON.
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
    ensure!(
        same(after.wall_s, found.wall_s),
        "salvage changed the wall time from {} s to {} s",
        found.wall_s,
        after.wall_s
    );
    ensure!(
        same(after.ledger_s, found.ledger_s),
        "salvage changed the ledger from {} s to {} s",
        found.ledger_s,
        after.ledger_s
    );
    Ok(())
}

fn start_victim(root: &Path) -> anyhow::Result<Child> {
    let this = std::env::current_exe()?;
    Ok(Command::new(this).arg("kill-victim").arg(root).spawn()?)
}

/// Records until it is killed.
pub(crate) fn victim(root: &Path) -> anyhow::Result<()> {
    let acknowledged = Acknowledged::create(&root.join("acknowledged"))?;
    let recorder = Recorder::start(&Options { root: Some(root.join("runs")), ..Options::default() });
    let mut fit = recorder.fit(FitFacts::default());
    let _epoch = fit.epoch();
    let _training = stage!("training \u{1f3c1}");
    for number in 0.. {
        {
            let _work = stage!("work");
            count(Counter::BatchBytes, number);
        }
        acknowledged.raise(number + 1);
        let pause = Instant::now();
        while pause.elapsed() < PAUSE {
            std::hint::spin_loop();
        }
    }
    Ok(())
}

/// A number in a file that two processes map; it survives the kill of one.
struct Acknowledged {
    map: MmapRaw,
    _file: File,
}

impl Acknowledged {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.set_len(8)?;
        Ok(Self { map: MmapRaw::map_raw(&file)?, _file: file })
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: the mapping is eight bytes long, page-aligned, lives as long as `self`, and both
        // processes touch it only as an atomic.
        unsafe { &*self.map.as_mut_ptr().cast::<AtomicU64>() }
    }

    fn raise(&self, count: u64) {
        self.word().store(count, Ordering::Release);
    }

    fn count(&self) -> u64 {
        self.word().load(Ordering::Acquire)
    }
}

/// What a killed run says.
struct Found {
    spans: u64,
    numbers: Vec<u64>,
    dropped: u64,
    open: Vec<String>,
    wall_s: f64,
    ledger_s: f64,
    unaccounted_s: f64,
    status: Status,
}

impl Found {
    fn read(run: &Path) -> anyhow::Result<Self> {
        let mut reader = RunReader::open(run)?;
        let mut digest = Digest::new(reader.meta().clone());
        let (mut spans, mut numbers, mut dropped) = (0, Vec::new(), BTreeMap::new());
        reader.poll(&mut |_, record| {
            digest.take(&record);
            match record {
                Record::Event { event: Event::Span { .. }, .. } => spans += 1,
                Record::Event { event: Event::Count { amount, .. }, .. } => numbers.push(amount),
                Record::State(state) => drop(dropped.insert(state.lane, state.dropped)),
                _ => {}
            }
        })?;
        let report = digest.report();
        let unaccounted = report.ledger.iter().find(|row| row.stage == "unaccounted");
        Ok(Self {
            spans,
            numbers,
            dropped: dropped.values().sum(),
            open: report.open_stages.iter().map(|open| open.stage.clone()).collect(),
            wall_s: report.wall_s,
            ledger_s: report.ledger.iter().map(|row| row.seconds).sum(),
            unaccounted_s: unaccounted.map_or(0.0, |row| row.seconds),
            status: report.run.status,
        })
    }

    fn check(&self, acknowledged: u64, tally: &mut Tally) -> anyhow::Result<()> {
        ensure!(self.status == Status::Killed, "the run is {:?}", self.status);
        ensure!(
            self.spans + self.dropped >= acknowledged,
            "{acknowledged} acknowledged, {} found",
            self.spans
        );
        let in_order = self.numbers.windows(2).all(|pair| pair[0] < pair[1]);
        ensure!(in_order, "numbers come twice or out of order");
        if self.dropped == 0 {
            let gapless = self.numbers.iter().copied().eq(0..self.numbers.len() as u64);
            ensure!(gapless && self.numbers.len() as u64 >= acknowledged, "there is a gap in the numbers");
        }
        if acknowledged > 0 {
            ensure!(
                self.open.iter().any(|stage| stage.starts_with("training")),
                "open stages: {:?}",
                self.open
            );
        }
        let error = if self.wall_s > 0.0 { (self.ledger_s / self.wall_s - 1.0).abs() } else { 0.0 };
        ensure!(error < 1e-3, "the ledger has {} s of {} s", self.ledger_s, self.wall_s);
        tally.worst_closing_error = tally.worst_closing_error.max(error);
        if acknowledged > 100 {
            tally.worst_unaccounted = tally.worst_unaccounted.max(self.unaccounted_s / self.wall_s);
        }
        tally.found += self.spans;
        tally.dropped += self.dropped;
        tally.found_beyond_log += self.spans.saturating_sub(acknowledged);
        Ok(())
    }
}

fn print_tally(tally: &Tally, took: Duration) {
    let good = tally.trials - tally.failed.len() as u64;
    println!("kill -9 at a random moment, {} times in {:.0} s", tally.trials, took.as_secs_f64());
    println!("  log opens, nothing acknowledged is lost, open");
    println!("  stages are named, salvage changes nothing   {good} of {}", tally.trials);
    println!("  acknowledged spans                          {}", tally.acknowledged);
    println!("  found in log and ring                       {}", tally.found);
    println!("  dropped and counted, the ring being full    {}", tally.dropped);
    println!("  recorded but not yet acknowledged           {}", tally.found_beyond_log);
    println!("  killed before the first span                {}", tally.before_first_span);
    println!("  ledger against wall time, worst             {:.1e}", tally.worst_closing_error);
    println!("  unaccounted, worst after 100 spans          {:.2} %", 100.0 * tally.worst_unaccounted);
    if tally.failed.is_empty() {
        println!(
            "  none of {} bounds the true rate at {:.3} % (95 %)",
            tally.trials,
            300.0 / tally.trials as f64
        );
    }
    for error in &tally.failed {
        println!("  failed: {error:#}");
    }
}
