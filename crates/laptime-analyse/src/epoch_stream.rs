//! Epoch stream: every epoch of a run whose report has them folded, one at a time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec;

use laptime_core::{Event, Record, Timebase};

use crate::epoch::Epoch;
use crate::process::Process;
use crate::report::{EpochSummary, LapKind};
use crate::summary::Standing;

/// Gives every epoch of a digest's report as its records are read again, in memory that does not grow with them.
///
/// They come in the order they ended, up to the newest that the digest knows.
pub struct EpochStream<'a> {
    log: usize,
    known: Cow<'a, Process>,
    timebase: Timebase,
    /// The same process, read again.
    again: Process,
    /// Steps of each fit before its next epoch.
    steps: BTreeMap<u32, u64>,
    /// Laps of the fits without epochs.
    windows: Peekable<vec::IntoIter<EpochSummary>>,
}

impl<'a> EpochStream<'a> {
    /// The epochs of a process, whose log has this number, and the laps of its fits without epochs.
    pub(crate) fn new(log: usize, known: Cow<'a, Process>, laps: Vec<EpochSummary>) -> Self {
        let windows: Vec<_> = laps.into_iter().filter(|lap| lap.kind == LapKind::Window).collect();
        Self {
            log,
            timebase: known.timebase(),
            known,
            again: Process::default(),
            steps: BTreeMap::new(),
            windows: windows.into_iter().peekable(),
        }
    }

    /// The log whose records it takes.
    #[must_use]
    pub fn log(&self) -> usize {
        self.log
    }

    /// Takes the next record of that log; gives the epochs that are now known to their end.
    pub fn take(&mut self, record: &Record, sink: &mut dyn FnMut(&EpochSummary)) {
        self.again.put(record);
        if let Record::Event { lane, event } = record
            && !self.again.is_gated(*lane)
        {
            self.settled(*lane, event, sink);
        }
        while let Some((lane, event)) = self.again.go_on(None) {
            self.settled(lane, &event, sink);
        }
    }

    /// Gives the epoch that ended before one that begins.
    fn settled(&mut self, lane: u32, event: &Event, sink: &mut dyn FnMut(&EpochSummary)) {
        let Event::EpochBegin { .. } = event else { return };
        let Some(number) = self.again.lanes.get(&lane).and_then(|lane| lane.fit) else { return };
        let (Some(fit), Some(known)) = (self.again.fits.get(&number), self.known.fits.get(&number)) else {
            return;
        };
        let (begun, all) = (fit.epochs.begun(), known.epochs.begun());
        let settled = fit.epochs.newest_settled().filter(|_| begun <= all).cloned();
        let newest = known.epochs.last().filter(|_| begun == all).cloned();
        while let Some(window) = self.windows.next_if(|window| window.fit < number) {
            sink(&window);
        }
        settled.iter().chain(&newest).for_each(|epoch| self.give(number, epoch, sink));
    }

    /// Gives what is left when all records were taken.
    pub fn finish(mut self, sink: &mut dyn FnMut(&EpochSummary)) {
        let until = self.again.settled_until();
        while let Some((lane, event)) = self.again.go_on(until) {
            self.settled(lane, &event, sink);
        }
        self.windows.for_each(|window| sink(&window));
    }

    fn give(&mut self, number: u32, epoch: &Epoch, sink: &mut dyn FnMut(&EpochSummary)) {
        let Some(fit) = self.known.fits.get(&number) else { return };
        let steps = self.steps.entry(number).or_default();
        let standing = Standing::new(&self.known, fit, &self.timebase);
        let lap = EpochSummary { first_step: *steps, ..standing.epoch(number, fit, epoch) };
        *steps = lap.last_step();
        sink(&lap);
    }
}
