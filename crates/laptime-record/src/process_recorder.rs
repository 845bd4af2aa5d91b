//! The recorder of the whole process, where that is held: for callers that cannot hold one themselves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::active::set_armed;
use crate::options::Options;
use crate::recorder::Recorder;

static PROCESS: Mutex<ProcessRecorder> = Mutex::new(ProcessRecorder { recorder: None, plan: None });

/// The process' recorder, and what one would be started with.
pub(crate) struct ProcessRecorder {
    pub(crate) recorder: Option<Recorder>,
    pub(crate) plan: Option<Options>,
}

/// The process' recorder; the first lock that is taken where several are.
pub(crate) fn process_recorder() -> MutexGuard<'static, ProcessRecorder> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProcessRecorder {
    /// In a forked child: forgets the parent's recorder and plans one of its own in the same run.
    pub(crate) fn begin_anew_in_child(&mut self, was_on: bool) {
        let Some(parents) = self.recorder.take() else {
            // What the parent had armed stays armed: whichever of them records first makes the run.
            return;
        };
        if was_on {
            self.plan = Some(parents.child_options());
            set_armed();
        }
        // Dropping it would end the parent's run from here.
        std::mem::forget(parents);
    }
}
