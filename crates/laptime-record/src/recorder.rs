//! The recorder as its owner holds it: begins fits, and ends what it records.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use laptime_core::{Closing, FitFacts, RunMeta, Status};
use laptime_store::{LogName, LogWriter, Unsaved};

use crate::active::{Shared, put_off};
use crate::fit::Fit;
use crate::options::Options;

/// How long `finish` waits for the flusher: a stuck disk must not hang the end of a training.
pub const FINISH_PATIENCE: Duration = Duration::from_secs(2);

/// Records this process from `start` to `finish`. A process has one recorder at a time.
///
/// After `start` nothing here fails, blocks or prints: what cannot be done is counted and shown in the report.
pub struct Recorder {
    pub(crate) shared: Option<&'static Shared>,
    pub(crate) meta: RunMeta,
    pub(crate) run: io::Result<PathBuf>,
    pub(crate) log: LogName,
    pub(crate) flusher: Mutex<Option<FlusherThread>>,
}

/// The running flusher: once it has the closing, it gives the writer back.
pub(crate) struct FlusherThread {
    pub(crate) last_words: mpsc::Sender<Closing>,
    pub(crate) writer: mpsc::Receiver<LogWriter>,
}

/// What is left when a recorder has finished.
#[derive(Debug, Default)]
pub struct Finished {
    /// The run's folder; `None` when it could not be made.
    pub run: Option<PathBuf>,
    /// What could not be put on disk; `None` when all is there.
    pub unsaved: Option<Unsaved>,
    /// What is known of the run, as in its description on disk.
    pub meta: RunMeta,
    /// The log of this process in the run.
    pub log: LogName,
}

impl Recorder {
    pub(crate) fn idle() -> Self {
        let run = Err(io::Error::other("this process is being recorded already"));
        Self {
            shared: None,
            meta: RunMeta::default(),
            run,
            log: LogName::default(),
            flusher: Mutex::default(),
        }
    }

    /// What a forked child starts its own recorder with: it joins this run.
    pub(crate) fn child_options(&self) -> Options {
        Options { join: self.run().map(Path::to_owned), rank: self.log.rank(), ..Options::default() }
    }

    /// The run's folder; `None` when it could not be made.
    #[must_use]
    pub fn run(&self) -> Option<&Path> {
        self.run.as_deref().ok()
    }

    /// Why the run's folder could not be made; `None` when it was.
    #[must_use]
    pub fn trouble(&self) -> Option<&io::Error> {
        self.run.as_ref().err()
    }

    /// Begins a fit on this thread; it ends when the guard is dropped, or when another begins here.
    ///
    /// Its epochs are those of [`Fit::epoch`]; of a loop that belongs to a library, the passes that a
    /// [`BatchLog`](crate::BatchLog) on this thread reports.
    pub fn fit(&self, facts: FitFacts) -> Fit {
        if self.shared.is_some() { Fit::begin(facts) } else { Fit::idle() }
    }

    /// Ends recording: drains every lane, says how the run ended, and hands over what is left.
    pub fn finish(mut self, status: Status, message: Option<String>) -> Finished {
        self.end(status, message)
    }

    fn end(&mut self, status: Status, message: Option<String>) -> Finished {
        let (run, meta) = (self.run().map(Path::to_owned), std::mem::take(&mut self.meta));
        let (Some(shared), Some(flusher)) =
            (self.shared, self.flusher.lock().unwrap_or_else(PoisonError::into_inner).take())
        else {
            return Finished { run, unsaved: None, meta, log: self.log };
        };
        let closing = Closing { status, message, spans: 0, span_cost_ns: shared.span_cost_ns };
        let _ = flusher.last_words.send(closing);
        shared.stop();
        let writer = flusher.writer.recv_timeout(FINISH_PATIENCE).ok();
        put_off();
        Finished { run, unsaved: writer.and_then(LogWriter::into_unsaved), meta, log: self.log }
    }
}

impl Drop for Recorder {
    /// A recorder that is dropped without `finish` records a failure.
    fn drop(&mut self) {
        let _ = self.end(Status::Failed, Some("the recorder was dropped before it was finished".into()));
    }
}
