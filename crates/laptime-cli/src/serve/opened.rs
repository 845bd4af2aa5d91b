//! Runs that are looked at again and again: kept open, so that each look reads only what is new.

use std::sync::{Arc, Mutex, PoisonError};

use laptime_analyse::Report;
use laptime_store::{RunEntry, StoreError};

use crate::run_story::RunStory;
use crate::study::Study;

/// The runs that were looked at last.
pub(super) struct Opened {
    /// Runs that are kept open; of a run of very many epochs each takes some megabytes.
    most: usize,
    /// The newest last.
    studies: Mutex<Vec<(String, Arc<Mutex<Study>>)>>,
}

impl Opened {
    /// Keeps so many runs open.
    pub(super) fn of_at_most(most: usize) -> Self {
        Self { most, studies: Mutex::default() }
    }

    /// What a run comes to now; `None` where it cannot be read.
    pub(super) fn report(&self, entry: &RunEntry) -> Option<Report> {
        let study = self.study(entry).ok()?;
        study.lock().unwrap_or_else(PoisonError::into_inner).report().ok()
    }

    /// All that is known of a run now.
    pub(super) fn story(&self, entry: &RunEntry) -> Result<RunStory, StoreError> {
        let study = self.study(entry)?;
        let mut study = study.lock().unwrap_or_else(PoisonError::into_inner);
        RunStory::read(&mut study).inspect_err(|_| self.close(&entry.meta.id))
    }

    fn study(&self, entry: &RunEntry) -> Result<Arc<Mutex<Study>>, StoreError> {
        let mut studies = self.studies.lock().unwrap_or_else(PoisonError::into_inner);
        let known = studies.iter().position(|(id, _)| *id == entry.meta.id).map(|at| studies.remove(at).1);
        let study = match known {
            Some(study) => study,
            None => Arc::new(Mutex::new(Study::open(&entry.path)?)),
        };
        if studies.len() >= self.most {
            studies.remove(0);
        }
        studies.push((entry.meta.id.clone(), Arc::clone(&study)));
        Ok(study)
    }

    fn close(&self, id: &str) {
        self.studies.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != id);
    }
}
