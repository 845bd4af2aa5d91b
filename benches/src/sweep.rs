//! What `laptime sweep` adds to each of 200 trainings, against the same command started by hand.
//!
//! Both are measured by turns in the same minute, since a machine changes more than the difference is large.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const POINTS: u32 = 200;
const ROUNDS: u32 = 3;
/// The bar: milliseconds a point.
const BAR_MS: f64 = 20.0;

pub(crate) fn run() -> anyhow::Result<()> {
    let laptime = built_program()?;
    println!("{POINTS} points of `laptime train linear`, {ROUNDS} rounds by turns; ms a training");
    println!("  round   by hand   in a sweep   added");
    let mut added = Vec::new();
    for round in 1..=ROUNDS {
        let folder = tempfile::tempdir()?;
        let by_hand = by_hand(&laptime, folder.path())?;
        let swept = in_a_sweep(&laptime, folder.path())?;
        println!("  {round:>5}  {by_hand:>8.1}  {swept:>11.1}  {:>6.1}", swept - by_hand);
        added.push(swept - by_hand);
    }
    added.sort_by(f64::total_cmp);
    println!("  added in the median round: {:.1} ms a point   (bar: {BAR_MS} ms)", added[added.len() / 2]);
    Ok(())
}

/// The program that was built beside this one.
fn built_program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("laptime");
    anyhow::ensure!(program.is_file(), "build it first: cargo build --release --workspace");
    Ok(program)
}

/// Milliseconds of a training that a plain loop starts and waits for.
fn by_hand(laptime: &Path, folder: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    for seed in 1..=POINTS {
        let mut command = Command::new(laptime);
        command.args(["train", "linear", "--seed", &seed.to_string()]);
        anyhow::ensure!(quiet(&mut command, folder).status()?.success(), "a training failed");
    }
    Ok(began.elapsed().as_secs_f64() * 1e3 / f64::from(POINTS))
}

/// Milliseconds of a repeat in a sweep, from the sweep's start to its end. A tainted point is repeated, so
/// repeats are counted and not points.
fn in_a_sweep(laptime: &Path, folder: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let mut command = Command::new(laptime);
    command.args([
        "sweep",
        "--quiet",
        "--json",
        "--repeats",
        "1",
        "-p",
        &format!("seed=1..{POINTS}+1"),
        "--",
    ]);
    command.args(["laptime", "train", "linear", "--seed", "{seed}"]);
    let output = quiet(&mut command, folder).stdout(Stdio::piped()).output()?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    anyhow::ensure!(output.status.success(), "the sweep failed");
    let text = String::from_utf8(output.stdout)?;
    let repeats = text.lines().find_map(|line| line.trim().strip_prefix("\"repeats\": "));
    let repeats: f64 = repeats.unwrap_or_default().trim_end_matches(',').parse()?;
    Ok(took / repeats)
}

fn quiet<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command.current_dir(folder).env("LAPTIME_DIR", folder.join("runs")).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null())
}
