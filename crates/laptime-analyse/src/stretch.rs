//! Stretches: a training without epochs every 10 s, for charts that grow with it.

use laptime_core::{Estimate, Ticks, Timebase};

use crate::window::{Pause, Window};

/// How often a chart gets a point; TensorBoard itself looks every 5 s.
const SHORTEST_S: f64 = 10.0;
/// A stretch is at least this part of the time so far: a day has all its points, a month not many more.
const FINEST: u64 = 8_640;

/// The least length of a stretch that ends so long after the fit's begin.
pub(crate) fn shortest(elapsed: Ticks, timebase: &Timebase) -> Ticks {
    let ticks = SHORTEST_S * 1e9 / timebase.ns_per_tick;
    Ticks(ticks as u64).max(Ticks(elapsed.0 / FINEST))
}

/// Stretches in time order. What was once given is never changed by what comes later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretches {
    done: Vec<Window>,
    growing: Option<Window>,
    full: bool,
}

impl Stretches {
    /// Adds the steps up to a cut; says whether they end a stretch.
    pub(crate) fn take(&mut self, part: &Window, shortest: Ticks) -> bool {
        if std::mem::take(&mut self.full) {
            self.done.extend(self.growing.take());
        }
        match &mut self.growing {
            Some(growing) => growing.join(part),
            None => self.growing = Some(part.clone()),
        }
        self.full = self.growing.as_ref().is_some_and(|now| now.ended.since(now.began) >= shortest);
        self.full
    }

    /// Adds a pause after the steps so far.
    pub(crate) fn pause(&mut self, pause: &Pause) {
        if let Some(growing) = &mut self.growing {
            growing.pause(pause);
        }
    }

    /// Notes what is left at the end of the newest stretch.
    pub(crate) fn predict(&mut self, time_left: Option<Estimate>) {
        if let Some(growing) = &mut self.growing {
            growing.time_left = time_left;
        }
    }

    /// All stretches; the newest is complete only when it is full, or when training is over.
    pub(crate) fn all(&self, over: bool) -> impl Iterator<Item = Window> + '_ {
        let last =
            self.growing.iter().map(move |last| Window { complete: self.full || over, ..last.clone() });
        self.done.iter().cloned().chain(last)
    }

    /// How many will change no more.
    pub(crate) fn settled(&self) -> usize {
        self.done.len()
    }
}
