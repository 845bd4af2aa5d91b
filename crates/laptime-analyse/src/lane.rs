//! Lane: what was put on record of one track, folded.

use std::collections::BTreeMap;

use laptime_core::{DeviceFacts, LaneState, StageId, Ticks, Track};

use crate::histogram::Histogram;
use crate::totals::Totals;

/// Inclusive times of the spans of one stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanTimes {
    count: u64,
    sum: u128,
    histogram: Histogram,
}

impl SpanTimes {
    fn record(&mut self, ticks: u64) {
        self.count += 1;
        self.sum += u128::from(ticks);
        self.histogram.record(ticks);
    }

    /// Mean in ticks; exact, because means forecast sums.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Percentile in ticks.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        self.histogram.quantile(q)
    }
}

/// One track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    /// Its number.
    pub(crate) number: u32,
    /// What it is of.
    pub(crate) track: Track,
    /// When it began, where known.
    pub(crate) started: Option<Ticks>,
    /// The last instant known of it.
    pub(crate) last: Option<Ticks>,
    /// Totals as recorded before the newest mark, time of open stages included.
    pub(crate) recorded: Totals,
    /// Where it stood last.
    pub(crate) state: Option<LaneState>,
    /// Spans of its stages outside evaluations.
    pub(crate) spans: BTreeMap<StageId, SpanTimes>,
    /// Steps that ended on it.
    pub(crate) steps: u64,
    /// Marks of fits and epochs on it.
    pub(crate) marks: u64,
    /// The fit that is open on it.
    pub(crate) fit: Option<u32>,
    /// When a stage last ended on it.
    pub(crate) stage_end: Option<Ticks>,
    /// When its newest step ended.
    pub(crate) step_end: Option<Ticks>,
    /// Exclusive time since the newest step ended until a batch was there and ready for the model.
    pub(crate) wait: Ticks,
    /// Tokens trained on since the newest step ended.
    pub(crate) tokens: u64,
    /// The device whose track it is.
    pub(crate) device: Option<DeviceFacts>,
}

impl Lane {
    /// A lane of which nothing is known yet.
    pub(crate) fn new(number: u32) -> Self {
        Self { number, track: Track::thread(format!("thread {number}")), ..Self::default() }
    }

    /// Notes that something happened on it.
    pub(crate) fn see(&mut self, at: Ticks) {
        self.started.get_or_insert(at);
        self.last = self.last.max(Some(at));
    }

    /// Takes a span that ended; one inside an evaluation says nothing about training.
    pub(crate) fn take_span(
        &mut self,
        stage: StageId,
        (start, end): (Ticks, Ticks),
        own: Ticks,
        in_evaluate: bool,
    ) {
        self.stage_end = self.stage_end.max(Some(end));
        if in_evaluate {
            return;
        }
        self.spans.entry(stage).or_default().record(end.since(start).0);
        if [StageId::DATA_WAIT, StageId::PREPARE].contains(&stage) {
            self.wait = self.wait.plus(own);
        }
    }

    /// Takes where it stands, unless something newer is known.
    pub(crate) fn take_state(&mut self, state: &LaneState) {
        if self.state.as_ref().is_none_or(|known| known.at <= state.at) {
            self.state = Some(state.clone());
        }
    }

    /// Totals since it began, open stages included up to `end`.
    ///
    /// `finished` says that the process ended in good order, so a thread that ended earlier leaves
    /// nothing open: the rest is `tear_down`. Of a process that died, or lives, the open stages go on.
    pub(crate) fn totals_at(&self, end: Ticks, finished: bool) -> Totals {
        let Some(state) = &self.state else { return self.recorded.clone() };
        let mut totals = Totals::of(&state.totals);
        let until = if finished { state.at.min(end) } else { end };
        totals.add_open(&state.open, until);
        totals.add(StageId::TEAR_DOWN, end.since(until));
        totals
    }

    /// The stage that the running time is booked on.
    pub(crate) fn stage_on_top(&self) -> StageId {
        let open = self.state.as_ref().map_or(&[][..], |state| &state.open);
        let absorbing = open.iter().find(|frame| frame.stage.absorbs_children());
        absorbing.or(open.last()).map_or(StageId::UNACCOUNTED, |frame| frame.stage)
    }
}
