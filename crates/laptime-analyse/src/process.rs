//! Process: the log of one process, folded.

use std::collections::BTreeMap;

use laptime_core::{
    Closing, Counter, Estimate, Event, Gauge, LaneState, Metric, ProcessFacts, Record, Role, Sample, StageId,
    Status, Ticks, Timebase, Track, TrackKind, Trouble,
};

use crate::clock::Clock;
use crate::communication::Communication;
use crate::device::{DeviceFold, Gate, Passed, Released};
use crate::device_rows::DeviceRows;
use crate::fit::Fit;
use crate::gauges::Gauges;
use crate::imports::Imports;
use crate::lane::Lane;
use crate::ledger::{Extent, StageNames};
use crate::newest_spans::Newest;
use crate::outlook;
use crate::report::{Overhead, Warning};
use crate::step_series::StepSeries;
use crate::stretch::shortest;
use crate::tally::Step;
use crate::totals::Totals;

/// Troubles listed one by one; a recorder in trouble for days must not fill memory.
const MOST_TROUBLES: usize = 256;
/// How long a process that runs may be ahead of its device.
const DEVICE_PATIENCE_NS: f64 = 5e9;
/// Rows of epochs kept of all its fits; of more, neighbours are folded. A row takes about a kB here and two more
/// in a report.
const MOST_EPOCHS: usize = 10_000;

/// Everything kept of one process' log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    /// Who wrote the log.
    pub(crate) facts: ProcessFacts,
    /// Names of its stages.
    pub(crate) names: StageNames,
    /// Its tracks.
    pub(crate) lanes: BTreeMap<u32, Lane>,
    /// Its trainings.
    pub(crate) fits: BTreeMap<u32, Fit>,
    /// Steps outside any fit.
    pub(crate) loose_steps: StepSeries,
    /// What it imported before its first fit.
    pub(crate) imports: Imports,
    /// What its probes read and its code counted.
    pub(crate) gauges: Gauges,
    /// What its anchors say.
    pub(crate) clock: Clock,
    /// What the boundaries of its devices say, by lane.
    pub(crate) devices: BTreeMap<u32, DeviceFold>,
    /// What it exchanged with other ranks; absent where it belongs to no group.
    pub(crate) communication: Option<Box<Communication>>,
    /// Where the host's events wait for the devices.
    pub(crate) gate: Gate,
    /// How it ended, when it said so.
    pub(crate) closed: Option<(Ticks, Closing)>,
    /// Its newest spans, for the timeline of a step.
    pub(crate) newest: Newest,
    ended: Option<Status>,
    troubles: Vec<Trouble>,
    last: Option<Ticks>,
    /// Rows of epochs now, and after they were last folded.
    epoch_rows: usize,
    folded_to: usize,
}

impl Process {
    /// A process whose log begins.
    pub(crate) fn new(facts: ProcessFacts) -> Self {
        Self { facts, ..Self::default() }
    }

    /// Takes the next record of its log.
    pub(crate) fn take(&mut self, record: &Record) {
        self.put(record);
        while self.go_on(None).is_some() {}
    }

    /// Takes a record without letting go on what waits for the devices.
    pub(crate) fn put(&mut self, record: &Record) {
        match record {
            Record::Process(facts) => self.facts = facts.clone(),
            Record::Stage { stage, name } => self.names.learn(*stage, name),
            Record::Track { lane, track, started } => self.take_track(*lane, track, *started),
            Record::Device { lane, facts } => self.lane(*lane).device = Some(facts.clone()),
            Record::Fit { fit, facts } => self.fits.entry(*fit).or_default().learn(facts),
            Record::Group { group, facts } => self.communication.get_or_insert_default().learn(*group, facts),
            Record::Layer { fit, facts } => self.fits.entry(*fit).or_default().take_layer(facts),
            Record::Import { name, length } => self.imports.take(name, *length),
            Record::Event { lane, event } => self.take_event(*lane, event),
            Record::State(state) => self.take_state(state),
            Record::Sample(sample) => self.take_sample(sample),
            Record::Anchor(anchor) => self.clock.take(anchor),
            Record::Trouble(trouble) => self.take_trouble(trouble),
            Record::Closed { at, closing } => {
                self.gate.end(*at);
                self.closed = Some((*at, closing.clone()));
                self.close_communication();
            }
            Record::Ended { status } => {
                self.ended = Some(*status);
                if *status != Status::Running {
                    self.close_communication();
                }
            }
        }
    }

