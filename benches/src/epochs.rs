//! What a report and the list of runs take of a run with very many epochs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use laptime_core::{
    Anchor, Closing, Event, FitFacts, LaneState, Metric, ProcessFacts, Record, RunMeta, StageId, StageTotal,
    Status, Ticks,
};
use laptime_store::{LogWriter, RealDisk};

/// The bars: seconds and MB of the report and of the list.
const BAR_S: f64 = 1.0;
const BAR_MB: f64 = 64.0;
/// The stages of a step and their time in ns.
const STAGES: [(StageId, u64); 4] = [
    (StageId::DATA_WAIT, 20_000),
    (StageId::FORWARD, 60_000),
    (StageId::BACKWARD, 90_000),
    (StageId::OPTIMIZER, 30_000),
];

/// Prints what each view of runs with more and more epochs, up to so many, takes with a `laptime`.
pub(crate) fn run(epochs: u64, laptime: Option<&str>) -> anyhow::Result<()> {
    let own = std::env::current_exe()?.with_file_name("laptime");
    let laptime = laptime.map_or(own, PathBuf::from);
    anyhow::ensure!(laptime.is_file(), "build it first: cargo build --release --workspace");
    println!("one fit, one step an epoch; wall seconds and peak MB   (bars: {BAR_S} s and {BAR_MB} MB)");
    println!("    epochs    report           runs             --json                   --json --epochs all");
    for epochs in [epochs / 100, epochs / 10, epochs] {
        let folder = tempfile::tempdir()?;
        write_run(folder.path(), epochs)?;
        let dir = folder.path().display().to_string();
        let views = ["report", "runs", "report --json", "report --json --epochs all"];
        let taken =
            views.map(|words| taken(Command::new(&laptime).args(words.split(' ')).args(["--dir", &dir])));
        let [report, runs, json, all] =
            taken.map(|taken| taken.map_or_else(|why| why.to_string(), |t| t.shown()));
        println!("  {epochs:>8}   {report}   {runs}   {json}   {all}");
    }
    Ok(())
}

struct Taken {
    seconds: f64,
    peak_mb: f64,
    out_mb: f64,
}

impl Taken {
    fn shown(&self) -> String {
        let out = if self.out_mb < 0.1 { String::new() } else { format!(" {:>6.1} MB", self.out_mb) };
        format!("{:>4.2} s {:>5.0} MB{out}", self.seconds, self.peak_mb)
    }
}

/// Runs a command to its end, its output counted and thrown away.
fn taken(command: &mut Command) -> anyhow::Result<Taken> {
    let out = tempfile::NamedTempFile::new()?;
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(out.reopen()?).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kb = 0.0_f64;
    let ended = loop {
        peak_kb = peak_kb.max(high_water_kb(&status));
        match child.try_wait()? {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_micros(500)),
        }
    };
    let seconds = began.elapsed().as_secs_f64();
    anyhow::ensure!(ended.success(), "cannot");
    Ok(Taken { seconds, peak_mb: peak_kb / 1e3, out_mb: out.as_file().metadata()?.len() as f64 / 1e6 })
}

/// The most that was resident so far; 0 when the process has ended.
fn high_water_kb(status: &str) -> f64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse().ok()).unwrap_or(0.0)
}

/// Writes a finished run of so many epochs into a folder of runs.
fn write_run(root: &Path, epochs: u64) -> anyhow::Result<()> {
    let id = "20261116T000000Z-0badcafe";
    let (run, meta) = (root.join(id), RunMeta { id: id.into(), name: "many".into(), ..RunMeta::default() });
    fs::create_dir_all(&run)?;
    fs::write(run.join("run.json"), serde_json::to_vec(&meta)?)?;
    std::os::unix::fs::symlink(id, root.join("latest"))?;
    let mut script = Script::begin(&run, epochs);
    (0..epochs).for_each(|epoch| script.epoch(epoch));
    script.close();
    Ok(())
}

