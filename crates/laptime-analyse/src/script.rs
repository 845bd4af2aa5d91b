//! A scripted lane that follows the recorder's rules, with its own account of where the time went.

use std::collections::BTreeMap;

use laptime_core::{
    Closing, DeviceFacts, Event, FitFacts, LaneState, Metric, OpenStage, ProcessFacts, Record, RunMeta,
    StageId, StageTotal, Status, Ticks, Track, TrackKind,
};

use crate::{Digest, Report};

/// What happened between two cuts of a fit, or between one and its begin or end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Between {
    pub(crate) fit: u32,
    pub(crate) steps: u64,
    /// Where the time went.
    pub(crate) truth: BTreeMap<StageId, u64>,
    /// Whether the fit's end, not a cut, is behind it.
    pub(crate) is_last: bool,
}

/// One thread that trains, on a clock of nanoseconds that only moves when advanced.
pub(crate) struct Script {
    pub(crate) records: Vec<Record>,
    pub(crate) now: u64,
    lane: u32,
    open: Vec<OpenStage>,
    totals: BTreeMap<StageId, (u64, u64)>,
    recorded: BTreeMap<StageId, (u64, u64)>,
    /// Where the time went, booked tick by tick and not by the recorder's rules.
    pub(crate) truth: BTreeMap<StageId, u64>,
    /// The same in time order: from when, until when, what.
    pub(crate) timeline: Vec<(u64, u64, StageId)>,
    /// The same for every epoch that began.
    pub(crate) epochs: Vec<BTreeMap<StageId, u64>>,
    /// The same between the cuts of every fit, whether it has epochs or not.
    pub(crate) between: Vec<Between>,
    fits: u32,
    pub(crate) in_fit: bool,
    pub(crate) in_epoch: bool,
    epochs_of_fit: u32,
    /// Whether the ring is full, so that spans are dropped.
    pub(crate) full: bool,
    dropped: u64,
    device: Option<ScriptedDevice>,
}

/// A device that works behind the thread; what becomes known of it is on record only when it is done.
#[derive(Clone, Debug, Default)]
struct ScriptedDevice {
    /// When each stream will have done what it was given.
    free: BTreeMap<u16, u64>,
    /// Boundaries and losses that are not done, with when they are.
    pending: Vec<(u64, Event)>,
    /// Whether nothing of it is read any more.
    broken: bool,
}

/// The lane of the scripted device.
pub(crate) const DEVICE_LANE: u32 = 40;

