//! Rows of text files estimated from at most 2 % of their bytes, against the rows that were written.

pub(crate) mod written;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use laptime_data::survey::{Survey, SurveyOptions, Watch};

use written::{Family, write};

/// Bytes of a file: enough that 2 % of them hold some ten thousand rows.
const FILE_BYTES: u64 = 128 << 20;

/// What was found out about one file.
struct Trial {
    /// By how much the estimate is off, as a share of the rows.
    error: f64,
    covered: bool,
    read_share: f64,
}

/// Prints how well the rows of so many random files are estimated, by the kind of their lines.
pub(crate) fn run(files: u64) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut trials: BTreeMap<&str, Vec<Trial>> = BTreeMap::new();
    for seed in 0..files {
        let family = Family::ALL[(seed % Family::ALL.len() as u64) as usize];
        trials.entry(family.name()).or_default().push(trial(folder.path(), family, seed, FILE_BYTES)?);
    }
    println!("rows of {files} random files of {} MiB, from at most 2 % of the bytes\n", FILE_BYTES >> 20);
    println!(
        "{:<18} {:>6} {:>11} {:>12} {:>10} {:>11} {:>10}",
        "lines", "files", "within 2 %", "mean error", "largest", "in interval", "bytes read"
    );
    for (name, trials) in &trials {
        line(name, &trials.iter().collect::<Vec<_>>());
    }
    line("all", &trials.values().flatten().collect::<Vec<_>>());
    println!("\nbar: within 2 % in at least 95 of 100, from at most 2 % of the bytes; intervals are of 95 %");
    Ok(())
}

fn line(name: &str, trials: &[&Trial]) {
    let count = trials.len() as f64;
    let within = trials.iter().filter(|trial| trial.error.abs() <= 0.02).count();
    let covered = trials.iter().filter(|trial| trial.covered).count();
    let mean = trials.iter().map(|trial| trial.error.abs()).sum::<f64>() / count;
    let largest = trials.iter().map(|trial| trial.error.abs()).fold(0.0, f64::max);
    let read = trials.iter().map(|trial| trial.read_share).fold(0.0, f64::max);
    println!(
        "{name:<18} {:>6} {within:>11} {:>10.2} % {:>8.2} % {covered:>11} {:>8.2} %",
        trials.len(),
        mean * 100.0,
        largest * 100.0,
        read * 100.0
    );
}

fn trial(folder: &Path, family: Family, seed: u64, bytes: u64) -> anyhow::Result<Trial> {
    let path = folder.join(format!("{seed}.{}", family.ending()));
    let rows = write(&path, family, seed, bytes)? as f64;
    // No patience: what could be counted in a second is to be estimated.
    let patience = Duration::ZERO;
    let options = SurveyOptions { measure_disk: false, patience, ..SurveyOptions::default() };
    let survey = Survey::of(std::slice::from_ref(&path), &options, &Watch::default());
    std::fs::remove_file(&path)?;
    let found = survey.samples.ok_or_else(|| anyhow::anyhow!("no rows in {}", path.display()))?;
    anyhow::ensure!(!found.exact, "the file is too small to be estimated");
    Ok(Trial {
        error: found.mean / rows - 1.0,
        covered: (found.low..=found.high).contains(&rows),
        read_share: survey.read_bytes as f64 / survey.bytes as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_kind_of_lines_are_estimated_within_two_per_cent_from_two_per_cent() {
        let folder = tempfile::tempdir().unwrap();
        let trials = Family::ALL.map(|family| trial(folder.path(), family, 7, 48 << 20).unwrap());
        let within = trials.iter().filter(|trial| trial.error.abs() <= 0.02).count();
        let covered = trials.iter().filter(|trial| trial.covered).count();
        let errors: Vec<f64> = trials.iter().map(|trial| trial.error).collect();
        assert!(within + 1 >= trials.len(), "{errors:?}");
        assert!(covered + 1 >= trials.len(), "{errors:?}");
        assert!(trials.iter().all(|trial| trial.read_share <= 0.02));
    }
}
