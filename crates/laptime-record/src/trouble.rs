//! Trouble that is known before there is a recorder: kept for the one that starts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use laptime_core::{Record, Trouble};

use crate::active::active;

/// More hooks than there are.
const MOST_EARLY: usize = 64;

static EARLY: Mutex<Vec<Trouble>> = Mutex::new(Vec::new());

/// What waits for a recorder. Nothing else is locked while this is, so that a fork can wait for it.
pub(crate) fn early_troubles() -> MutexGuard<'static, Vec<Trouble>> {
    EARLY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a hook that does not work on record, now or with the recorder's start.
pub fn hook_off(hook: &str, because: &str) {
    note_trouble(Trouble::HookOff { hook: hook.to_owned(), because: because.to_owned() });
}

/// Puts trouble on record, now or with the recorder's start.
pub(crate) fn note_trouble(trouble: Trouble) {
    if let Some(recorder) = active() {
        return recorder.note(Record::Trouble(trouble));
    }
    let mut early = early_troubles();
    if early.len() < MOST_EARLY {
        early.push(trouble);
    }
}
