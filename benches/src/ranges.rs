//! What a survey finds by reading ranges of a source, against what was written, for every format it knows.

mod written;

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use laptime_data::source::{LocalSource, Object, Source, SourceError};
use laptime_data::survey::{Survey, SurveyOptions, Watch};

use written::{Case, cases};

/// A source that counts what is asked of it.
struct Counting {
    source: LocalSource,
    reads: AtomicU64,
    bytes: AtomicU64,
}

impl Source for Counting {
    fn place(&self) -> String {
        self.source.place()
    }

    fn list(&self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
        self.source.list(found)
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        let bytes = self.source.read(name, range)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// What was found out about some files of a kind.
#[derive(Default)]
struct Line {
    files: u32,
    exact: u32,
    within: u32,
    covered: u32,
    worst: f64,
    reads: u64,
    bytes: u64,
    share: f64,
}

/// Prints how well every kind of file is known from ranges of it, with so many files of each.
pub(crate) fn run(files: u64, python: Option<&str>) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    println!(
        "rows from ranges of files of about {} MiB, against what was written\n",
        written::FILE_BYTES >> 20
    );
    println!(
        "{:<26} {:>5} {:>6} {:>8} {:>7} {:>8} {:>6} {:>9} {:>7}",
        "file", "files", "exact", "in 2 %", "worst", "covered", "reads", "read", "share"
    );
    let mut all = Line::default();
    for case in cases(python) {
        let mut line = Line::default();
        for seed in 0..files {
            look(folder.path(), &case, seed, &mut line)?;
        }
        if line.files > 0 {
            print(&case.name(), &line);
            all.add(&line);
        }
    }
    print("all", &all);
    println!("\nreads, bytes and share are the largest of any file; the bar: 2 % of the bytes or 64 MB");
    Ok(())
}

fn look(folder: &Path, case: &Case, seed: u64, line: &mut Line) -> anyhow::Result<()> {
    let place = folder.join(format!("{seed}"));
    std::fs::create_dir(&place)?;
    if let Some(truth) = case.write(&place, seed)? {
        let source = Counting {
            source: LocalSource::open(&place)?,
            reads: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        // No patience with text, which could be counted in a second from here: it is to be estimated.
        let usual = SurveyOptions::default();
        let patience = if case.is_text() { Duration::ZERO } else { usual.patience };
        let options = SurveyOptions { patience, ..usual };
        let survey = Survey::of_source(&source, &options, &Watch::default())?;
        let rows = survey.samples.ok_or_else(|| anyhow::anyhow!("nothing known of {}", case.name()))?;
        let error = (rows.mean / truth as f64 - 1.0).abs();
        let bytes = source.bytes.into_inner();
        line.add(&Line {
            files: 1,
            exact: u32::from(rows.exact),
            within: u32::from(error <= 0.02),
            covered: u32::from((rows.low..=rows.high).contains(&(truth as f64))),
            worst: error,
            reads: source.reads.into_inner(),
            bytes,
            share: bytes as f64 / survey.bytes as f64,
        });
    }
    std::fs::remove_dir_all(&place)?;
    Ok(())
}

impl Line {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.exact += other.exact;
        self.within += other.within;
        self.covered += other.covered;
        self.worst = self.worst.max(other.worst);
        self.reads = self.reads.max(other.reads);
        self.bytes = self.bytes.max(other.bytes);
        self.share = self.share.max(other.share);
    }
}

fn print(name: &str, line: &Line) {
    println!(
        "{name:<26} {:>5} {:>6} {:>8} {:>5.2} % {:>8} {:>6} {:>6.2} MB {:>5.2} %",
        line.files,
        line.exact,
        line.within,
        line.worst * 100.0,
        line.covered,
        line.reads,
        line.bytes as f64 / 1e6,
        line.share * 100.0
    );
}