impl Script {
    pub(crate) fn new() -> Self {
        let started = 1_000;
        let facts = ProcessFacts { ns_per_tick: 1.0, started: Ticks(started), ..ProcessFacts::default() };
        let background = OpenStage { stage: StageId::START_UP, start: Ticks(started), children: Ticks(0) };
        let thread = Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(started) };
        Self {
            records: vec![Record::Process(facts), thread],
            now: started,
            lane: 0,
            open: vec![background],
            totals: BTreeMap::new(),
            recorded: BTreeMap::new(),
            truth: BTreeMap::new(),
            timeline: Vec::new(),
            epochs: Vec::new(),
            between: Vec::new(),
            fits: 0,
            in_fit: false,
            in_epoch: false,
            epochs_of_fit: 0,
            full: false,
            dropped: 0,
            device: None,
        }
    }

    /// Trains on a device from here on.
    pub(crate) fn on_device(&mut self) -> &mut Self {
        let track = Track { kind: TrackKind::Device, name: "cuda:0".into() };
        self.records.push(Record::Track { lane: DEVICE_LANE, track, started: Ticks(self.now) });
        let (name, memory_bytes) = ("NVIDIA H200".to_owned(), Some(139 << 30));
        let facts = DeviceFacts { name, memory_bytes, driver: None };
        self.records.push(Record::Device { lane: DEVICE_LANE, facts });
        self.device = Some(ScriptedDevice::default());
        self
    }

    /// A boundary of the device's main stream.
    pub(crate) fn boundary(&mut self, stage: StageId) -> &mut Self {
        self.boundary_of(0, stage)
    }

    /// A boundary of one of its streams.
    pub(crate) fn boundary_of(&mut self, stream: u16, stage: StageId) -> &mut Self {
        let host = Ticks(self.now);
        if let Some(device) = &mut self.device {
            let done = device.free.get(&stream).copied().unwrap_or(0).max(self.now);
            let event = Event::Boundary { stream, stage, host, done: Ticks(done) };
            device.pending.push((done, event));
        }
        self
    }

    /// The loss of the step under way, known when the device has come so far.
    pub(crate) fn late_loss(&mut self, value: f64) -> &mut Self {
        let at = Ticks(self.now);
        let done = self.device_free(0);
        if let Some(device) = &mut self.device {
            device.pending.push((done, Event::Measured { metric: Metric::Loss, at, value }));
        }
        self
    }

    /// When a stream will have done all.
    pub(crate) fn device_free(&self, stream: u16) -> u64 {
        let free = self.device.as_ref().and_then(|device| device.free.get(&stream));
        free.copied().unwrap_or(0).max(self.now)
    }

    /// A stage of the host that takes so long and gives a stream so much to do while it lasts.
    pub(crate) fn launch(&mut self, stream: u16, stage: StageId, host: u64, work: u64) -> &mut Self {
        self.boundary_of(stream, stage);
        let begins = self.device_free(stream);
        self.stage(stage, host);
        let now = self.now;
        if let Some(device) = self.device.as_mut().filter(|_| work > 0) {
            // What is launched last is done last.
            device.free.insert(stream, (begins + work).max(now));
        }
        self
    }

    /// The host waits until the device has done all; `next` is what it does then.
    pub(crate) fn wait_for_device(&mut self, next: StageId) -> &mut Self {
        self.boundary(StageId::DEVICE_WAIT);
        let rest = self.device_free(0) - self.now;
        self.stage(StageId::DEVICE_WAIT, rest).boundary(next)
    }

    /// Nothing of the device is read from here on.
    pub(crate) fn break_device(&mut self) -> &mut Self {
        self.device.iter_mut().for_each(|device| device.broken = true);
        self
    }

    /// Puts on record what the device has done by now.
    fn read_device(&mut self, until: u64) {
        let Some(device) = self.device.as_mut().filter(|device| !device.broken) else { return };
        let (known, pending) =
            std::mem::take(&mut device.pending).into_iter().partition(|(done, _)| *done <= until);
        device.pending = pending;
        let known: Vec<(u64, Event)> = known;
        self.records.extend(known.into_iter().map(|(_, event)| Record::Event { lane: DEVICE_LANE, event }));
    }

    /// Lets time pass in whatever is open.
    pub(crate) fn pass(&mut self, ticks: u64) -> &mut Self {
        self.now += ticks;
        let stage = self.effective_stage();
        *self.truth.entry(stage).or_default() += ticks;
        self.timeline.push((self.now - ticks, self.now, stage));
        if self.in_fit {
            *self.between.last_mut().unwrap().truth.entry(stage).or_default() += ticks;
        }
        if self.in_epoch {
            *self.epochs.last_mut().unwrap().entry(stage).or_default() += ticks;
        }
        self
    }

    pub(crate) fn begin(&mut self, stage: StageId) -> &mut Self {
        self.open.push(OpenStage { stage, start: Ticks(self.now), children: Ticks(0) });
        self
    }

    pub(crate) fn end(&mut self) -> &mut Self {
        if self.open.len() < 2 {
            return self;
        }
        let frame = self.open.pop().unwrap();
        let length = self.now - frame.start.0;
        let in_evaluate = self.open.iter().any(|outer| outer.stage.absorbs_children());
        let own = length - frame.children.0;
        if !in_evaluate {
            let total = self.totals.entry(frame.stage).or_default();
            *total = (total.0 + own, total.1 + 1);
            self.open.last_mut().unwrap().children.0 += length;
        }
        if self.full {
            self.dropped += 1;
            return self;
        }
        let (start, end) = (frame.start, Ticks(self.now));
        self.event(Event::Span { stage: frame.stage, start, end, own: Ticks(own), in_evaluate })
    }

    /// One whole span.
    pub(crate) fn stage(&mut self, stage: StageId, ticks: u64) -> &mut Self {
        self.begin(stage).pass(ticks).end()
    }

    pub(crate) fn fit(&mut self, facts: FitFacts) -> &mut Self {
        self.begin_fit(facts, StageId::BETWEEN_EPOCHS)
    }

    /// A fit without epochs: what no stage claims in it is unaccounted.
    pub(crate) fn fit_of_steps(&mut self, facts: FitFacts) -> &mut Self {
        self.begin_fit(facts, StageId::UNACCOUNTED)
    }

    fn begin_fit(&mut self, facts: FitFacts, background: StageId) -> &mut Self {
        let fit = self.fits;
        self.records.push(Record::Fit { fit, facts: Box::new(facts) });
        if let Some(frame) = self.open.first_mut().filter(|frame| frame.stage == StageId::TEAR_DOWN) {
            frame.stage = StageId::BETWEEN_EPOCHS;
            let torn = self.truth.remove(&StageId::TEAR_DOWN).unwrap_or(0);
            *self.truth.entry(StageId::BETWEEN_EPOCHS).or_default() += torn;
        }
        self.mark(Event::FitBegin { fit, at: Ticks(self.now) }, background);
        self.between.push(Between { fit, ..Between::default() });
        (self.in_fit, self.epochs_of_fit) = (true, 0);
        self
    }

    pub(crate) fn end_fit(&mut self) -> &mut Self {
        self.mark(Event::FitEnd { fit: self.fits, at: Ticks(self.now) }, StageId::TEAR_DOWN);
        self.between.last_mut().unwrap().is_last = true;
        self.fits += 1;
        self.in_fit = false;
        self
    }

    /// A moment between two steps: records the totals with the time so far of what is open, then the cut.
    pub(crate) fn between_steps(&mut self) -> &mut Self {
        if !self.in_fit {
            return self;
        }
        let mut totals = self.totals.clone();
        for (depth, frame) in self.open.iter().enumerate() {
            let absorbs = frame.stage.absorbs_children();
            let inner = self.open.get(depth + 1).filter(|_| !absorbs);
            let until = inner.map_or(self.now, |inner| inner.start.0);
            totals.entry(frame.stage).or_default().0 += until - frame.start.0 - frame.children.0;
            if absorbs {
                break;
            }
        }
        self.record_totals(totals);
        self.between.push(Between { fit: self.fits, ..Between::default() });
        self.event(Event::Cut { at: Ticks(self.now) })
    }

    pub(crate) fn epoch(&mut self) -> &mut Self {
        let epoch = self.epochs_of_fit;
        self.mark(Event::EpochBegin { epoch, at: Ticks(self.now) }, StageId::UNACCOUNTED);
        self.epochs.push(BTreeMap::new());
        self.in_epoch = true;
        self
    }

    pub(crate) fn end_epoch(&mut self) -> &mut Self {
        let epoch = self.epochs_of_fit;
        self.mark(Event::EpochEnd { epoch, at: Ticks(self.now) }, StageId::BETWEEN_EPOCHS);
        self.epochs_of_fit += 1;
        self.in_epoch = false;
        self
    }

    /// One step of known stages.
    pub(crate) fn step(&mut self, stages: &[(StageId, u64)], samples: u32) -> &mut Self {
        let start = Ticks(self.now);
        stages.iter().for_each(|(stage, ticks)| {
            self.stage(*stage, *ticks);
        });
        self.end_step(start, samples, Some(0.5))
    }

    /// A step that began at a moment ends now.
    pub(crate) fn end_step(&mut self, start: Ticks, samples: u32, loss: Option<f64>) -> &mut Self {
        if self.in_fit {
            self.between.last_mut().unwrap().steps += 1;
        }
        let end = Ticks(self.now);
        self.event(Event::Step { start, end, samples, loss })
    }

    pub(crate) fn measure(&mut self, metric: Metric, value: f64) -> &mut Self {
        self.event(Event::Measured { metric, at: Ticks(self.now), value })
    }

    pub(crate) fn event(&mut self, event: Event) -> &mut Self {
        self.records.push(Record::Event { lane: self.lane, event });
        self
    }

    /// What the flusher writes every 100 ms.
    pub(crate) fn state(&mut self) -> &mut Self {
        let total = |(stage, (own, count)): (&StageId, &(u64, u64))| StageTotal {
            stage: *stage,
            own: Ticks(*own),
            count: *count,
        };
        self.read_device(self.now);
        self.records.push(Record::State(LaneState {
            lane: self.lane,
            at: Ticks(self.now),
            open: self.open.clone(),
            totals: self.totals.iter().map(total).collect(),
            dropped: self.dropped,
        }));
        self
    }

    pub(crate) fn close(&mut self) -> &mut Self {
        self.state();
        let closing = Closing { status: Status::Finished, message: None, spans: 10, span_cost_ns: 20.0 };
        self.records.push(Record::Closed { at: Ticks(self.now), closing });
        self
    }

    /// Ends the log as the reader does of a process that is gone or lives.
    pub(crate) fn cut(&mut self, status: Status) -> &mut Self {
        self.state();
        self.records.push(Record::Ended { status });
        self
    }

    pub(crate) fn report(&self) -> Report {
        let meta = RunMeta { device: Some("cpu".into()), ranks: 1, ..RunMeta::default() };
        self.report_of(meta)
    }

    pub(crate) fn report_of(&self, meta: RunMeta) -> Report {
        let mut digest = Digest::new(meta);
        self.records.iter().for_each(|record| digest.take(record));
        digest.report()
    }

    fn effective_stage(&self) -> StageId {
        let absorbing = self.open.iter().find(|frame| frame.stage.absorbs_children());
        absorbing.or(self.open.last()).unwrap().stage
    }

    /// Records the changed totals, then the mark; the background changes with it.
    fn mark(&mut self, mark: Event, background: StageId) {
        while self.open.len() > 1 {
            self.end();
        }
        let frame = self.open[0];
        let own = self.now - frame.start.0 - frame.children.0;
        self.totals.entry(frame.stage).or_default().0 += own;
        self.record_totals(self.totals.clone());
        self.event(mark);
        self.open[0] = OpenStage { stage: background, start: Ticks(self.now), children: Ticks(0) };
    }

    fn record_totals(&mut self, totals: BTreeMap<StageId, (u64, u64)>) {
        for (stage, total) in totals {
            if self.recorded.insert(stage, total) != Some(total) {
                self.event(Event::Total(StageTotal { stage, own: Ticks(total.0), count: total.1 }));
            }
        }
    }
}
