//! What exporting every span of a long run takes.

use std::fs;
use std::path::Path;
use std::process::Command;

use laptime_core::{
    Anchor, Closing, Event, FitFacts, ProcessFacts, Record, RunMeta, StageId, Status, Ticks, Track,
};
use laptime_store::{LogWriter, RealDisk};

use super::epochs::{Taken, taken};

/// The bar: what memory may be in use, MB, however many spans there are.
const BAR_MB: f64 = 128.0;
/// A stage of the user's around those of the step.
const AROUND: StageId = StageId(40);
/// The stages of a step and their time in ns.
const STAGES: [(StageId, u64); 4] = [
    (StageId::DATA_WAIT, 20_000),
    (StageId::FORWARD, 60_000),
    (StageId::BACKWARD, 90_000),
    (StageId::OPTIMIZER, 30_000),
];
const SPANS_A_STEP: u64 = STAGES.len() as u64 + 1;
const STEPS_AN_EPOCH: u64 = 10_000;

/// Prints what each export of runs with more and more spans, up to so many, takes.
pub(crate) fn run(spans: u64) -> anyhow::Result<()> {
    let laptime = std::env::current_exe()?.with_file_name("laptime");
    anyhow::ensure!(laptime.is_file(), "build it first: cargo build --release --workspace");
    println!("five spans a step; wall s, CPU s, peak MB, output MB   (bar: {BAR_MB} MB)");
    for spans in [spans / 100, spans / 10, spans] {
        let folder = tempfile::tempdir()?;
        write_run(folder.path(), spans / SPANS_A_STEP)?;
        println!("  {spans} spans");
        for words in
            ["perfetto -", "parquet - --table steps", "csv - --table steps", "parquet -", "prometheus -"]
        {
            let mut command = Command::new(&laptime);
            command.args(["report", "--export"]).args(words.split(' ')).arg("--dir").arg(folder.path());
            let Taken { wall_s, cpu_s, peak_mb, out_mb } = taken(&mut command)?;
            println!("    {words:<26} {wall_s:>6.2} {cpu_s:>6.2} {peak_mb:>5.0} {out_mb:>7.1}");
        }
    }
    Ok(())
}

/// Writes a finished run of so many steps into a folder of runs.
fn write_run(root: &Path, steps: u64) -> anyhow::Result<()> {
    let id = "20261116T000000Z-0badcafe";
    let (run, meta) = (root.join(id), RunMeta { id: id.into(), name: "many".into(), ..RunMeta::default() });
    fs::create_dir_all(&run)?;
    fs::write(run.join("run.json"), serde_json::to_vec(&meta)?)?;
    std::os::unix::fs::symlink(id, root.join("latest"))?;
    let mut writer = LogWriter::new(Box::new(RealDisk), &run, 0);
    writer.put(&Record::Process(ProcessFacts { ns_per_tick: 1.0, ..ProcessFacts::default() }));
    writer.put(&Record::Anchor(anchor(0)));
    writer.put(&Record::Stage { stage: AROUND, name: "step_of_mine".into() });
    writer.put(&Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(0) });
    writer.put(&Record::Fit { fit: 0, facts: Box::new(FitFacts::default()) });
    let mut script =
        Script { writer, events: vec![Event::FitBegin { fit: 0, at: Ticks(0) }], written: 0, now: 0 };
    (0..steps).for_each(|step| script.step(step));
    script.close(steps);
    Ok(())
}

/// Writes what a recorder would.
struct Script {
    writer: LogWriter,
    events: Vec<Event>,
    written: u64,
    now: u64,
}

impl Script {
    fn step(&mut self, step: u64) {
        let epoch = u32::try_from(step / STEPS_AN_EPOCH).unwrap_or(u32::MAX);
        if step.is_multiple_of(STEPS_AN_EPOCH) {
            self.events.push(Event::EpochBegin { epoch, at: Ticks(self.now) });
        }
        let begun = self.now;
        self.now += 1_000;
        for (stage, ns) in STAGES {
            let start = self.now;
            self.now += ns + step * 7919 % 1000;
            self.span(stage, start, self.now - start);
        }
        self.now += 1_000;
        self.span(AROUND, begun, 2_000);
        let (start, end) = (Ticks(begun), Ticks(self.now));
        self.events.push(Event::Step { start, end, samples: 32, loss: Some(1.0) });
        if (step + 1).is_multiple_of(STEPS_AN_EPOCH) {
            self.events.push(Event::EpochEnd { epoch, at: Ticks(self.now) });
        }
        if self.events.len() > 50_000 {
            self.flush();
        }
    }

    fn span(&mut self, stage: StageId, start: u64, own: u64) {
        let (start, end, own) = (Ticks(start), Ticks(self.now), Ticks(own));
        self.events.push(Event::Span { stage, start, end, own, in_evaluate: false });
    }

    fn flush(&mut self) {
        self.writer.put_events(0, self.written, &self.events);
        self.written += self.events.len() as u64;
        self.events.clear();
        self.writer.flush(&anchor(self.now));
    }

    fn close(mut self, steps: u64) {
        self.events.push(Event::FitEnd { fit: 0, at: Ticks(self.now) });
        self.flush();
        self.writer.put(&Record::Anchor(anchor(self.now)));
        let (status, spans) = (Status::Finished, steps * SPANS_A_STEP);
        let closing = Closing { status, message: None, spans, span_cost_ns: 19.5 };
        self.writer.put(&Record::Closed { at: Ticks(self.now), closing });
        self.writer.flush(&anchor(self.now));
    }
}

fn anchor(now: u64) -> Anchor {
    Anchor { ticks: Ticks(now), monotonic_ns: now, real_ns: 1_790_000_000_000_000_000 + now, boot_ns: now }
}
