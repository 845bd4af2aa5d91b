//! Runs written as a recorder would write them, one for each thing a page must show.

use std::path::Path;

use laptime_core::{
    Anchor, Closing, DeviceFacts, Event, FitFacts, LaneState, Machine, ProcessFacts, Record, RunMeta,
    StageId, StageTotal, Status, Ticks, Track, TrackKind,
};
use laptime_store::{LogWriter, ProcessIdentity, RealDisk};

const MS: u64 = 1_000_000;
/// Number of the first stage that a user names.
const OWN: u16 = 32;

/// What a run is like.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) name: &'static str,
    pub(crate) ranks: u32,
    pub(crate) epochs: u32,
    pub(crate) planned_epochs: u64,
    pub(crate) steps: u64,
    /// Names of the user's own stages, each in every step.
    pub(crate) stages: Vec<String>,
    /// Whether it trains on a device.
    pub(crate) device: bool,
    /// `None` while it runs.
    pub(crate) status: Option<Status>,
    /// Spans of a step; without, only its totals are known.
    pub(crate) spans: bool,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            name: "three epochs",
            ranks: 1,
            epochs: 3,
            planned_epochs: 3,
            steps: 60,
            stages: Vec::new(),
            device: false,
            status: Some(Status::Finished),
            spans: true,
        }
    }
}

impl Story {
    /// Writes the run into a folder of runs, under an id that ends so.
    pub(crate) fn write(&self, root: &Path, id: &str) -> String {
        let id = format!("20261116T000000Z-{id}");
        let command = vec!["python".to_owned(), format!("{}.py", self.name)];
        let meta = RunMeta {
            id: id.clone(),
            name: self.name.to_owned(),
            command,
            ranks: self.ranks,
            machine: Machine { cpus: 8, ..Machine::default() },
            device: self.device.then(|| "cuda:0".to_owned()),
            started_real_ns: 1_790_000_000_000_000_000,
            ..RunMeta::default()
        };
        let run = root.join(&id);
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("run.json"), serde_json::to_vec(&meta).unwrap()).unwrap();
        (0..self.ranks).for_each(|rank| Log::of(self, &run, rank).write());
        id
    }
}

/// The log of one rank.
struct Log<'a> {
    story: &'a Story,
    writer: LogWriter,
    rank: u32,
    now: u64,
    written: u64,
    events: Vec<Event>,
    boundaries: Vec<Event>,
    /// When the device will have done what it was given.
    device_free: u64,
    totals: Vec<(StageId, u64, u64)>,
}

