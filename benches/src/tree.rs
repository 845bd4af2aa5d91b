//! A tree of very many small files looked at by `laptime data` and by `du`, and a source that lists as many objects.

use std::fs;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use laptime_data::source::{Object, Source, SourceError};
use laptime_data::survey::{Survey, SurveyOptions, Watch};

const ROUNDS: u32 = 5;
const FILES_A_FOLDER: u64 = 1_000;
/// The bars: the speed of `du` times this, and the memory of the process.
const SPEED_BAR: f64 = 0.7;
const MEMORY_BAR_MB: f64 = 200.0;

/// What a program took.
struct Took {
    seconds: f64,
    peak_mb: f64,
}

/// Prints how long both take over so many files, and what memory.
pub(crate) fn run(files: u64) -> anyhow::Result<()> {
    let laptime = std::env::current_exe()?.with_file_name("laptime");
    anyhow::ensure!(laptime.is_file(), "build it first: cargo build --release --workspace");
    let folder = tempfile::tempdir()?;
    make_files(folder.path(), files)?;
    println!("{files} files in folders of {FILES_A_FOLDER}, {ROUNDS} rounds by turns, page cache warm\n");
    println!(
        "{:>5} {:>9} {:>14} {:>18} {:>14}",
        "round", "du", "laptime data", "speed against du", "its memory"
    );
    let (mut ratios, mut peak_mb) = (Vec::new(), 0_f64);
    for round in 0..=ROUNDS {
        let du = measured(Command::new("du").arg("-s").arg(folder.path()))?;
        let own = measured(Command::new(&laptime).args(["data", "--no-disk"]).arg(folder.path()))?;
        // The first round warms the caches.
        if round > 0 {
            let ratio = du.seconds / own.seconds;
            println!(
                "{round:>5} {:>7.2} s {:>12.2} s {ratio:>16.2} × {:>11.1} MB",
                du.seconds, own.seconds, own.peak_mb
            );
            ratios.push(ratio);
            peak_mb = peak_mb.max(own.peak_mb);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let (median, least) = (ratios[ratios.len() / 2], ratios[0]);
    println!(
        "\nthe median round {median:.2} × the speed of du, the slowest {least:.2} ×   (bar: {SPEED_BAR} ×)"
    );
    println!("memory at most {peak_mb:.1} MB   (bar: {MEMORY_BAR_MB} MB)");
    let listed = measured(Command::new(std::env::current_exe()?).args(["objects", &files.to_string()]))?;
    println!(
        "a source that lists {files} objects: {:.2} s, {:.1} MB   (bar: {MEMORY_BAR_MB} MB)",
        listed.seconds, listed.peak_mb
    );
    Ok(())
}

/// Surveys a source of so many objects; the process that does only this is measured.
pub(crate) fn list_objects(objects: u64) -> anyhow::Result<()> {
    let survey = Survey::of_source(&Listed(objects), &SurveyOptions::default(), &Watch::default())?;
    anyhow::ensure!(survey.files == objects, "{} objects were found", survey.files);
    Ok(())
}

/// Images, texts and files of no known format, all of them small.
fn make_files(folder: &Path, files: u64) -> anyhow::Result<()> {
    for index in 0..files {
        let inner = folder.join(format!("class{:04}", index / FILES_A_FOLDER));
        if index % FILES_A_FOLDER == 0 {
            fs::create_dir(&inner)?;
        }
        let name = match index % 20 {
            0 => format!("{index:07}.csv"),
            1 => format!("{index:07}.xml"),
            _ => format!("{index:07}.jpg"),
        };
        let content: &[u8] = if index % 20 == 0 { b"x,y\n1,2\n" } else { crate::scan::JPEG };
        fs::write(inner.join(name), content)?;
    }
    Ok(())
}

fn measured(command: &mut Command) -> anyhow::Result<Took> {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_mb = 0.0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        peak_mb = fs::read_to_string(&status_file).ok().as_deref().and_then(peak_of).unwrap_or(peak_mb);
        sleep(Duration::from_millis(2));
    };
    anyhow::ensure!(status.success(), "{command:?} failed");
    Ok(Took { seconds: began.elapsed().as_secs_f64(), peak_mb })
}

/// The most memory that a process has had so far.
fn peak_of(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

/// A source of so many objects in folders, each an image.
struct Listed(u64);

impl Source for Listed {
    fn place(&self) -> String {
        "objects".into()
    }

    fn list(&self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
        for index in 0..self.0 {
            let name = format!("train/class{:04}/{index:09}.jpg", index / FILES_A_FOLDER);
            if found(Object { name, bytes: Some(100_000) }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read(&self, _: &str, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        let mut bytes = crate::scan::JPEG.to_vec();
        bytes.resize(100_000, 0);
        Ok(bytes[range.start as usize..range.end as usize].to_vec())
    }
}
