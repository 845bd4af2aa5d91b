//! Forks: a child is a clean slate, and no lock is held in it that nobody will release.

#![expect(unsafe_code, reason = "only the C library can run code around a fork")]

use std::cell::RefCell;
use std::sync::MutexGuard;

use laptime_core::Trouble;

use crate::active::{self, RecorderLocks};
use crate::communication::{Communication, lock_communication};
use crate::device;
use crate::imports::{Imports, imports};
use crate::process_recorder::{ProcessRecorder, process_recorder};
use crate::stage::{StageNames, names};
use crate::trouble::early_troubles;

/// Every lock of this crate that another thread could hold while this one forks.
struct Held {
    // In the order they are taken anywhere in this crate.
    process: MutexGuard<'static, ProcessRecorder>,
    communication: MutexGuard<'static, Option<Communication>>,
    _recorder: RecorderLocks,
    _names: MutexGuard<'static, StageNames>,
    imports: MutexGuard<'static, Imports>,
    _troubles: MutexGuard<'static, Vec<Trouble>>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// Makes forks safe from now on; done once.
pub(crate) fn stand_by() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handlers take and release locks in the forking thread, and store to atomics.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

extern "C" fn before() {
    // No unwinding may leave a C callback; without the locks the child only risks what it risked before.
    let _ = std::panic::catch_unwind(|| {
        let held = Held {
            process: process_recorder(),
            communication: lock_communication(),
            _recorder: active::lock_all(),
            _names: names(),
            imports: imports(),
            _troubles: early_troubles(),
        };
        let _ = HELD.try_with(|place| place.replace(Some(held)));
    });
}

extern "C" fn in_parent() {
    let _ = std::panic::catch_unwind(|| HELD.try_with(RefCell::take));
}

extern "C" fn in_child() {
    let was_on = active::begin_anew_in_child();
    device::begin_anew_in_child();
    let _ = std::panic::catch_unwind(|| {
        let held = HELD.try_with(RefCell::take).ok().flatten();
        if let Some(mut held) = held {
            held.process.begin_anew_in_child(was_on);
            held.imports.forget();
            // No group of ranks outlives a fork, and what is under way here belongs to the parent.
            *held.communication = None;
        }
    });
}
