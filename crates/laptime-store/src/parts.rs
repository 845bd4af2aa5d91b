//! Parts: a run that was recorded in several folders, by machines that share no disk.

use std::path::{Path, PathBuf};

use laptime_core::{ProcessFacts, Record};

use crate::catalogue::{Catalogue, RunEntry};
use crate::error::StoreError;
use crate::reader::RunReader;

/// The parts of the newest run that has one in every folder, in the order of the folders: each is a run's own, or
/// one that holds runs. A single folder may hold runs of no launch.
///
/// # Errors
/// When a folder holds no run, or none of the same launch.
pub fn parts_of_run(folders: &[PathBuf]) -> Result<Vec<RunEntry>, StoreError> {
    let runs = folders.iter().map(|folder| runs_in(folder)).collect::<Result<Vec<_>, _>>()?;
    let (Some(first), Some(place)) = (runs.first(), folders.first()) else { return Ok(Vec::new()) };
    if let [only] = runs.as_slice() {
        return Ok(only.iter().rev().take(1).cloned().collect());
    }
    let mut lacking = place;
    for run in first.iter().rev() {
        let Some(launch) = launch_of(run) else { continue };
        let same = |runs: &Vec<RunEntry>| part_of(runs, &launch, run.meta.started_real_ns);
        match runs.iter().position(|runs| same(runs).is_none()) {
            Some(at) => lacking = &folders[at],
            None => return Ok(runs.iter().filter_map(same).collect()),
        }
    }
    let folder = if lacking == place { folders.get(1).unwrap_or(place) } else { lacking };
    Err(StoreError::NotOneLaunch { first: place.clone(), folder: folder.clone() })
}

/// The run of a launch that began closest to a moment: a later launch may have the same name again.
fn part_of(runs: &[RunEntry], launch: &str, began_ns: u64) -> Option<RunEntry> {
    let parts = runs.iter().filter(|run| launch_of(run).as_deref() == Some(launch));
    parts.min_by_key(|run| run.meta.started_real_ns.abs_diff(began_ns)).cloned()
}

/// The launch of a run: as its maker knew it, else as a rank that joined it does.
fn launch_of(run: &RunEntry) -> Option<String> {
    let mut launch = run.meta.launch.clone();
    if launch.is_none() {
        let mut reader = RunReader::open(&run.path).ok()?;
        let read = reader.poll(&mut |_, record| {
            if let Record::Process(ProcessFacts { known: Some(known), .. }) = record {
                launch = launch.take().or(known.launch);
            }
        });
        read.ok()?;
    }
    launch
}

/// The run in a folder, or all runs that it holds, oldest first.
fn runs_in(folder: &Path) -> Result<Vec<RunEntry>, StoreError> {
    if let Some(run) = RunEntry::at(folder) {
        return Ok(vec![run]);
    }
    let runs = Catalogue::at(folder).list()?;
    if runs.is_empty() { Err(StoreError::NoRuns(folder.to_owned())) } else { Ok(runs) }
}

#[cfg(test)]
mod tests {
    use laptime_core::RunMeta;

    use super::*;
    use crate::disk::RealDisk;

    fn record(root: &Path, launch: Option<&str>, second: u64) -> PathBuf {
        let launch = launch.map(str::to_owned);
        let mut meta = RunMeta { launch, started_real_ns: second * 1_000_000_000, ..RunMeta::default() };
        Catalogue::at(root).create(&mut RealDisk, &mut meta).unwrap()
    }

    #[test]
    fn the_newest_run_with_a_part_in_every_folder_is_found() {
        let place = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| place.path().join(name));
        let first = record(&a, Some("x"), 1);
        record(&a, Some("only-here"), 3);
        record(&a, None, 4);
        let second = record(&b, Some("x"), 2);
        let parts = parts_of_run(&[a.clone(), b.clone()]).unwrap();
        assert_eq!(parts.iter().map(|part| &part.path).collect::<Vec<_>>(), [&first, &second]);
        let named = parts_of_run(&[first.clone(), b.clone()]).unwrap();
        assert_eq!(named[1].path, second);
        let alone = parts_of_run(std::slice::from_ref(&b)).unwrap();
        assert_eq!((alone.len(), &alone[0].path), (1, &second));
        record(&b, Some("y"), 5);
        let other = parts_of_run(&[record(&a, Some("z"), 6), b.clone()]);
        assert!(matches!(other, Err(StoreError::NotOneLaunch { folder, .. }) if folder == b));
    }
}
