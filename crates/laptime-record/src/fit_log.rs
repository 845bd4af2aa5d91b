//! What puts a fit and its epochs on record: the marks in their order, and before each the totals.

use laptime_core::{Event, FitFacts, StageId, StageTotal};

use crate::active::wake_flusher;
use crate::clock::now;
use crate::lane::{Lane, Pushed};
use crate::mark::rebook_background_of_marks;
use crate::moment::Moment;

/// One fit on one lane. Marks may be recorded late, with the time and totals of an earlier moment.
pub(crate) struct FitLog {
    lane: Lane,
    pub(crate) number: u32,
    pub(crate) facts: FitFacts,
    next_epoch: u32,
    pub(crate) in_epoch: bool,
    /// Whether steps were taken outside epochs.
    steps_only: bool,
    /// Totals as the log has them.
    recorded: Vec<StageTotal>,
    /// The newest mark: nothing can be recorded of a moment before it.
    newest: Moment,
}

impl FitLog {
    /// Begins a fit at an earlier moment, or now.
    pub(crate) fn begin(lane: Lane, number: u32, facts: FitFacts, since: Option<Moment>) -> Self {
        let at = now();
        lane.set_background(StageId::BETWEEN_EPOCHS, at);
        // What looked like the end of the run was the time between two fits.
        lane.rebook(StageId::TEAR_DOWN, StageId::BETWEEN_EPOCHS);
        let since = since.map(|mark| mark.with_rebooked(StageId::TEAR_DOWN, StageId::BETWEEN_EPOCHS));
        let mark = since.unwrap_or_else(|| lane.moment(at));
        lane.book_background_since(&mark, StageId::BETWEEN_EPOCHS, at);
        let newest = mark.clone();
        let mut fit = Self {
            lane,
            number,
            facts,
            next_epoch: 0,
            in_epoch: false,
            steps_only: false,
            recorded: Vec::new(),
            newest,
        };
        fit.record(Event::FitBegin { fit: number, at: mark.at }, mark);
        fit
    }

    /// Begins the next epoch at an earlier moment, or now; one that is open ends there.
    pub(crate) fn begin_epoch(&mut self, since: Option<Moment>) -> u32 {
        let mark = self.moment(since);
        if self.in_epoch {
            self.end_epoch(Some(mark.clone()));
        }
        let epoch = self.next_epoch;
        self.next_epoch += 1;
        (self.in_epoch, self.steps_only) = (true, false);
        self.record(Event::EpochBegin { epoch, at: mark.at }, mark);
        self.change_background(StageId::UNACCOUNTED);
        epoch
    }

    /// Ends the open epoch at an earlier moment, or now.
    pub(crate) fn end_epoch(&mut self, since: Option<Moment>) {
        if !self.in_epoch {
            return;
        }
        let mark = self.moment(since);
        self.in_epoch = false;
        self.record(Event::EpochEnd { epoch: self.next_epoch - 1, at: mark.at }, mark);
        self.change_background(StageId::BETWEEN_EPOCHS);
    }

    /// This fit has steps but no epochs: time within it that no stage claims is unaccounted.
    pub(crate) fn take_steps_only(&mut self) {
        if !self.in_epoch && !self.steps_only {
            self.steps_only = true;
            self.change_background(StageId::UNACCOUNTED);
        }
    }

    /// Puts the totals of an earlier moment between two steps, or of now, on record: a lap may be cut there.
    pub(crate) fn cut(&mut self, since: Option<Moment>) {
        let is_news = since.as_ref().is_none_or(|mark| mark.at > self.newest.at);
        if is_news && !self.in_epoch {
            let mark = self.moment(since);
            self.record(Event::Cut { at: mark.at }, mark);
        }
    }

    /// Leaves the open epoch without a mark: it never comes to its end.
    pub(crate) fn abandon_epoch(&mut self) {
        self.in_epoch = false;
        self.lane.set_background(StageId::BETWEEN_EPOCHS, now());
    }

    /// Ends the fit at an earlier moment, or now, and with it an epoch that is open.
    pub(crate) fn end(&mut self, since: Option<Moment>) {
        self.end_epoch(since.clone());
        let mark = self.moment(since);
        self.record(Event::FitEnd { fit: self.number, at: mark.at }, mark);
        self.change_background(StageId::TEAR_DOWN);
    }

    /// The moment from which time can still be booked anew: what is before the newest mark is settled.
    pub(crate) fn unsettled_since(&self, mark: Moment) -> Moment {
        if mark.at < self.newest.at { self.newest.clone() } else { mark }
    }

    /// The moment that is meant: marks are recorded in the order of their times.
    fn moment(&self, since: Option<Moment>) -> Moment {
        match since {
            Some(mark) if mark.at >= self.newest.at => mark,
            Some(_) => self.newest.clone(),
            None => self.lane.moment(now()),
        }
    }

    /// Since the newest mark, and from here on, unclaimed time belongs to this stage.
    fn change_background(&self, stage: StageId) {
        let at = now();
        self.lane.book_background_since(&self.newest, stage, at);
        rebook_background_of_marks(&self.newest, self.lane, stage);
        self.lane.set_background(stage, at);
    }

    /// Puts a mark on record, and before it the totals that have changed.
    fn record(&mut self, event: Event, mark: Moment) {
        for total in mark.totals() {
            if self.remember(total) {
                push(self.lane, &Event::Total(total));
            }
        }
        push(self.lane, &event);
        self.newest = mark;
    }

    /// Whether this total is news.
    fn remember(&mut self, total: StageTotal) -> bool {
        match self.recorded.iter_mut().find(|recorded| recorded.stage == total.stage) {
            Some(recorded) if *recorded == total => false,
            Some(recorded) => {
                *recorded = total;
                true
            }
            None => {
                self.recorded.push(total);
                true
            }
        }
    }
}

/// Puts an event on a lane, and wakes the flusher when that is due.
#[inline]
pub(crate) fn push(lane: Lane, event: &Event) {
    if lane.push_event(event) == Pushed::Wake {
        wake_flusher();
    }
}
