//! Laps of a training without epochs: its steps between cuts, in bounded memory.

use laptime_core::{Metric, StageId, Ticks};

use crate::statistics::Spread;
use crate::stretch::Stretches;
use crate::tally::Step;
use crate::totals::Totals;
use crate::window::{Pause, Window};

/// Parts kept before neighbours are merged: 32 laps of 32 parts, in less than a MiB.
const MOST_PARTS: usize = 1_024;

/// The steps of one fit, cut where it was possible.
#[derive(Clone, Debug)]
pub(crate) struct Laps {
    parts: Vec<Window>,
    /// Parts that begin in one block of so many steps have been merged.
    grain: u64,
    /// Every so manieth pause still parts its neighbours.
    every: u64,
    /// What came since the newest cut.
    open: Window,
    /// The thread's totals at the newest cut.
    base: Totals,
    /// When training went on after the newest pause.
    resumed: Ticks,
    /// How long training paused, in ticks.
    pub(crate) pauses: Spread,
    /// The same steps for charts.
    pub(crate) stretches: Stretches,
}

impl Default for Laps {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            grain: 1,
            every: 1,
            open: Window::default(),
            base: Totals::default(),
            resumed: Ticks(0),
            pauses: Spread::default(),
            stretches: Stretches::default(),
        }
    }
}

impl Laps {
    /// Laps of a fit that begins.
    pub(crate) fn begin(at: Ticks, totals: &Totals) -> Self {
        Self { open: Window::begin(0, at), base: totals.clone(), ..Self::default() }
    }

    /// Takes a step that ended.
    pub(crate) fn take_step(&mut self, step: &Step) {
        self.open.tally.take(step);
    }

    /// Takes what was measured: of the steps before it, not of those to come.
    pub(crate) fn take_metric(&mut self, metric: Metric, value: f64) {
        let before = self.parts.last_mut().filter(|_| self.open.tally.steps == 0);
        before.unwrap_or(&mut self.open).metrics.insert(metric, value);
    }

    /// The part of a step that lies after the newest pause: from an update to the next there may be one.
    pub(crate) fn without_pause(&self, start: Ticks) -> Ticks {
        start.max(self.resumed)
    }

    /// Cuts between two steps, where the thread's totals are `totals`; says whether a stretch for charts,
    /// which are at least so long, ends here.
    pub(crate) fn cut(&mut self, at: Ticks, totals: &Totals, shortest: Ticks) -> bool {
        let part = self.closed(at, totals);
        let is_stretch = match part.as_pause().filter(Pause::has_reason) {
            Some(pause) => {
                self.pause(pause);
                self.resumed = part.ended;
                false
            }
            None if part.wall == Ticks(0) && part.tally.steps == 0 => false,
            None => self.push(part, shortest),
        };
        self.open = Window::begin(self.open.last_step(), at.max(self.open.began));
        self.base = totals.clone();
        is_stretch
    }

    /// Ends the last lap with the fit.
    pub(crate) fn end(&mut self, at: Ticks, totals: &Totals) {
        let part = self.closed(at, totals);
        match part.as_pause() {
            Some(pause) => self.pause(pause),
            None => drop(self.push(part, Ticks(u64::MAX))),
        }
    }

    /// All parts in time order with what came since the newest cut, up to a moment where the thread's totals
    /// are known; of a fit that has ended nothing has.
    pub(crate) fn parts(&self, now: Option<(Ticks, &Totals, StageId)>) -> Vec<Window> {
        let mut parts = self.parts.clone();
        let Some((at, totals, doubtful)) = now else { return parts };
        let rest = self.open.end(at, (&self.base, totals), doubtful);
        match (rest.as_pause().filter(Pause::has_reason), parts.last_mut()) {
            (Some(pause), Some(last)) => last.pause(&Pause { number: self.pauses.count + 1, ..pause }),
            _ if rest.wall > Ticks(0) || rest.tally.steps > 0 => parts.push(rest),
            _ => {}
        }
        parts
    }

    /// Whether a pause of this number parts its neighbours.
    pub(crate) fn is_kept(&self, pause: &Pause) -> bool {
        pause.number > 0 && pause.number.is_multiple_of(self.every)
    }

    /// When the newest part ended or the newest pause was over.
    pub(crate) fn cut_at(&self) -> Ticks {
        self.open.began
    }

    fn closed(&self, at: Ticks, totals: &Totals) -> Window {
        let part = self.open.end(at, (&self.base, totals), StageId::UNACCOUNTED);
        Window { complete: true, ..part }
    }

    fn pause(&mut self, pause: Pause) {
        if pause.has_reason() {
            self.pauses.take(pause.length.0 as f64);
        }
        let number = if pause.has_reason() { self.pauses.count } else { 0 };
        let pause = Pause { number, ..pause };
        self.stretches.pause(&pause);
        if let Some(last) = self.parts.last_mut() {
            last.pause(&pause);
        }
    }

    fn push(&mut self, part: Window, shortest: Ticks) -> bool {
        let is_stretch = self.stretches.take(&part, shortest);
        // Time without a step, such as of steps whose records were dropped, is no lap of its own.
        match self.parts.last_mut().filter(|last| part.tally.steps == 0 && last.pause == Pause::default()) {
            Some(last) => last.join(&part),
            None => self.parts.push(part),
        }
        if self.parts.len() > MOST_PARTS {
            self.fold();
        }
        is_stretch
    }

    /// Merges neighbours until half of the parts are left: first within pauses, then across every second one.
    fn fold(&mut self) {
        self.merge();
        while self.parts.len() > MOST_PARTS / 2 {
            match self.grain <= self.open.last_step() {
                true => self.grain = self.grain.saturating_mul(2),
                false => self.every = self.every.saturating_mul(2),
            }
            self.merge();
        }
    }

    fn merge(&mut self) {
        let mut merged: Vec<Window> = Vec::with_capacity(self.parts.len());
        for part in std::mem::take(&mut self.parts) {
            match merged.last_mut().filter(|last| self.is_one(last, &part)) {
                Some(last) => last.join(&part),
                None => merged.push(part),
            }
        }
        self.parts = merged;
    }

    fn is_one(&self, one: &Window, next: &Window) -> bool {
        let same_block = one.first_step / self.grain == next.first_step / self.grain;
        same_block && !self.is_kept(&one.pause)
    }
}
