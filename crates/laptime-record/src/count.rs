//! Counters: amounts counted by the code that moves them.

use std::sync::atomic::{AtomicU64, Ordering};

use laptime_core::{Counter, Event};

use crate::clock::now;
use crate::fit_log::push;
use crate::lane::Lane;
use crate::thread_lane::current_lane;

/// What was counted while no recorder was on: a program opens its data before it starts to record.
static EARLY: [AtomicU64; Counter::ALL.len()] = [const { AtomicU64::new(0) }; Counter::ALL.len()];

/// Counts an amount on this thread. Without a recorder it is kept for one that covers the whole program.
pub fn count(counter: Counter, amount: u64) {
    match current_lane() {
        Some(lane) => push(lane, &Event::Count { counter, at: now(), amount }),
        None => drop(EARLY[counter as usize].fetch_add(amount, Ordering::Relaxed)),
    }
}

/// Takes what was counted so far and, where the recorder covers it, puts it on record.
pub(crate) fn take_early_counts(lane: Option<Lane>) {
    for counter in Counter::ALL {
        let amount = EARLY[counter as usize].swap(0, Ordering::Relaxed);
        if let Some(lane) = lane.filter(|_| amount > 0) {
            push(lane, &Event::Count { counter, at: now(), amount });
        }
    }
}