impl<'a> Log<'a> {
    fn of(story: &'a Story, run: &Path, rank: u32) -> Self {
        let mut writer = LogWriter::new(Box::new(RealDisk), run, rank);
        let alive = ProcessIdentity::current();
        let mut facts = ProcessFacts { rank, ns_per_tick: 1.0, ..ProcessFacts::default() };
        if story.status.is_none() {
            (facts.pid, facts.boot_id, facts.pid_start) = (alive.pid, alive.boot_id, alive.pid_start);
        }
        writer.put(&Record::Process(facts));
        writer.put(&Record::Anchor(anchor(0)));
        writer.put(&Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(0) });
        for (at, name) in story.stages.iter().enumerate() {
            writer.put(&Record::Stage { stage: StageId(OWN + at as u16), name: name.clone() });
        }
        if story.device {
            let track = Track { kind: TrackKind::Device, name: "cuda:0".into() };
            writer.put(&Record::Track { lane: 1, track, started: Ticks(0) });
            let facts =
                DeviceFacts { name: "NVIDIA H200".into(), memory_bytes: Some(139 << 30), driver: None };
            writer.put(&Record::Device { lane: 1, facts });
        }
        let facts = FitFacts {
            label: story.name.into(),
            framework: Some("torch".into()),
            epochs: Some(story.planned_epochs),
            batch: Some(32),
            rows: Some(32 * story.steps),
            device: story.device.then(|| "cuda:0".into()),
            ..FitFacts::default()
        };
        writer.put(&Record::Fit { fit: 0, facts: Box::new(facts) });
        let (now, events, boundaries) = (0, Vec::new(), Vec::new());
        Self { story, writer, rank, now, written: 0, events, boundaries, device_free: 0, totals: Vec::new() }
    }

    fn write(mut self) {
        self.now = 400 * MS;
        self.add(StageId::START_UP, 400 * MS);
        self.mark(Event::FitBegin { fit: 0, at: Ticks(400 * MS) });
        for epoch in 0..self.story.epochs {
            self.mark(Event::EpochBegin { epoch, at: Ticks(self.now) });
            let is_last = epoch + 1 == self.story.epochs;
            let ends = !is_last || self.story.status == Some(Status::Finished);
            let steps = if ends { self.story.steps } else { self.story.steps / 3 };
            (0..steps).for_each(|step| self.step(epoch, step));
            if ends {
                self.mark(Event::EpochEnd { epoch, at: Ticks(self.now) });
                self.stage(StageId::EVALUATE, 3 * MS * self.story.steps.min(200) / 10);
                self.stage(StageId::CHECKPOINT, 12 * MS);
            }
        }
        self.close();
    }

    fn step(&mut self, epoch: u32, step: u64) {
        let start = Ticks(self.now);
        let wobble = (step * 7919 + u64::from(epoch) * 31) % 97 * MS / 60;
        // The data comes late in the second half; one rank is slower than the others.
        let late = if u64::from(epoch) * self.story.steps + step > self.half() { 3 * MS } else { 0 };
        let slow = if self.rank == 5 { 4 * MS } else { 0 };
        let mut parts = vec![
            (StageId::DATA_WAIT, MS + late + wobble),
            (StageId::HOST_TO_DEVICE, MS / 2),
            (StageId::FORWARD, 3 * MS + slow),
            (StageId::LOSS, MS / 2),
            (StageId::BACKWARD, 5 * MS),
        ];
        if self.story.ranks > 1 {
            parts.push((StageId::COMMUNICATION, MS + if slow == 0 { 4 * MS } else { 0 }));
        }
        parts.push((StageId::OPTIMIZER, MS));
        parts.extend((0..self.story.stages.len()).map(|at| (StageId(OWN + at as u16), MS)));
        for (stage, length) in parts {
            if self.story.device && stage != StageId::DATA_WAIT {
                self.launch(stage, length);
            } else {
                self.stage(stage, length);
            }
        }
        if self.story.device {
            let until = self.device_free.saturating_sub(2 * MS);
            self.stage(StageId::DEVICE_WAIT, until.saturating_sub(self.now));
        }
        let (end, loss) = (Ticks(self.now), Some(2.0 / (1.0 + 0.01 * step as f64 + f64::from(epoch))));
        self.events.push(Event::Step { start, end, samples: 32, loss });
        if self.events.len() > 100_000 {
            self.flush();
        }
    }

    fn half(&self) -> u64 {
        u64::from(self.story.epochs) * self.story.steps / 2
    }

    /// The host takes a tenth of what the device takes.
    fn launch(&mut self, stage: StageId, length: u64) {
        self.device_free = self.device_free.max(self.now) + length / 2;
        let done = Ticks(self.device_free);
        self.boundaries.push(Event::Boundary { stream: 0, stage, host: Ticks(self.now), done });
        self.stage(stage, length / 10);
    }

    fn stage(&mut self, stage: StageId, length: u64) {
        let (start, own) = (Ticks(self.now), Ticks(length));
        self.now += length;
        self.add(stage, length);
        if self.story.spans {
            self.events.push(Event::Span { stage, start, end: Ticks(self.now), own, in_evaluate: false });
        }
    }

    fn add(&mut self, stage: StageId, length: u64) {
        match self.totals.iter_mut().find(|(known, ..)| *known == stage) {
            Some((_, own, count)) => (*own, *count) = (*own + length, *count + 1),
            None => self.totals.push((stage, length, 1)),
        }
    }

    fn mark(&mut self, mark: Event) {
        let totals = self.all_totals();
        self.events.extend(totals.into_iter().map(Event::Total));
        self.events.push(mark);
    }

    fn all_totals(&self) -> Vec<StageTotal> {
        let total = |(stage, own, count): &(StageId, u64, u64)| StageTotal {
            stage: *stage,
            own: Ticks(*own),
            count: *count,
        };
        self.totals.iter().map(total).collect()
    }

    fn flush(&mut self) {
        self.writer.put_events(0, self.written, &self.events);
        self.written += self.events.len() as u64;
        self.events.clear();
        self.writer.flush(&anchor(self.now));
    }

    fn close(mut self) {
        let status = self.story.status;
        if status == Some(Status::Finished) {
            self.mark(Event::FitEnd { fit: 0, at: Ticks(self.now) });
        }
        if !self.boundaries.is_empty() {
            let boundaries = std::mem::take(&mut self.boundaries);
            self.writer.put_events(1, 0, &boundaries);
        }
        self.flush();
        let (at, totals) = (Ticks(self.now), self.all_totals());
        self.writer.put(&Record::State(LaneState { lane: 0, at, totals, ..LaneState::default() }));
        self.writer.put(&Record::Anchor(anchor(self.now)));
        if let Some(status) = status {
            let message = (status == Status::Failed).then(|| "ValueError: <b>loss</b> is NaN".to_owned());
            let closing = Closing { status, message, spans: self.written, span_cost_ns: 19.5 };
            self.writer.put(&Record::Closed { at, closing });
        }
        self.writer.flush(&anchor(self.now));
    }
}

/// All clocks at a moment, nanoseconds.
fn anchor(now: u64) -> Anchor {
    let real_ns = 1_790_000_000_000_000_000 + now;
    Anchor { ticks: Ticks(now), monotonic_ns: now, real_ns, boot_ns: 1 + now }
}
