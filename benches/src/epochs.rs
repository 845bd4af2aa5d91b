//! What a report and the list of runs take of a run with very many epochs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use laptime_core::{
    Anchor, Closing, Event, FitFacts, LaneState, Metric, ProcessFacts, Record, RunMeta, StageId, StageTotal,
    Status, Ticks, Track,
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
    println!(
        "one fit, one step an epoch; wall s, CPU s, peak MB, output MB   (bars: {BAR_S} s and {BAR_MB} MB)"
    );
    for epochs in [epochs / 100, epochs / 10, epochs] {
        let folder = tempfile::tempdir()?;
        write_run(folder.path(), epochs)?;
        println!("  {epochs} epochs");
        for words in ["report", "runs", "report --json", "report --json --epochs all"] {
            let taken = taken(Command::new(&laptime).args(words.split(' ')).arg("--dir").arg(folder.path()));
            match taken {
                Ok(Taken { wall_s, cpu_s, peak_mb, out_mb }) => {
                    println!("    {words:<26} {wall_s:>5.2} {cpu_s:>5.2} {peak_mb:>5.0} {out_mb:>6.1}");
                }
                Err(why) => println!("    {words:<26} {why}"),
            }
        }
    }
    Ok(())
}

/// What a command took.
pub(crate) struct Taken {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    pub(crate) peak_mb: f64,
    pub(crate) out_mb: f64,
}

/// Runs a command to its end, its output counted and thrown away.
pub(crate) fn taken(command: &mut Command) -> anyhow::Result<Taken> {
    let out = tempfile::NamedTempFile::new()?;
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(out.reopen()?).stderr(Stdio::null()).spawn()?;
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let (mut peak_mb, mut cpu_s) = (0.0_f64, 0.0_f64);
    let ended = loop {
        peak_mb = peak_mb.max(high_water_mb(&process).unwrap_or(0.0));
        cpu_s = cpu_s.max(cpu_seconds(&process).unwrap_or(0.0));
        match child.try_wait()? {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_micros(500)),
        }
    };
    let wall_s = began.elapsed().as_secs_f64();
    anyhow::ensure!(ended.success(), "refused");
    Ok(Taken { wall_s, cpu_s, peak_mb, out_mb: out.as_file().metadata()?.len() as f64 / 1e6 })
}

/// The most that was resident so far; `None` when the process has ended.
fn high_water_mb(process: &Path) -> Option<f64> {
    let text = fs::read_to_string(process.join("status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
}

/// CPU time so far, counted by the kernel in hundredths of a second.
fn cpu_seconds(process: &Path) -> Option<f64> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    // User and system time are the 14th and 15th field; the second, in brackets, may hold anything.
    let (_, fields) = text.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(2).map(|field| field.parse::<f64>().ok());
    Some(ticks.sum::<Option<f64>>()? / 100.0)
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
        writer.put(&Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(0) });
        let facts = FitFacts { epochs: Some(epochs), rows: Some(32), batch: Some(32), ..FitFacts::default() };
        writer.put(&Record::Fit { fit: 0, facts: Box::new(facts) });
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
