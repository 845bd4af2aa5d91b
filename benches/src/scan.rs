//! Many small files scanned by `laptime data` and by `du`, as whole programs and in turns.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: u32 = 7;
const FOLDERS: u64 = 100;
/// The bar: the speed of `du`, times this.
const BAR: f64 = 0.7;

/// The beginning of a JPEG file of 32 x 32 pixels, as far as its header goes.
pub(crate) const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\
    \xff\xc0\0\x11\x08\0\x20\0\x20\x03\x01\x22\0\x02\x11\x01\x03\x11\x01";

/// Prints how long both take over so many files in a hundred folders.
pub(crate) fn run(files: u64) -> anyhow::Result<()> {
    let laptime = std::env::current_exe()?.with_file_name("laptime");
    anyhow::ensure!(laptime.is_file(), "build it first: cargo build --release --workspace");
    let folder = tempfile::tempdir()?;
    make_files(folder.path(), files)?;
    println!("{files} images in {FOLDERS} folders, {ROUNDS} rounds by turns, page cache warm; seconds");
    println!("  round      du   laptime data   speed against du");
    let mut ratios = Vec::new();
    for round in 0..=ROUNDS {
        let du = timed(Command::new("du").arg("-s").arg(folder.path()))?;
        let own = timed(Command::new(&laptime).args(["data", "--no-disk"]).arg(folder.path()))?;
        // The first round warms the caches.
        if round > 0 {
            println!("  {round:>5}  {du:>6.3}   {own:>12.3}   {:>14.2} ×", du / own);
            ratios.push(du / own);
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!("  the median round: {:.2} × the speed of du   (bar: {BAR} ×)", ratios[ratios.len() / 2]);
    Ok(())
}

fn make_files(folder: &Path, files: u64) -> anyhow::Result<()> {
    for class in 0..FOLDERS {
        let class_folder = folder.join(format!("class{class:03}"));
        fs::create_dir(&class_folder)?;
        for index in 0..files / FOLDERS {
            let mut bytes = JPEG.to_vec();
            bytes.resize(800 + (index % 7 * 100) as usize, 0);
            fs::write(class_folder.join(format!("{index:06}.jpg")), &bytes)?;
        }
    }
    Ok(())
}

fn timed(command: &mut Command) -> anyhow::Result<f64> {
    let began = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let took = began.elapsed().as_secs_f64();
    anyhow::ensure!(status.success(), "{command:?} failed");
    Ok(took)
}
