//! Export: the event files of a run as it stands, each replaced whole.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use laptime_analyse::{EpochSummary, Report};

use super::event_file::{FILE_NAME, claim};
use super::folder::folder_of;
use super::points::{Counted, points};
use super::scalars::moment;
use super::stream::EventStream;

/// TensorBoard takes no file of this name for an event file.
const UNFINISHED: &str = ".laptime-unfinished";

/// Writes the settled points of a run into a folder; gives how many there are.
pub(crate) fn export(report: &Report, dir: &Path) -> io::Result<Counted> {
    let mut written = Counted::default();
    for of_fit in points(report).chunk_by(|one, next| one.fit == next.fit) {
        let whole: Vec<&EpochSummary> =
            of_fit.iter().copied().filter(|epoch| epoch.settled && moment(epoch).is_some()).collect();
        if whole.is_empty() {
            continue;
        }
        let mut stream = EventStream::default();
        let bytes: Vec<u8> = whole.iter().flat_map(|epoch| stream.records_of(epoch)).collect();
        replace(&folder_of(dir, report, of_fit[0].fit), &bytes)?;
        whole.iter().for_each(|epoch| written.add(epoch));
    }
    Ok(written)
}

/// A reader sees the old file or the new one, never a part; one that another command writes stays.
fn replace(folder: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let (path, unfinished) = (folder.join(FILE_NAME), folder.join(UNFINISHED));
    let before = match File::open(&path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    before.as_ref().map_or(Ok(()), claim)?;
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::super::board::Board;
    use super::*;
    use crate::text::sample;

    fn report() -> Report {
        let mut report = sample::finished();
        report.epochs.iter_mut().for_each(|epoch| epoch.ended_unix_s = Some(1_000.0));
        report
    }

    #[test]
    fn a_run_that_is_still_followed_into_the_same_folder_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut board = Board::new(folder.path());
        assert_eq!(board.see(&report()), None);
        assert!(export(&report(), folder.path()).unwrap_err().to_string().contains("another laptime"));
        drop(board);
        assert_eq!(export(&report(), folder.path()).unwrap().epochs, report().epochs.len() as u64);
        let of_run = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let of_fit = fs::read_dir(of_run).unwrap().next().unwrap().unwrap().path();
        let names: Vec<_> = fs::read_dir(of_fit).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [FILE_NAME]);
    }

    #[test]
    fn epochs_that_go_on_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = report();
        report.epochs.last_mut().unwrap().settled = false;
        assert_eq!(export(&report, folder.path()).unwrap().epochs, report.epochs.len() as u64 - 1);
    }
}
