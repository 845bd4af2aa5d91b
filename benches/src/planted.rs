//! A real sweep over a program whose law is known: it sleeps, with noise, and the sweep must find the law.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use rand::RngExt;
use serde_json::Value;

/// Sleeps are noisy by this share at most, skewed to the long side as real programs are.
const NOISE: f64 = 0.04;

/// A law the sleeper follows, the axis it is swept over, and a coefficient that starting a process does not
/// change.
struct Planted {
    law: &'static str,
    axis: &'static str,
    coefficient: Option<(&'static str, f64)>,
}

const PLANTED: [Planted; 5] = [
    Planted { law: "constant", axis: "x=1..64*2", coefficient: None },
    Planted { law: "linear", axis: "x=1..64*2", coefficient: Some(("slope", 0.001)) },
    Planted { law: "hinge", axis: "x=1..128*2", coefficient: Some(("slope", 0.001)) },
    Planted { law: "staircase", axis: "x=2..32+2", coefficient: Some(("step", 0.015)) },
    Planted { law: "power", axis: "x=1..64*2", coefficient: Some(("exponent", 0.5)) },
];

/// Seconds the sleeper takes at `x`, but for the noise.
fn seconds(law: &str, x: f64) -> Option<f64> {
    match law {
        "constant" => Some(0.05),
        "linear" => Some(0.03 + 0.001 * x),
        "hinge" => Some(0.04 + 0.001 * (x - 24.0).max(0.0)),
        "staircase" => Some(0.02 + 0.015 * (x / 8.0).ceil()),
        "power" => Some(0.03 * x.sqrt()),
        _ => None,
    }
}

/// The program that is swept.
pub(crate) fn sleeper(law: &str, x: &str) -> anyhow::Result<()> {
    let seconds = seconds(law, x.parse()?).with_context(|| format!("no law `{law}`"))?;
    let noise: f64 = rand::rng().random::<f64>().powi(2) * NOISE;
    thread::sleep(Duration::from_secs_f64(seconds * (1.0 + noise)));
    Ok(())
}

pub(crate) fn run() -> anyhow::Result<()> {
    println!(
        "a program that sleeps by a law, swept with 5 repeats a point; noise up to {NOISE:.0e} of a sleep"
    );
    println!(
        "  planted     found       coefficient  truth    estimate (95 %)                 repeats  tainted"
    );
    for planted in &PLANTED {
        let sweep = swept(planted)?;
        let law = sweep["laws"].as_array().and_then(|laws| laws.iter().find(|law| law["x"] == "x"));
        let law = law.context("the sweep has no law")?;
        let (name, truth, estimate) = compared(planted, law);
        let points = sweep["points"].as_array().map_or(&[][..], Vec::as_slice);
        let tainted = points.iter().filter(|point| point["tainted"] == true).count();
        println!(
            "  {:10}  {:10}  {name:11}  {truth:7}  {estimate:30}  {:>7}  {tainted:>7}",
            planted.law,
            law["model"].as_str().unwrap_or("-"),
            points.iter().filter_map(|point| point["repeats"].as_u64()).sum::<u64>(),
        );
    }
    Ok(())
}

fn swept(planted: &Planted) -> anyhow::Result<Value> {
    let folder = tempfile::tempdir()?;
    let this = std::env::current_exe()?;
    let laptime = this.with_file_name("laptime");
    let mut command = Command::new(laptime);
    command.args(["sweep", "--quiet", "--json", "--repeats", "5", "-p", planted.axis, "--"]);
    command.arg(this).args(["sleeper", planted.law, "{x}"]);
    command.env("LAPTIME_DIR", folder.path()).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().context("build it first: cargo build --release --workspace")?;
    anyhow::ensure!(output.status.success(), "the sweep failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The coefficient that is compared: its name, its truth and what the sweep says.
fn compared(planted: &Planted, law: &Value) -> (String, String, String) {
    let Some((name, truth)) = planted.coefficient else {
        return ("-".into(), "-".into(), "-".into());
    };
    let found = &law["coefficients"][name];
    let number = |key: &str| found[key].as_f64().unwrap_or(f64::NAN);
    let estimate = format!("{:.5} ({:.5}–{:.5})", number("mean"), number("low"), number("high"));
    (name.to_owned(), format!("{truth}"), estimate)
}