    /// Lets the next event of the host go on of which the devices' times are known, or any up to an instant; the lane
    /// and the event that went on.
    pub(crate) fn go_on(&mut self, until: Option<Ticks>) -> Option<(u32, Event)> {
        if self.devices.is_empty() {
            return None;
        }
        let Released { lane, event, totals } = self.gate.release(until, self.facts.ns_per_tick)?;
        if let (Some(mut totals), Some(at)) = (totals, event.instant()) {
            totals.device = self.device_rows_at(at);
            self.lane(lane).recorded = totals;
            let ends = matches!(event, Event::EpochEnd { .. } | Event::FitEnd { .. });
            let marks = !matches!(event, Event::Cut { .. });
            self.devices.values_mut().filter(|_| marks).for_each(|device| device.mark(ends));
        }
        if !matches!(event, Event::Total(_)) {
            self.apply(lane, &event);
        }
        Some((lane, event))
    }

    /// What waits goes on with what is known up to this instant, because nothing more is read before a report. While
    /// the process runs its device works on what is newer.
    pub(crate) fn settled_until(&self) -> Option<Ticks> {
        let patience = Ticks((DEVICE_PATIENCE_NS / self.facts.ns_per_tick.max(1e-3)) as u64);
        let is_running = self.status() == Status::Running;
        Some(if is_running { self.gate.newest().since(patience) } else { Ticks(u64::MAX) })
    }

    /// Lets go on what can, for a report.
    pub(crate) fn settle(&mut self) {
        let until = self.settled_until();
        while self.go_on(until).is_some() {}
        let end = self.extent().end;
        self.devices.values_mut().for_each(|device| device.advance(end));
    }

    /// Whether events of the host wait for a device.
    pub(crate) fn waits(&self) -> bool {
        !self.devices.is_empty()
    }

    /// Whether events of a lane wait until the devices' times are known.
    pub(crate) fn is_gated(&self, lane: u32) -> bool {
        let is_host = |lane: &Lane| lane.track.kind == TrackKind::Thread;
        !self.devices.is_empty() && self.lanes.get(&lane).is_none_or(is_host)
    }

    /// The device whose ledger the fits have: the one with the most boundaries.
    pub(crate) fn device(&self) -> Option<(u32, &DeviceFold)> {
        let known = self.devices.iter().filter(|(_, device)| device.boundaries > 0);
        let most = known.max_by_key(|(lane, device)| (device.boundaries, std::cmp::Reverse(**lane)));
        most.map(|(lane, device)| (*lane, device))
    }

    /// What that device did until the end of the report; `None` where none has times.
    pub(crate) fn device_rows(&self) -> Option<DeviceRows> {
        self.device().map(|(_, device)| device.rows().clone())
    }

    fn device_rows_at(&mut self, at: Ticks) -> Option<DeviceRows> {
        self.devices.values_mut().for_each(|device| device.advance(at));
        self.device_rows()
    }

    fn take_trouble(&mut self, trouble: &Trouble) {
        if matches!(trouble, Trouble::DeviceTimesOff { .. }) {
            self.gate.switch_off();
        }
        if self.troubles.len() < MOST_TROUBLES {
            self.troubles.push(trouble.clone());
        }
    }

    /// How it stands.
    pub(crate) fn status(&self) -> Status {
        self.closed.as_ref().map(|(_, closing)| closing.status).or(self.ended).unwrap_or(Status::Running)
    }

