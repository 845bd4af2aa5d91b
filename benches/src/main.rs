//! Commands that measure laptime against its bars: `cargo run --release -p laptime-benches -- NAME`.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod epochs;
mod frameworks;
mod gate;
mod guard;
mod images;
mod kill;
mod memory;
mod planted;
mod ranges;
mod rows;
mod scan;
mod simulation;
mod sweep;
mod tree;

const USAGE: &str = "\
usage: cargo run --release -p laptime-benches -- NAME

  epochs [N [LAPTIME]]
               what a report and the list of runs take with up to N epochs (300,000)
  frameworks [MODEL]
               the reference models against PyTorch, JAX and TensorFlow, one thread each
  gate [EQUAL SLOWER] [--torch PYTHON]
               `compare --base` on EQUAL equal trees (40) and SLOWER ones 10 % slower (20) under changing load; with
               a Python that has PyTorch, on each of three trainings
  guard        what one Rust stage costs, against a pair of Instant::now
  images [SIDE]
               images a second: decoding, the transform and both, for JPEGs of SIDE × SIDE pixels (224)
  memory       how much 10^8 spans grow the process
  kill [N]     kill -9 at a random moment, N times (10,000), and look for what was lost
  planted      a sweep over a program whose law is known: does it find the law?
  ranges [N [PYTHON]]
               rows from ranges of a source, N files (3) of each format, against the truth; Parquet and Arrow with a
               Python that has pyarrow
  rows [N]     rows of N random text files (100) from 2 % of their bytes, against the truth
  scan [N]     N small files (100,000) scanned by laptime and by du, in turns
  simulation   what 10^6 simulated steps of a what-if take
  sweep        what a sweep adds to each of 200 trainings
  tree [N]     N small files (1,000,000) by laptime and by du, in turns, and as many listed objects: time and memory";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["epochs"] => epochs::run(300_000, None),
        ["epochs", epochs] => epochs::run(epochs.parse()?, None),
        ["epochs", epochs, laptime] => epochs::run(epochs.parse()?, Some(laptime)),
        ["frameworks"] => frameworks::run(None),
        ["frameworks", model] => frameworks::run(Some(model.parse()?)),
        ["gate"] => gate::run(40, 20, None),
        ["gate", "--torch", python] => gate::run(40, 20, Some(python)),
        ["gate", equal, slower] => gate::run(equal.parse()?, slower.parse()?, None),
        ["gate", equal, slower, "--torch", python] => {
            gate::run(equal.parse()?, slower.parse()?, Some(python))
        }
        ["guard"] => guard::run(),
        ["images"] => images::run(224),
        ["images", side] => images::run(side.parse()?),
        ["memory"] => memory::run(),
        ["kill"] => kill::run(10_000),
        ["kill", trials] => kill::run(trials.parse()?),
        ["kill-victim", root] => kill::victim(root.as_ref()),
        ["planted"] => planted::run(),
        ["sleeper", law, x] => planted::sleeper(law, x),
        ["objects", objects] => tree::list_objects(objects.parse()?),
        ["ranges"] => ranges::run(3, None),
        ["ranges", files] => ranges::run(files.parse()?, None),
        ["ranges", files, python] => ranges::run(files.parse()?, Some(python)),
        ["rows"] => rows::run(100),
        ["rows", files] => rows::run(files.parse()?),
        ["scan"] => scan::run(100_000),
        ["scan", files] => scan::run(files.parse()?),
        ["simulation"] => {
            simulation::run();
            Ok(())
        }
        ["sweep"] => sweep::run(),
        ["tree"] => tree::run(1_000_000),
        ["tree", files] => tree::run(files.parse()?),
        _ => anyhow::bail!("{USAGE}"),
    }
}
