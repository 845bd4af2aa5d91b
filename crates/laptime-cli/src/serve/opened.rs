//! The runs whose pages are looked at: kept open, so that a page that is renewed reads only what is new.

use std::sync::{Arc, Mutex, PoisonError};

use laptime_store::{RunEntry, StoreError};

use crate::run_story::RunStory;
use crate::study::Study;

/// Runs that are kept open; of a run of very many epochs that is some megabytes each.
const MOST: usize = 4;

/// The runs that were looked at last.
#[derive(Default)]
pub(super) struct Opened {
    /// The newest last.
    studies: Mutex<Vec<(String, Arc<Mutex<Study>>)>>,
}

impl Opened {
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
        if studies.len() == MOST {
            studies.remove(0);
        }
        studies.push((entry.meta.id.clone(), Arc::clone(&study)));
        Ok(study)
    }

    fn close(&self, id: &str) {
        self.studies.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != id);
    }
}
