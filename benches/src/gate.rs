//! The gate of `laptime compare --base` on commands whose truth is known, while the load of the machine changes.
//!
//! Equal trees must pass and trees 10 % slower must fail, with a limit of 5 %.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::Value;

/// CPU seconds of the command; under load it takes about a second or two.
const CPU_S: f64 = 0.7;
/// What a slower tree does more, as a share.
const SLOWER: f64 = 0.1;
/// The most busy loops at once, and how long they stay as they are.
const MOST_LOOPS: usize = 4;
const STEADY_MS: std::ops::Range<u64> = 300..4000;
/// The bars: failures of equal trees, findings of slower ones, median pairs of those.
const BARS: &str = "bars: at most 2 of 40 failed, at least 19 of 20 found, median of at most 12 pairs";

/// What one gate said.
struct Said {
    failed: bool,
    pairs: u64,
    without_waits: bool,
    ratio: f64,
}

/// Runs `equal` gates on equal trees and `slower` ones on trees 10 % slower; with a Python, on PyTorch trainings.
pub(crate) fn run(equal: u32, slower: u32, python: Option<&str>) -> anyhow::Result<()> {
    let laptime = std::env::current_exe()?.with_file_name("laptime");
    anyhow::ensure!(laptime.is_file(), "build it first: cargo build --release -p laptime-cli");
    println!("{BARS}");
    println!("  command       truth     gates  failed  median pairs  most  without waits  mean ratio");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| change_load(&ended));
        let result = all(&laptime, (equal, slower), python);
        ended.store(true, Ordering::Relaxed);
        result
    })
}

fn all(laptime: &Path, (equal, slower): (u32, u32), python: Option<&str>) -> anyhow::Result<()> {
    let Some(python) = python else {
        let count = calibrated()?;
        let more = (count as f64 * (1.0 + SLOWER)) as u64;
        row(laptime, &Case::counting(count, count), equal)?;
        return row(laptime, &Case::counting(count, more), slower);
    };
    for model in ["mlp", "cnn", "transformer"] {
        row(laptime, &Case::torch(python, model, 0.0), equal)?;
        row(laptime, &Case::torch(python, model, SLOWER), slower)?;
    }
    Ok(())
}

/// A command with what it reads in the revision and in the tree.
struct Case {
    name: String,
    command: Vec<String>,
    files: Vec<(&'static str, String)>,
    changed: (&'static str, String),
    slower: bool,
}

impl Case {
    fn counting(base: u64, head: u64) -> Self {
        let script = "read n < n.txt\nexec awk -v n=$n 'BEGIN { for (i = 0; i < n; i++) x += i }'\n";
        Self {
            name: "awk".into(),
            command: ["sh", "run.sh"].map(str::to_owned).to_vec(),
            files: vec![("run.sh", script.into()), ("n.txt", format!("{base}\n"))],
            changed: ("n.txt", format!("{head}\n")),
            slower: head > base,
        }
    }

    fn torch(python: &str, model: &str, slower: f64) -> Self {
        let script = include_str!("../gate/train.py");
        Self {
            name: format!("torch {model}"),
            command: [python, "train.py", model].map(str::to_owned).to_vec(),
            files: vec![("train.py", script.into()), ("slower.txt", "0".into())],
            changed: ("slower.txt", slower.to_string()),
            slower: slower > 0.0,
        }
    }

    /// A repository with the revision, and the tree as it is changed.
    fn repository(&self) -> anyhow::Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        for (name, text) in &self.files {
            std::fs::write(folder.path().join(name), text)?;
        }
        let git = |words: &[&str]| -> anyhow::Result<()> {
            let status = Command::new("git").args(words).current_dir(folder.path()).status()?;
            anyhow::ensure!(status.success(), "git {words:?} failed");
            Ok(())
        };
        git(&["init", "--quiet", "--initial-branch", "main"])?;
        git(&["add", "--all"])?;
        git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "base"])?;
        std::fs::write(folder.path().join(self.changed.0), &self.changed.1)?;
        Ok(folder)
    }
}

fn row(laptime: &Path, case: &Case, gates: u32) -> anyhow::Result<()> {
    let all = (0..gates).map(|_| gate(laptime, case)).collect::<anyhow::Result<Vec<Said>>>()?;
    let mut pairs: Vec<u64> = all.iter().map(|said| said.pairs).collect();
    pairs.sort_unstable();
    let count = |of: fn(&&Said) -> bool| all.iter().filter(of).count();
    let logs: f64 = all.iter().map(|said| said.ratio.ln()).sum();
    println!(
        "  {:<13} {:<9} {gates:>5} {:>7} {:>13} {:>5} {:>14} {:>11.3}",
        case.name,
        if case.slower { "10 % slower" } else { "equal" },
        count(|said| said.failed),
        pairs.get(pairs.len() / 2).copied().unwrap_or(0),
        pairs.last().copied().unwrap_or(0),
        count(|said| said.without_waits),
        (logs / f64::from(gates.max(1))).exp()
    );
    Ok(())
}

fn gate(laptime: &Path, case: &Case) -> anyhow::Result<Said> {
    let folder = case.repository()?;
    let output = Command::new(laptime)
        .args(["compare", "--base", "main", "--fail-if-slower", "5%", "--json", "--quiet", "--"])
        .args(&case.command)
        .current_dir(folder.path())
        .env("LAPTIME_DIR", folder.path().join("runs"))
        .env("OMP_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .output()?;
    let code = output.status.code();
    anyhow::ensure!(matches!(code, Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout)?;
    Ok(Said {
        failed: code == Some(3),
        pairs: found["pairs"]["count"].as_u64().unwrap_or(0),
        without_waits: found["pairs"]["without_waits"] == true,
        ratio: found["ratio"]["mean"].as_f64().unwrap_or(1.0),
    })
}

/// How far awk counts in so much CPU time: of three tries the fastest, since others disturb.
fn calibrated() -> anyhow::Result<u64> {
    const TRIED: u64 = 1_000_000;
    let mut fastest = f64::INFINITY;
    for _ in 0..3 {
        let began = Instant::now();
        let program = format!("BEGIN {{ for (i = 0; i < {TRIED}; i++) x += i }}");
        anyhow::ensure!(Command::new("awk").arg(program).status()?.success(), "awk failed");
        fastest = fastest.min(began.elapsed().as_secs_f64());
    }
    Ok((TRIED as f64 * CPU_S / fastest) as u64)
}

/// Starts and ends busy loops at random until told to end.
fn change_load(ended: &AtomicBool) {
    let mut chance = rand::rng();
    let mut loops: Vec<Child> = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        let wanted = chance.random_range(0..=MOST_LOOPS);
        while loops.len() > wanted {
            loops.pop().into_iter().for_each(end);
        }
        while loops.len() < wanted {
            let busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
            let Ok(busy) = busy else { break };
            loops.push(busy);
        }
        std::thread::sleep(Duration::from_millis(chance.random_range(STEADY_MS)));
    }
    loops.into_iter().for_each(end);
}

fn end(mut busy: Child) {
    let _ = busy.kill();
    let _ = busy.wait();
}
