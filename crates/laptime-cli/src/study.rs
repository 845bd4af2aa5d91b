//! From a run's files to its report: where store and analysis meet.

use std::path::{Path, PathBuf};

use laptime_analyse::compare::ComparedRun;
use laptime_analyse::pulse::{Pulse, PulseReport};
use laptime_analyse::timeline::Timeline;
use laptime_analyse::{Digest, EpochSummary, ProfileStacks, Report, StepTimeline, StepTimes};
use laptime_core::{Record, RunMeta};
use laptime_record::Finished;
use laptime_store::{LogName, ProfileReader, RunReader, StoreError};

/// A run that is being read: what was read so far, and where to go on.
pub(crate) struct Study {
    /// One, but for a run that was recorded in several folders.
    parts: Vec<Part>,
    /// Those of the first part; `None` where nobody asks for them.
    profiles: Option<ProfileReader>,
    digest: Digest,
    /// `None` where nobody looks at it.
    pulse: Option<Pulse>,
    /// The logs met so far, with the part each is in; a log's place here is its number in the digest.
    logs: Vec<(usize, LogName)>,
}

/// What one folder holds of a run.
struct Part {
    /// `None` for a run that is in memory only.
    run: Option<PathBuf>,
    reader: RunReader,
}

impl Study {
    /// Begins with the run in a folder.
    pub(crate) fn open(run: &Path) -> Result<Self, StoreError> {
        Ok(Self::of(RunReader::open(run)?, Some(run)))
    }

    /// Begins with a run in several folders; they are described by the first.
    pub(crate) fn open_parts(runs: &[&Path]) -> Result<Self, StoreError> {
        let part = |run: &&Path| Ok(Part { run: Some(run.to_path_buf()), reader: RunReader::open(run)? });
        let parts = runs.iter().map(part).collect::<Result<Vec<_>, StoreError>>()?;
        let profiles = runs.first().map(|run| ProfileReader::of(run));
        let meta = parts.first().map(|part| part.reader.meta().clone()).unwrap_or_default();
        Ok(Self { parts, profiles, digest: Digest::new(meta), pulse: None, logs: Vec::new() })
    }

    /// Begins with a run that has just finished, also where its files are incomplete or gone.
    pub(crate) fn of_finished(finished: Finished) -> Self {
        let Finished { run, unsaved, meta, log } = finished;
        let reader = run.as_deref().and_then(|run| RunReader::open(run).ok());
        let reader = reader.unwrap_or_else(|| RunReader::in_memory(meta));
        let reader = match unsaved {
            Some(unsaved) => reader.with_unsaved(log, unsaved),
            None => reader,
        };
        Self::of(reader, run.as_deref())
    }

    fn of(reader: RunReader, run: Option<&Path>) -> Self {
        let meta: RunMeta = reader.meta().clone();
        let profiles = run.map(ProfileReader::of);
        let run = run.map(Path::to_owned);
        let parts = vec![Part { run, reader }];
        Self { parts, profiles, digest: Digest::new(meta), pulse: None, logs: Vec::new() }
    }

    /// Makes the laps of trainings without epochs windows of so many steps.
    pub(crate) fn with_lap(mut self, steps: Option<u64>) -> Self {
        self.digest = self.digest.with_lap(steps);
        self
    }

    /// Leaves the samples of its stacks alone.
    pub(crate) fn without_profile(mut self) -> Self {
        self.profiles = None;
        self
    }

    /// Keeps what the run does just now.
    pub(crate) fn with_pulse(mut self) -> Self {
        self.pulse = Some(Pulse::default());
        self
    }

    /// What the run did just now when it was last read; nothing unless it is kept.
    pub(crate) fn pulse(&self) -> PulseReport {
        self.pulse.as_ref().map(Pulse::report).unwrap_or_default()
    }

    /// Reads what is new and reports on all of it.
    pub(crate) fn report(&mut self) -> Result<Report, StoreError> {
        self.read()?;
        let Self { profiles, digest, .. } = self;
        if let Some(profiles) = profiles {
            profiles.poll(&mut |profile, record| digest.take_profile(profile, &record))?;
        }
        Ok(digest.report())
    }

    /// Reads what is new and gives the run as it is compared with others.
    pub(crate) fn compared_run(&mut self) -> Result<ComparedRun, StoreError> {
        self.read()?;
        Ok(self.digest.compared_run())
    }

    fn read(&mut self) -> Result<(), StoreError> {
        let Self { parts, digest, pulse, logs, .. } = self;
        for (at, part) in parts.iter_mut().enumerate() {
            let mut sink = |log, record| {
                let log = log_number(logs, (at, log));
                digest.take_from(log, &record);
                if let Some(pulse) = pulse {
                    pulse.take_from(log, &record);
                }
            };
            part.reader.poll(&mut sink)?;
        }
        Ok(())
    }

    /// Gives every epoch of the newest report, which has these laps, by reading the run once more.
    pub(crate) fn every_epoch(
        &self,
        laps: Vec<EpochSummary>,
        sink: &mut dyn FnMut(&EpochSummary),
    ) -> Result<(), StoreError> {
        let Some(mut epochs) = self.digest.every_epoch(laps) else { return Ok(()) };
        let Some((part, log)) = self.logs.get(epochs.log()).copied() else { return Ok(()) };
        let Some(run) = self.parts.get(part).and_then(|part| part.run.as_deref()) else { return Ok(()) };
        RunReader::open(run)?.poll(&mut |of, record| {
            if of == log {
                epochs.take(&record, sink);
            }
        })?;
        epochs.finish(sink);
        Ok(())
    }

    /// The times of the steps of every fit, as far as the run was read.
    pub(crate) fn step_times(&self) -> Vec<StepTimes> {
        self.digest.step_times()
    }

    /// A typical step on every track, as far as the run was read.
    pub(crate) fn step_timeline(&self) -> Option<StepTimeline> {
        self.digest.step_timeline()
    }

    /// One axis of time for all that was read.
    pub(crate) fn timeline(&self) -> Timeline<'_> {
        self.digest.timeline()
    }

    /// Reads the run once more, as far as its logs were read before: each record with the number of its log.
    pub(crate) fn again(&self, sink: &mut dyn FnMut(usize, &Record)) -> Result<(), StoreError> {
        for (at, part) in self.parts.iter().enumerate() {
            let Some(run) = &part.run else { continue };
            RunReader::open(run)?.poll(&mut |log, record| {
                if let Some(number) = self.logs.iter().position(|known| *known == (at, log)) {
                    sink(number, &record);
                }
            })?;
        }
        Ok(())
    }

    /// The stacks that were sampled, as far as the run was read.
    pub(crate) fn profile_stacks(&self) -> ProfileStacks {
        self.digest.profile_stacks()
    }
}

fn log_number(logs: &mut Vec<(usize, LogName)>, log: (usize, LogName)) -> usize {
    logs.iter().position(|known| *known == log).unwrap_or_else(|| {
        logs.push(log);
        logs.len() - 1
    })
}
