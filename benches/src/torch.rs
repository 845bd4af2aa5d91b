//! The reference models against the same models in eager PyTorch, in turns within one run.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use laptime_record::{Options, Recorder};
use laptime_train::{ModelKind, Plan, Prepared};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// Rounds that count; one before them warms both sides up.
const ROUNDS: usize = 9;

/// Something both sides train, with the epochs of one round: long enough to time, short enough to take turns.
struct Workload {
    model: ModelKind,
    rows: u64,
    batch: usize,
    epochs: u64,
}

const WORKLOADS: [Workload; 9] = [
    Workload { model: ModelKind::Linear, rows: 100, batch: 100, epochs: 2_000 },
    Workload { model: ModelKind::Mlp, rows: 10_000, batch: 32, epochs: 4 },
    Workload { model: ModelKind::Mlp, rows: 10_000, batch: 512, epochs: 15 },
    Workload { model: ModelKind::Cnn, rows: 1_000, batch: 32, epochs: 4 },
    Workload { model: ModelKind::Cnn, rows: 1_000, batch: 1_000, epochs: 4 },
    Workload { model: ModelKind::Rnn, rows: 1_000, batch: 32, epochs: 1 },
    Workload { model: ModelKind::Lstm, rows: 1_000, batch: 32, epochs: 1 },
    Workload { model: ModelKind::Gru, rows: 1_000, batch: 32, epochs: 1 },
    Workload { model: ModelKind::Transformer, rows: 320, batch: 32, epochs: 1 },
];

/// Seconds of one round.
#[derive(Clone, Copy)]
struct Seconds {
    wall: f64,
    cpu: f64,
}

/// Prints a table of both sides' epoch times and their ratios.
pub(crate) fn run() -> Result<()> {
    let python = python()?;
    let mut torch = Worker::start(&python)?;
    let folder = tempfile::tempdir()?;
    // Recording is on, as it is for whoever runs `laptime train`.
    let recorder = Recorder::start(&Options { root: Some(folder.path().into()), ..Options::default() });
    let ours = Prepared::new(&WORKLOADS[0].plan())?;
    println!(
        "{} ({} thread, recorded) against {} ({} thread)",
        ours.engine(),
        ours.threads(),
        torch.engine,
        torch.threads
    );
    println!("{ROUNDS} rounds in turns; ratio = PyTorch / laptime, above 1 is faster than PyTorch\n");
    println!(
        "{:<22} {:>12} {:>12} {:>8} {:>15} {:>10} {:>8}",
        "workload", "laptime", "PyTorch", "ratio", "min-max", "CPU ratio", "of peak"
    );
    for workload in &WORKLOADS {
        let rounds = take_turns(workload, &recorder, &mut torch)?;
        print_row(workload, &rounds, ours.peak_flops_per_s())?;
    }
    Ok(())
}

/// Both sides' rounds, the order swapped every time so that neither always follows the other.
fn take_turns(
    workload: &Workload,
    recorder: &Recorder,
    torch: &mut Worker,
) -> Result<Vec<(Seconds, Seconds)>> {
    let mut rounds = Vec::new();
    for round in 0..=ROUNDS {
        let pair = if round % 2 == 0 {
            let ours = train_here(workload, recorder)?;
            (ours, torch.train(workload)?)
        } else {
            let theirs = torch.train(workload)?;
            (train_here(workload, recorder)?, theirs)
        };
        rounds.push(pair);
    }
    rounds.remove(0);
    Ok(rounds)
}

/// The share of the peak is that of the operations that the model counts, in the median round.
fn print_row(workload: &Workload, rounds: &[(Seconds, Seconds)], peak: Option<f64>) -> Result<()> {
    let sorted = |value: fn(&(Seconds, Seconds)) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let middle = ROUNDS / 2;
    let epoch_ms = |seconds: f64| seconds * 1e3 / workload.epochs as f64;
    let ratios = sorted(|(ours, theirs)| theirs.wall / ours.wall);
    let ours = sorted(|(ours, _)| ours.wall)[middle];
    let facts = Prepared::new(&workload.plan())?.facts().clone();
    let flops = facts.flops_per_sample.unwrap_or(0) as f64 * (workload.rows * workload.epochs) as f64;
    let share = peak.map_or("-".to_owned(), |peak| format!("{:.1} %", 100.0 * flops / ours / peak));
    println!(
        "{:<22} {:>9.3} ms {:>9.3} ms {:>8.2} {:>15} {:>10.2} {:>8}",
        format!("{} {} b{}", workload.model, workload.rows, workload.batch),
        epoch_ms(ours),
        epoch_ms(sorted(|(_, theirs)| theirs.wall)[middle]),
        ratios[middle],
        format!("{:.2}-{:.2}", ratios[0], ratios[ROUNDS - 1]),
        sorted(|(ours, theirs)| theirs.cpu / ours.cpu)[middle],
        share,
    );
    Ok(())
}

impl Workload {
    fn plan(&self) -> Plan {
        let (rows, batch) = (Some(self.rows), Some(self.batch));
        Plan { rows, batch, epochs: self.epochs, ..Plan::new(self.model) }
    }
}

fn train_here(workload: &Workload, recorder: &Recorder) -> Result<Seconds> {
    let prepared = Prepared::new(&workload.plan())?;
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    prepared.train(recorder, &AtomicBool::new(false))?;
    Ok(Seconds { wall: wall.elapsed().as_secs_f64(), cpu: cpu_seconds() - cpu })
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The PyTorch side: a process that trains when a line asks it to.
struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    engine: String,
    threads: u64,
}

impl Worker {
    fn start(python: &Path) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("torch/worker.py");
        let mut child = Command::new(python)
            .arg(script)
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", python.display()))?;
        let requests = child.stdin.take().context("the worker has no input")?;
        let answers = BufReader::new(child.stdout.take().context("the worker has no output")?);
        let mut worker = Self { child, requests, answers, engine: String::new(), threads: 0 };
        let hello = worker.answer()?;
        worker.engine = hello["engine"].as_str().context("the worker did not name its engine")?.to_owned();
        worker.threads = hello["threads"].as_u64().context("the worker did not report its threads")?;
        Ok(worker)
    }

    fn train(&mut self, workload: &Workload) -> Result<Seconds> {
        let asked = json!({ "model": workload.model.name(), "rows": workload.rows, "batch": workload.batch });
        writeln!(self.requests, "{}", json!({ "workload": asked, "epochs": workload.epochs }))?;
        let answer = self.answer()?;
        let seconds = |name: &str| answer[name].as_f64().with_context(|| format!("no {name} in {answer}"));
        Ok(Seconds { wall: seconds("wall_s")?, cpu: seconds("cpu_s")? })
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(self.answers.read_line(&mut line)? > 0, "the PyTorch worker ended; its error is above");
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It would end by itself when its input closes; nobody is left to hear of a failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Python with torch: `LAPTIME_PYTHON`, else the one in laptime's cache, made when missing.
fn python() -> Result<PathBuf> {
    if let Some(python) = env::var_os("LAPTIME_PYTHON") {
        return Ok(python.into());
    }
    let home = env::var_os("HOME").context("neither LAPTIME_PYTHON nor HOME is set")?;
    let folder = Path::new(&home).join(".cache/laptime/venv");
    let python = folder.join("bin/python");
    let has_torch = || Command::new(&python).args(["-c", "import torch, numpy"]).output();
    if !has_torch().is_ok_and(|output| output.status.success()) {
        println!("making {} with torch and numpy: about 5 GB and two minutes, once", folder.display());
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "torch", "numpy"]))?;
    }
    Ok(python)
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
