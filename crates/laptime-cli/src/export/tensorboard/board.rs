//! Board: the event files of a run that is being followed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::{Path, PathBuf};

use laptime_analyse::{EpochSummary, Report};

use super::epoch_cursor::EpochCursor;
use super::event_file::{EventFile, FILE_NAME};
use super::folder::folder_of;
use super::points::{Counted, points};
use super::scalars::moment;
use super::stream::EventStream;

/// Writes the epochs of one run as they settle.
#[derive(Debug)]
pub(crate) struct Board {
    dir: PathBuf,
    cursor: EpochCursor,
    files: BTreeMap<u32, FitFile>,
    written: Counted,
    warned: bool,
}

impl Board {
    /// Begins with nothing written; the folders come with the first epoch.
    pub(crate) fn new(dir: &Path) -> Self {
        let (cursor, files) = (EpochCursor::default(), BTreeMap::new());
        Self { dir: dir.to_owned(), cursor, files, written: Counted::default(), warned: false }
    }

    /// Writes what is new. Gives a line for the user the first time that it cannot; what could not be written
    /// is tried again next time.
    pub(crate) fn see(&mut self, report: &Report) -> Option<String> {
        let error = self.write(report).err()?;
        let first = !std::mem::replace(&mut self.warned, true);
        first
            .then(|| format!("warning: could not write for TensorBoard into {}: {error}", self.dir.display()))
    }

    /// Where the files are, and what is in them.
    pub(crate) fn written(&self) -> (&Path, Counted) {
        (&self.dir, self.written)
    }

    fn write(&mut self, report: &Report) -> io::Result<()> {
        let Self { dir, cursor, files, written, .. } = self;
        let mut take = |epoch: &EpochSummary| {
            let of_fit = match files.entry(epoch.fit) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(FitFile::create(folder_of(dir, report, epoch.fit))?),
            };
            of_fit.file.append(|| of_fit.stream.records_of(epoch))?;
            written.add(epoch);
            io::Result::Ok(())
        };
        let take = |epoch: &EpochSummary| moment(epoch).map_or(Ok(()), |_| take(epoch));
        cursor.hand_on(&points(report), |epoch| epoch.settled, take)?;
        self.files.values_mut().try_for_each(FitFile::flush)
    }
}

/// The event file of one fit.
#[derive(Debug)]
struct FitFile {
    folder: PathBuf,
    file: EventFile,
    stream: EventStream,
}

impl FitFile {
    fn create(folder: PathBuf) -> io::Result<Self> {
        let file = EventFile::create(&folder)?;
        Ok(Self { folder, file, stream: EventStream::default() })
    }

    /// A file that somebody removed takes everything that is written and shows nothing of it.
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()?;
        match self.folder.join(FILE_NAME).try_exists() {
            Ok(false) => Err(io::Error::new(io::ErrorKind::NotFound, "its event file was removed")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::record::whole_records;
    use super::super::replaced::export;
    use super::*;
    use crate::text::sample;

    fn report() -> Report {
        let mut report = sample::several();
        for (number, epoch) in report.epochs.iter_mut().enumerate() {
            epoch.ended_unix_s = Some(1_000.0 + number as f64);
        }
        report
    }

    /// Every event file below a folder, with its path from there.
    fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![dir.to_owned()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push((path.strip_prefix(dir).unwrap().to_owned(), fs::read(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_run_that_was_followed_has_the_same_files_as_one_that_is_exported() {
        let (live, exported) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let report = report();
        let mut board = Board::new(live.path());
        for known in 0..=report.epochs.len() {
            let mut growing = report.clone();
            growing.epochs.truncate(known);
            assert_eq!(board.see(&growing), None);
        }
        let written = Counted { epochs: report.epochs.len() as u64, stretches: 0 };
        assert_eq!(board.written(), (live.path(), written));
        export(&report, exported.path()).unwrap();
        assert_eq!(files(live.path()), files(exported.path()));
        assert_eq!(files(live.path()).len(), report.fits.len());
        let (path, bytes) = &files(live.path())[0];
        assert!(path.ends_with(FILE_NAME));
        assert_eq!(whole_records(bytes).len(), 1 + report.epochs.iter().filter(|e| e.fit == 0).count());
    }

    #[test]
    fn a_fit_without_epochs_has_a_point_for_every_stretch_at_the_steps_so_far() {
        let (live, exported) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut report = sample::by_steps();
        report.stretches = report.epochs[..4].to_vec();
        for (number, stretch) in report.stretches.iter_mut().enumerate() {
            (stretch.ended_unix_s, stretch.settled) = (Some(1_000.0 + number as f64), true);
        }
        let mut board = Board::new(live.path());
        for known in 0..=4 {
            let mut growing = report.clone();
            growing.stretches.truncate(known);
            assert_eq!(board.see(&growing), None);
        }
        assert_eq!(board.written().1, Counted { epochs: 0, stretches: 4 });
        assert_eq!(export(&report, exported.path()).unwrap().counted(), "4 points");
        assert_eq!(files(live.path()), files(exported.path()));
        let records = whole_records(&files(live.path())[0].1).len();
        assert_eq!(records, 1 + 4);
    }

    #[test]
    fn trouble_is_reported_once_and_nothing_is_lost_when_it_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("board");
        fs::write(&dir, "in the way").unwrap();
        let report = report();
        let mut board = Board::new(&dir);
        let warning = board.see(&report).unwrap();
        assert!(warning.starts_with("warning: could not write for TensorBoard into "), "{warning}");
        assert_eq!(board.see(&report), None);
        fs::remove_file(&dir).unwrap();
        assert_eq!(board.see(&report), None);
        assert_eq!(board.written().1.epochs, report.epochs.len() as u64);
        assert_eq!(files(&dir).len(), report.fits.len());
    }

    #[test]
    fn a_file_that_somebody_removes_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut board = Board::new(folder.path());
        assert_eq!(board.see(&report()), None);
        fs::remove_dir_all(fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path()).unwrap();
        assert!(board.see(&report()).unwrap().ends_with(": its event file was removed"));
        assert_eq!(board.see(&report()), None);
    }
}
