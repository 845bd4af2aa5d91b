//! The reference models against the same models in PyTorch, JAX and TensorFlow, in turns within one run.

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

/// Rounds that count; one before them warms all sides up.
const ROUNDS: usize = 9;

/// Something all sides train, with the epochs of one round: long enough to time, short enough to take turns.
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

/// What each framework's worker is called, and the module that must be there.
const FRAMEWORKS: [(&str, &str); 3] = [("PyTorch", "torch"), ("JAX", "jax"), ("TensorFlow", "tensorflow")];

/// What one side took for one round.
#[derive(Clone, Copy)]
struct Round {
    wall: f64,
    cpu: f64,
    /// Mean loss of the round's last epoch.
    loss: f64,
}

/// The rounds of one side for one workload.
type Rounds = Vec<Round>;

/// Prints a table of all sides' epoch times and their ratios, of one model or of all.
pub(crate) fn run(only: Option<ModelKind>) -> Result<()> {
    let python = python()?;
    let mut workers = Vec::new();
    for (name, module) in FRAMEWORKS {
        workers.push(if is_installed(&python, module) {
            Some(Worker::start(&python, module)?)
        } else {
            None
        });
        if let Some(Some(worker)) = workers.last() {
            println!("{name}: {}", worker.engine);
        } else {
            println!("{name}: not installed");
        }
    }
    let folder = tempfile::tempdir()?;
    // Recording is on, as it is for whoever runs `laptime train`.
    let recorder = Recorder::start(&Options { root: Some(folder.path().into()), ..Options::default() });
    let ours = Prepared::new(&WORKLOADS[0].plan())?;
    println!("{}, recorded, on {}", ours.engine(), cpu_name());
    println!("{ROUNDS} rounds in turns, one thread each; ms an epoch, and how many times as long as laptime");
    println!("(median, least-most): above 1 is slower than laptime\n");
    print!("{:<20} {:>9} {:>7}", "workload", "laptime", "of peak");
    FRAMEWORKS.iter().for_each(|(name, _)| print!(" {name:>11} {:>18}", "ratio"));
    println!();
    let mut cpus = vec![0.0_f64; FRAMEWORKS.len() + 1];
    for workload in WORKLOADS.iter().filter(|workload| only.is_none_or(|model| workload.model == model)) {
        let rounds = take_turns(workload, &recorder, &mut workers)?;
        print_row(workload, &rounds, ours.peak_flops_per_s())?;
        for (most, rounds) in cpus.iter_mut().zip(&rounds) {
            *most = most.max(sorted(rounds.iter().map(|round| round.cpu / round.wall)).median());
        }
    }
    print!("\nCPUs used, in the workload that used most: laptime {:.2}", cpus[0]);
    FRAMEWORKS.iter().zip(&cpus[1..]).for_each(|((name, _), cpus)| print!(", {name} {cpus:.2}"));
    println!();
    Ok(())
}

/// The rounds of laptime and of each framework, which has none where it is not installed. Another side begins
/// every time, so that none always follows the same.
fn take_turns(
    workload: &Workload,
    recorder: &Recorder,
    workers: &mut [Option<Worker>],
) -> Result<Vec<Rounds>> {
    let mut rounds = vec![Rounds::new(); workers.len() + 1];
    for round in 0..=ROUNDS {
        for turn in 0..rounds.len() {
            let side = (round + turn) % rounds.len();
            let took = match side.checked_sub(1).map(|worker| &mut workers[worker]) {
                None => train_here(workload, recorder)?,
                Some(Some(worker)) => worker.train(workload)?,
                Some(None) => continue,
            };
            rounds[side].push(took);
        }
    }
    for side in rounds.iter_mut().filter(|side| !side.is_empty()) {
        check_losses(workload, side)?;
        side.remove(0);
    }
    Ok(rounds)
}

/// Whoever does not learn does not train the same thing.
fn check_losses(workload: &Workload, rounds: &[Round]) -> Result<()> {
    let (first, last) = (rounds[0].loss, rounds[rounds.len() - 1].loss);
    // What has converged goes up and down by rounding.
    ensure!(last <= first.max(1e-6), "the loss of {} went from {first} to {last}", workload.model);
    Ok(())
}

