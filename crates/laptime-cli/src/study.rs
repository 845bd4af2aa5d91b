//! From a run's files to its report: where store and analysis meet.

use std::path::Path;

use laptime_analyse::{Digest, Report};
use laptime_core::RunMeta;
use laptime_record::Finished;
use laptime_store::{RunReader, StoreError};

/// A run that is being read: what was read so far, and where to go on.
pub(crate) struct Study {
    reader: RunReader,
    digest: Digest,
}

impl Study {
    /// Begins with the run in a folder.
    pub(crate) fn open(run: &Path) -> Result<Self, StoreError> {
        Ok(Self::of(RunReader::open(run)?))
    }

    /// Begins with a run that has just finished, also where its files are incomplete or gone.
    pub(crate) fn of_finished(finished: Finished) -> Self {
        let Finished { run, unsaved, meta } = finished;
        let reader =
            run.and_then(|run| RunReader::open(&run).ok()).unwrap_or_else(|| RunReader::in_memory(meta));
        Self::of(match unsaved {
            Some(unsaved) => reader.with_unsaved(0, unsaved),
            None => reader,
        })
    }

    fn of(reader: RunReader) -> Self {
        let meta: RunMeta = reader.meta().clone();
        Self { reader, digest: Digest::new(meta) }
    }

    /// Reads what is new and reports on all of it.
    pub(crate) fn report(&mut self) -> Result<Report, StoreError> {
        self.reader.poll(&mut |log, record| self.digest.take_from(log, &record))?;
        Ok(self.digest.report())
    }
}
