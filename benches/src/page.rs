//! What the page of a run of very many steps takes, and how large it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use laptime_core::{
    Anchor, Closing, Event, FitFacts, LaneState, ProcessFacts, Record, RunMeta, StageId, StageTotal, Status,
    Ticks, Track,
};
use laptime_store::{LogWriter, RealDisk};

/// The bars of a run of a million steps.
const BAR_S: f64 = 1.0;
const BAR_MB: f64 = 1.5;
/// Pages made of each run; the fastest and the slowest say how sure the time is.
const REPEATS: usize = 5;
const EPOCHS: u64 = 20;
/// The stages of a step and their time in ns.
const STAGES: [(StageId, u64); 5] = [
    (StageId::DATA_WAIT, 2_000_000),
    (StageId::FORWARD, 6_000_000),
    (StageId::LOSS, 500_000),
    (StageId::BACKWARD, 9_000_000),
    (StageId::OPTIMIZER, 3_000_000),
];

/// Prints what the pages of runs with more and more steps, up to so many, take with a `laptime`.
pub(crate) fn run(steps: u64) -> anyhow::Result<()> {
    let laptime = std::env::current_exe()?.with_file_name("laptime");
    anyhow::ensure!(laptime.is_file(), "build it first: cargo build --release --workspace");
    println!("{EPOCHS} epochs, {} spans a step; median of {REPEATS} (fastest to slowest)", STAGES.len());
    println!("  steps        log MB   report s              page s                page MB");
    for steps in [steps / 100, steps / 10, steps] {
        let folder = tempfile::tempdir()?;
        let log_mb = write_run(folder.path(), steps)?;
        let page = folder.path().join("run.html");
        let report = times(&laptime, folder.path(), &["report", "--json"])?;
        let made = times(&laptime, folder.path(), &["report", "--html", &page.to_string_lossy()])?;
        let page_mb = fs::metadata(&page)?.len() as f64 / 1e6;
        println!("  {steps:<9} {log_mb:>9.1}   {report:<21} {made:<21} {page_mb:.2}");
    }
    println!("bars at a million steps: {BAR_S} s and {BAR_MB} MB");
    Ok(())
}

/// How long a command takes, in words.
fn times(laptime: &PathBuf, folder: &Path, words: &[&str]) -> anyhow::Result<String> {
    let mut taken = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let began = Instant::now();
        let mut command = Command::new(laptime);
        command.args(words).arg("--dir").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
        anyhow::ensure!(command.status()?.success(), "{words:?} failed");
        taken.push(began.elapsed().as_secs_f64());
    }
    taken.sort_by(f64::total_cmp);
    let (fastest, slowest) = (taken[0], taken[REPEATS - 1]);
    Ok(format!("{:.2} ({fastest:.2} to {slowest:.2})", taken[REPEATS / 2]))
}

/// Writes a finished run of so many steps into a folder of runs; gives the MB of its log.
fn write_run(root: &Path, steps: u64) -> anyhow::Result<f64> {
    let id = "20261116T000000Z-0badcafe";
    let (run, meta) = (root.join(id), RunMeta { id: id.into(), name: "many".into(), ..RunMeta::default() });
    fs::create_dir_all(&run)?;
    fs::write(run.join("run.json"), serde_json::to_vec(&meta)?)?;
    std::os::unix::fs::symlink(id, root.join("latest"))?;
    let mut script = Script::begin(&run);
    for epoch in 0..EPOCHS {
        script.mark(Event::EpochBegin { epoch: epoch as u32, at: Ticks(script.now) });
        (0..steps / EPOCHS).for_each(|step| script.step(step));
        script.mark(Event::EpochEnd { epoch: epoch as u32, at: Ticks(script.now) });
    }
    script.close();
    let files = fs::read_dir(&run)?.flatten().filter_map(|file| file.metadata().ok());
    Ok(files.map(|file| file.len()).sum::<u64>() as f64 / 1e6)
}

/// Writes what a recorder would.
struct Script {
    writer: LogWriter,
    events: Vec<Event>,
    written: u64,
    now: u64,
    totals: [u64; STAGES.len()],
    steps: u64,
}

impl Script {
    fn begin(run: &Path) -> Self {
        let mut writer = LogWriter::new(Box::new(RealDisk), run, 0);
        writer.put(&Record::Process(ProcessFacts { ns_per_tick: 1.0, ..ProcessFacts::default() }));
        writer.put(&Record::Anchor(anchor(0)));
        writer.put(&Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(0) });
        let facts = FitFacts { epochs: Some(EPOCHS), batch: Some(32), ..FitFacts::default() };
        writer.put(&Record::Fit { fit: 0, facts: Box::new(facts) });
        let events = vec![Event::FitBegin { fit: 0, at: Ticks(0) }];
        Self { writer, events, written: 0, now: 0, totals: [0; STAGES.len()], steps: 0 }
    }

    fn step(&mut self, step: u64) {
        let start = Ticks(self.now);
        for (place, (stage, ns)) in STAGES.into_iter().enumerate() {
            let (begun, own) = (self.now, ns + step * 7919 % 997 * 1_000);
            self.now += own;
            self.totals[place] += own;
            let (start, end, own) = (Ticks(begun), Ticks(self.now), Ticks(own));
            self.events.push(Event::Span { stage, start, end, own, in_evaluate: false });
        }
        self.steps += 1;
        let loss = Some(1.0 / (1.0 + self.steps as f64));
        self.events.push(Event::Step { start, end: Ticks(self.now), samples: 32, loss });
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
        let (totals, count) = (self.totals, self.steps);
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
            Closing { status: Status::Finished, message: None, spans: self.written, span_cost_ns: 19.5 };
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