/// The share of the peak is that of the operations that the model counts, in the median round.
fn print_row(workload: &Workload, rounds: &[Rounds], peak: Option<f64>) -> Result<()> {
    let epoch_ms = |rounds: &Rounds| {
        sorted(rounds.iter().map(|round| round.wall)).median() * 1e3 / workload.epochs as f64
    };
    let [ours, others @ ..] = rounds else { return Ok(()) };
    let facts = Prepared::new(&workload.plan())?.facts().clone();
    let flops = facts.flops_per_sample.unwrap_or(0) as f64 * workload.rows as f64;
    let share = peak.map(|peak| format!("{:.1} %", 1e5 * flops / epoch_ms(ours) / peak));
    print!(
        "{:<20} {:>9.4} {:>7}",
        format!("{} {} b{}", workload.model, workload.rows, workload.batch),
        epoch_ms(ours),
        share.unwrap_or_else(|| "-".to_owned()),
    );
    for theirs in others {
        if theirs.is_empty() {
            print!(" {:>30}", "not installed");
            continue;
        }
        let ratios = sorted(theirs.iter().zip(ours).map(|(theirs, ours)| theirs.wall / ours.wall));
        let [median, least, most] = [ratios.median(), ratios.least(), ratios.most()].map(three_digits);
        let range = format!("{median} ({least}-{most})");
        print!(" {:>11.4} {range:>18}", epoch_ms(theirs));
    }
    println!();
    Ok(())
}

/// As many digits as a ratio's spread leaves any sense to.
fn three_digits(ratio: f64) -> String {
    let decimals = if ratio >= 100.0 { 0 } else { 1 + usize::from(ratio < 10.0) };
    format!("{ratio:.decimals$}")
}

/// Values in order.
struct Sorted(Vec<f64>);

fn sorted(values: impl Iterator<Item = f64>) -> Sorted {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    Sorted(values)
}

impl Sorted {
    fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or(0.0)
    }

    fn least(&self) -> f64 {
        self.0.first().copied().unwrap_or(0.0)
    }

    fn most(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }
}

impl Workload {
    fn plan(&self) -> Plan {
        let (rows, batch) = (Some(self.rows), Some(self.batch));
        Plan { rows, batch, epochs: self.epochs, ..Plan::new(self.model) }
    }
}

fn train_here(workload: &Workload, recorder: &Recorder) -> Result<Round> {
    let prepared = Prepared::new(&workload.plan())?;
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    let outcome = prepared.train(recorder, &AtomicBool::new(false))?;
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let loss = outcome.epochs.last().context("no epoch was trained")?.loss;
    Ok(Round { wall, cpu, loss })
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The processor as the kernel names it.
fn cpu_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("an unnamed CPU", |(_, name)| name).to_owned()
}

/// A framework's side: a process that trains when a line asks it to.
struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    engine: String,
}

impl Worker {
    fn start(python: &Path, module: &str) -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("frameworks");
        let script = folder.join(format!("{module}_worker.py"));
        let mut child = Command::new(python)
            .arg(script)
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", python.display()))?;
        let requests = child.stdin.take().context("the worker has no input")?;
        let answers = BufReader::new(child.stdout.take().context("the worker has no output")?);
        let mut worker = Self { child, requests, answers, engine: String::new() };
        let hello = worker.answer()?;
        worker.engine = hello["engine"].as_str().context("the worker did not name its engine")?.to_owned();
        Ok(worker)
    }

    fn train(&mut self, workload: &Workload) -> Result<Round> {
        let asked = json!({ "model": workload.model.name(), "rows": workload.rows, "batch": workload.batch });
        writeln!(self.requests, "{}", json!({ "workload": asked, "epochs": workload.epochs }))?;
        let answer = self.answer()?;
        let number = |name: &str| answer[name].as_f64().with_context(|| format!("no {name} in {answer}"));
        Ok(Round { wall: number("wall_s")?, cpu: number("cpu_s")?, loss: number("loss")? })
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(
            self.answers.read_line(&mut line)? > 0,
            "the worker of {} ended; its error is above",
            self.engine
        );
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
    if !is_installed(&python, "torch") {
        println!("making {} with torch and numpy: about 5 GB and two minutes, once", folder.display());
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "torch", "numpy"]))?;
    }
    Ok(python)
}

fn is_installed(python: &Path, module: &str) -> bool {
    let import = Command::new(python).args(["-c", &format!("import {module}, numpy")]).output();
    import.is_ok_and(|output| output.status.success())
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