    /// Whether it is another process of the same rank whose ticks are those of this one.
    pub(crate) fn shares_clock_with(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.facts, &other.facts);
        let same_clock = mine.boot_id == theirs.boot_id && mine.clock == theirs.clock;
        same_clock && mine.rank == theirs.rank && mine.pid != theirs.pid
    }

    /// The length of its ticks.
    pub(crate) fn timebase(&self) -> Timebase {
        self.clock.timebase(self.facts.ns_per_tick)
    }

    /// From its start to its end, or to the last instant known.
    pub(crate) fn extent(&self) -> Extent {
        let started = self.facts.started;
        let end = self.closed.as_ref().map(|(at, _)| *at).or(self.last).unwrap_or(started);
        Extent { started, end: end.max(started), finished: self.closed.is_some() }
    }

    /// The thread whose ledger is the run's: the one that takes the steps, else the one with the marks,
    /// else lane 0.
    pub(crate) fn stepping_lane(&self) -> Option<&Lane> {
        let busiest = |lane: &&Lane| (lane.steps, lane.marks, std::cmp::Reverse(lane.number));
        self.lanes.values().filter(|lane| lane.track.kind == TrackKind::Thread).max_by_key(busiest)
    }

    /// What is missing or doubtful in its log.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let troubles = self.troubles.iter().map(|trouble| Warning::Trouble { trouble: trouble.clone() });
        let states = self.lanes.values().filter_map(|lane| lane.state.as_ref());
        let dropped = states.fold(0_u64, |sum, state| sum.saturating_add(state.dropped));
        let dropped = (dropped > 0).then_some(Warning::SpansDropped { count: dropped });
        troubles.chain(dropped).chain(self.clock.warnings().iter().cloned()).collect()
    }

    /// What recording cost; while it runs the cost of a span is not known and only the flusher counts.
    pub(crate) fn overhead(&self, wall_s: f64) -> Overhead {
        let closing = self.closed.as_ref().map(|(_, closing)| closing);
        let counted = || {
            let states = self.lanes.values().filter_map(|lane| lane.state.as_ref());
            let spans = states.flat_map(|state| &state.totals).map(|total| total.count);
            spans.fold(0, u64::saturating_add)
        };
        let spans = closing.map_or_else(counted, |closing| closing.spans);
        let sane = |ns: &f64| (0.0..1e12).contains(ns);
        let span_cost_ns = closing.map(|closing| closing.span_cost_ns).filter(sane);
        let flusher_cpu_s = self.gauges.last(Gauge::RecorderCpuNs).map(|ns| ns as f64 * 1e-9);
        let spans_s = span_cost_ns.map(|ns| spans as f64 * ns * 1e-9);
        let seconds = spans_s.unwrap_or(0.0) + flusher_cpu_s.unwrap_or(0.0);
        let share = if wall_s > 0.0 { (seconds / wall_s).clamp(0.0, 1.0) } else { 0.0 };
        Overhead { seconds, share, spans, span_cost_ns, spans_s, flusher_cpu_s }
    }

    fn lane(&mut self, number: u32) -> &mut Lane {
        self.lanes.entry(number).or_insert_with(|| Lane::new(number))
    }

    fn see(&mut self, lane: u32, at: Ticks) {
        self.last = self.last.max(Some(at));
        self.lane(lane).see(at);
    }

    fn take_sample(&mut self, sample: &Sample) {
        self.gauges.take(sample);
        // A supervisor has no lanes: its probes are what it is known by.
        if self.facts.role == Role::Supervisor {
            self.last = self.last.max(Some(sample.at));
        }
    }

    /// Keeps what a rank beside others is shown by; for one whose log has ended.
    pub(crate) fn coarsen(&mut self) {
        self.fits.values_mut().for_each(Fit::coarsen);
        self.gauges.coarsen();
    }

    fn close_communication(&mut self) {
        self.communication.iter_mut().for_each(|communication| communication.close());
    }

    fn take_track(&mut self, lane: u32, track: &Track, started: Ticks) {
        if track.kind == TrackKind::Device {
            self.devices.entry(lane).or_default();
        }
        let lane = self.lane(lane);
        track.clone_into(&mut lane.track);
        lane.started = Some(started);
        lane.last = lane.last.max(Some(started));
    }

    fn take_state(&mut self, state: &LaneState) {
        self.see(state.lane, state.at);
        self.lane(state.lane).take_state(state);
        self.gate.take_state(state);
    }

    fn take_event(&mut self, number: u32, event: &Event) {
        if let Some(at) = event.instant() {
            self.see(number, at);
        }
        if matches!(event, Event::Collective { .. }) {
            self.communication.get_or_insert_default();
        }
        if let Some(communication) = &mut self.communication {
            let kind = self.lanes.get(&number).map_or(TrackKind::Thread, |lane| lane.track.kind);
            communication.take(number, kind, event);
        }
        self.newest.take(number, event);
        match *event {
            Event::Boundary { stream, stage, host, done } => {
                self.take_boundary(number, stream, Passed { stage, host, done });
            }
            Event::Measured { metric: Metric::Loss, at, value } if self.devices.contains_key(&number) => {
                self.gate.take_loss(at, value);
            }
            _ if self.is_gated(number) => {
                let recorded = self.lanes.get(&number).map(|lane| &lane.recorded);
                self.gate.push(number, *event, recorded.unwrap_or(&Totals::default()));
            }
            _ => self.apply(number, event),
        }
    }

    fn take_boundary(&mut self, number: u32, stream: u16, passed: Passed) {
        let ns_per_tick = self.facts.ns_per_tick;
        let passed = Passed { done: passed.done.max(passed.host), ..passed };
        if let Some(passed) = self.devices.entry(number).or_default().take(stream, passed, ns_per_tick) {
            self.gate.pass(passed);
        }
    }

    fn apply(&mut self, number: u32, event: &Event) {
        match *event {
            Event::Span { stage, start, end, own, in_evaluate } => {
                self.lane(number).take_span(stage, (start, end), own, in_evaluate);
            }
            Event::Step { start, end, samples, loss } => self.take_step(number, (start, end), samples, loss),
            Event::Cut { at } => self.take_cut(number, at),
            Event::Boundary { .. } | Event::Collective { .. } => {}
            Event::Total(total) => self.lane(number).recorded.set(total),
            Event::Count { counter, amount, .. } => {
                self.gauges.count(counter, amount);
                if counter == Counter::Tokens {
                    let lane = self.lane(number);
                    lane.tokens = lane.tokens.saturating_add(amount);
                }
            }
            Event::Measured { metric, at, value } => {
                if let Some(fit) = self.lane(number).fit {
                    self.fits.entry(fit).or_default().take_metric(metric, at, value);
                }
            }
            Event::FitBegin { .. }
            | Event::FitEnd { .. }
            | Event::EpochBegin { .. }
            | Event::EpochEnd { .. } => {
                self.take_mark(number, event);
            }
        }
    }

    fn take_mark(&mut self, number: u32, mark: &Event) {
        let lane = self.lanes.entry(number).or_insert_with(|| Lane::new(number));
        lane.marks += 1;
        // Waiting that belongs to no step, such as for the end of the data, ends with the mark.
        lane.wait = Ticks(0);
        match *mark {
            Event::FitBegin { fit, at } => {
                if let Some(open) = lane.fit.filter(|open| *open != fit) {
                    self.fits.entry(open).or_default().end(at, &lane.recorded);
                }
                lane.fit = Some(fit);
                self.fits.entry(fit).or_default().begin(at, lane);
            }
            Event::FitEnd { fit, at } => {
                lane.fit = None;
                self.fits.entry(fit).or_default().end(at, &lane.recorded);
            }
            Event::EpochBegin { epoch, at } => {
                // Where a fit's begin is lost to damage, its epochs are still worth showing.
                let lost = || self.fits.keys().next_back().copied().unwrap_or(0);
                let fit = lane.fit.unwrap_or_else(lost);
                lane.fit = Some(fit);
                let fit = self.fits.entry(fit).or_default();
                fit.begin(at, lane);
                let rows = fit.epochs.rows().len();
                fit.begin_epoch(epoch, at, &lane.recorded);
                self.epoch_rows = self.epoch_rows + fit.epochs.rows().len() - rows;
                self.fold_epochs();
            }
            Event::EpochEnd { at, .. } => {
                if let Some(fit) = lane.fit {
                    self.fits.entry(fit).or_default().end_epoch(at, &lane.recorded);
                    self.predict_time_left(fit);
                }
            }
            _ => {}
        }
    }

    /// Folds neighbouring epochs where there are too many; fits of few epochs each leave nothing to fold.
    fn fold_epochs(&mut self) {
        if self.epoch_rows <= MOST_EPOCHS.max(self.folded_to + MOST_EPOCHS / 4) {
            return;
        }
        self.fits.values_mut().for_each(Fit::fold_epochs);
        self.epoch_rows = self.fits.values().map(|fit| fit.epochs.rows().len()).sum();
        self.folded_to = self.epoch_rows;
    }

    /// Predicts a fit's time left at the end of its newest epoch.
    fn predict_time_left(&mut self, fit: u32) {
        let Some(ended) = self.fits.get(&fit).filter(|fit| fit.needs_prediction()) else { return };
        let time_left = outlook::time_left_at_end(&self.fits, ended, &self.timebase());
        self.fits.entry(fit).or_default().set_time_left(time_left);
    }

    fn take_step(&mut self, number: u32, (start, end): (Ticks, Ticks), samples: u32, loss: Option<f64>) {
        let lane = self.lane(number);
        lane.steps += 1;
        lane.step_end = lane.step_end.max(Some(end));
        let (wait, tokens) = (std::mem::take(&mut lane.wait), std::mem::take(&mut lane.tokens));
        let step = Step { start, time: end.since(start), wait, samples, tokens, loss };
        match lane.fit {
            Some(fit) => self.fits.entry(fit).or_default().take_step(&step),
            None => self.loose_steps.push(&step),
        }
    }

    fn take_cut(&mut self, number: u32, at: Ticks) {
        let timebase = self.timebase();
        let lane = self.lanes.entry(number).or_insert_with(|| Lane::new(number));
        let Some((fit, known)) = lane.fit.and_then(|fit| Some((fit, self.fits.get_mut(&fit)?))) else {
            return;
        };
        if known.cut(at, &lane.recorded, shortest(known.wall(at), &timebase)) {
            let ended = self.fits.get(&fit);
            let time_left = ended.and_then(|fit| outlook::time_left_at_end(&self.fits, fit, &timebase));
            self.fits.entry(fit).or_default().laps.stretches.predict(time_left);
        }
    }

    /// Time to the end of the planned epochs or steps of the fit that is open; `None` unless the process is
    /// running.
    pub(crate) fn time_left(&self, timebase: &Timebase) -> Option<Estimate> {
        let fit = self.open_fit().filter(|_| self.status() == Status::Running)?;
        let step_end = self.lanes.get(&fit.lane).and_then(|lane| lane.step_end);
        outlook::time_left(&self.fits, fit, (self.extent().end, step_end), timebase)
    }

    /// Whether it takes steps of a training.
    pub(crate) fn trains(&self) -> bool {
        self.fits.values().any(|fit| fit.steps.sum.steps > 0)
    }

    /// Whether any training began.
    pub(crate) fn any_fit(&self) -> bool {
        self.fits.values().any(|fit| fit.began.is_some())
    }

    /// The fit that is open, the newest when there are several.
    pub(crate) fn open_fit(&self) -> Option<&Fit> {
        self.fits.values().rev().find(|fit| fit.began.is_some() && fit.ended.is_none())
    }

    /// Frames of a lane that were open, without the background unless nothing else was.
    pub(crate) fn open_frames<'a>(&self, lane: &'a Lane) -> impl Iterator<Item = (StageId, Ticks)> + use<'a> {
        let open = lane.state.as_ref().map_or(&[][..], |state| &state.open);
        let frames = if open.len() > 1 { &open[1..] } else { open };
        frames.iter().map(|frame| (frame.stage, frame.start))
    }
}
