//! The recorder of the whole process, for callers that cannot hold a [`Recorder`]: a language binding.
//!
//! It can be armed, so that it starts with the first thing that is recorded. A forked child is armed to
//! join its parent's run: it has no lane, no ring and no log until it records something itself.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use laptime_core::{Record, Status, Trouble};

use crate::explicit::fit_end;
use crate::join::RUN_VARIABLE;
use crate::program_start::ProgramStart;
use crate::recorder::{self, Finished, Options, Recorder, active};
use crate::trouble::early_troubles;

static SESSION: Mutex<Session> = Mutex::new(Session { recorder: None, plan: None });
static BROKEN: AtomicBool = AtomicBool::new(false);

/// The process' recorder, and what one would be started with.
pub(crate) struct Session {
    recorder: Option<Recorder>,
    plan: Option<Options>,
}

pub(crate) fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts recording at once; says whether this process is being recorded now.
pub fn start(options: &Options) -> bool {
    let mut session = session();
    if BROKEN.load(Ordering::Relaxed) {
        return false;
    }
    if active().is_none() {
        session.start(options);
    }
    active().is_some()
}

/// Starts recording with the first thing that is recorded.
pub fn arm(mut options: Options) {
    let mut session = session();
    if active().is_none() && !BROKEN.load(Ordering::Relaxed) {
        // The run begins here, not with its first record.
        options.began.get_or_insert_with(ProgramStart::now);
        session.plan = Some(options);
        recorder::set_armed();
    }
}

/// Starts what was armed.
#[cold]
pub(crate) fn start_armed() {
    let mut session = session();
    recorder::unset_armed();
    if let (Some(options), None) = (session.plan.take(), active()) {
        session.start(&options);
    }
}

/// Whether what is recorded is kept: a recorder is on, or starts with the next record.
#[must_use]
pub fn is_active() -> bool {
    recorder::generation() != 0
}

/// The folder of the run that is being recorded.
#[must_use]
pub fn run_folder() -> Option<PathBuf> {
    session().recorder.as_ref()?.run().map(std::path::Path::to_owned)
}

/// The folder of the run that the next record joins: in a forked child its parent's.
#[must_use]
pub fn run_to_join() -> Option<PathBuf> {
    session().plan.as_ref()?.join.clone()
}

/// Ends recording, and with it the fit that is open on this thread; `None` when nothing was recorded.
pub fn finish(status: Status, message: Option<String>) -> Option<Finished> {
    let recorder = {
        let mut session = session();
        recorder::unset_armed();
        let plan = session.plan.take();
        // Hooks that do not work may be why nothing was recorded: a run that was to be joined learns of them.
        let joins = std::env::var_os(RUN_VARIABLE).is_some() && !early_troubles().is_empty();
        if let Some(options) = plan.filter(|_| joins && active().is_none()) {
            session.start(&options);
        }
        session.recorder.take()?
    };
    fit_end(None);
    Some(recorder.finish(status, message))
}

impl Session {
    fn start(&mut self, options: &Options) {
        self.recorder = Some(Recorder::start(options));
    }

    /// In a forked child: forgets the parent's recorder and plans one of its own in the same run.
    pub(crate) fn begin_anew_in_child(&mut self, was_on: bool) {
        let Some(parents) = self.recorder.take() else {
            // What the parent had armed stays armed: whichever of them records first makes the run.
            return;
        };
        if was_on {
            self.plan = Some(parents.child_options());
            recorder::set_armed();
        }
        // Dropping it would end the parent's run from here.
        std::mem::forget(parents);
    }
}

/// Runs `body`; a panic in it turns recording off for good, and the report says so.
#[inline]
pub fn guarded<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(panic) => {
            // The report of the panic must not panic either.
            let _ = catch_unwind(AssertUnwindSafe(|| break_off(panic.as_ref())));
            otherwise
        }
    }
}

#[cold]
pub(crate) fn break_off(panic: &(dyn Any + Send)) {
    BROKEN.store(true, Ordering::Relaxed);
    recorder::stop_taking_records();
    let because = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words");
    if let Some(recorder) = active() {
        recorder.note(Record::Trouble(Trouble::RecorderBroke { because: because.to_owned() }));
    }
}