/// Writes what a recorder would.
struct Script {
    writer: LogWriter,
    events: Vec<Event>,
    written: u64,
    now: u64,
    totals: [u64; STAGES.len()],
    spans: u64,
}

impl Script {
    fn begin(run: &Path, epochs: u64) -> Self {
        let mut writer = LogWriter::new(Box::new(RealDisk), run, 0);
        writer.put(&Record::Process(ProcessFacts { ns_per_tick: 1.0, ..ProcessFacts::default() }));
        writer.put(&Record::Anchor(anchor(0)));
        writer.put(&Record::Thread { lane: 0, name: "main".into(), started: Ticks(0) });
        let facts = FitFacts { epochs: Some(epochs), rows: Some(32), batch: Some(32), ..FitFacts::default() };
        writer.put(&Record::Fit { fit: 0, facts });
        let events = vec![Event::FitBegin { fit: 0, at: Ticks(0) }];
        Self { writer, events, written: 0, now: 0, totals: [0; STAGES.len()], spans: 0 }
    }

    fn epoch(&mut self, epoch: u64) {
        let number = u32::try_from(epoch).unwrap_or(u32::MAX);
        self.mark(Event::EpochBegin { epoch: number, at: Ticks(self.now) });
        let start = Ticks(self.now);
        for (place, (stage, ns)) in STAGES.into_iter().enumerate() {
            let (begun, own) = (self.now, ns + epoch * 7919 % 1000);
            self.now += own;
            self.totals[place] += own;
            let (start, end, own) = (Ticks(begun), Ticks(self.now), Ticks(own));
            self.events.push(Event::Span { stage, start, end, own, in_evaluate: false });
        }
        self.spans += 1;
        let loss = Some(1.0 / (1.0 + epoch as f64));
        self.events.push(Event::Step { start, end: Ticks(self.now), samples: 32, loss });
        self.mark(Event::EpochEnd { epoch: number, at: Ticks(self.now) });
        self.now += 5_000;
        let value = 1.0 - 0.9 / (1.0 + epoch as f64);
        self.events.push(Event::Measured { metric: Metric::Accuracy, at: Ticks(self.now), value });
        if self.events.len() > 50_000 {
            self.flush();
        }
    }

    /// The totals that changed, then the mark.
    fn mark(&mut self, mark: Event) {
        self.events.extend(self.totals().map(Event::Total));
        self.events.push(mark);
    }

    fn totals(&self) -> impl Iterator<Item = StageTotal> + use<> {
        let (totals, count) = (self.totals, self.spans);
        let total =
            move |(place, own): (usize, u64)| StageTotal { stage: STAGES[place].0, own: Ticks(own), count };
        totals.into_iter().enumerate().map(total)
    }

    fn flush(&mut self) {
        self.writer.put_events(0, self.written, &self.events);
        self.written += self.events.len() as u64;
        self.events.clear();
        self.writer.flush(&anchor(self.now));
    }

    fn close(mut self) {
        self.mark(Event::FitEnd { fit: 0, at: Ticks(self.now) });
        self.flush();
        let totals = self.totals().collect();
        let state = LaneState { lane: 0, at: Ticks(self.now), totals, ..LaneState::default() };
        self.writer.put(&Record::State(state));
        self.writer.put(&Record::Anchor(anchor(self.now)));
        let closing =
            Closing { status: Status::Finished, message: None, spans: 4 * self.spans, span_cost_ns: 19.5 };
        self.writer.put(&Record::Closed { at: Ticks(self.now), closing });
        self.writer.flush(&anchor(self.now));
    }
}

/// All clocks at a moment, nanoseconds.
fn anchor(now: u64) -> Anchor {
    Anchor {
        ticks: Ticks(now),
        monotonic_ns: now,
        real_ns: 1_790_000_000_000_000_000 + now,
        boot_ns: 1 + now,
    }
}
