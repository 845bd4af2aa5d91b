//! The record of this machine's forecasts: a line of JSON for each whose run has finished, in the user's data folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

const FILE: &str = "forecasts.jsonl";
/// Above this many bytes the older half goes: some 3,000 forecasts, more than say anything of the machine of today.
const MOST_BYTES: u64 = 1 << 20;
/// A longer line is none of ours.
const LONGEST_LINE: usize = 4096;

/// A forecast and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// When the run had finished, seconds since 1970.
    pub at_s: f64,
    /// The run's id.
    pub run: String,
    /// What the user calls it.
    pub name: String,
    /// The point of the run at which it was asked for, 0 to 1.
    pub mark: f64,
    /// How long the run had been going by then, seconds.
    pub seen_s: f64,
    /// Expected time of the whole run, seconds.
    pub predicted_s: f64,
    /// The interval's lower end, seconds.
    pub low_s: f64,
    /// The interval's upper end, seconds.
    pub high_s: f64,
    /// Half the width of the interval in logarithms, before it was calibrated.
    pub width: f64,
    /// Whether earlier grades had a say in the interval.
    pub calibrated: bool,
    /// What the run took, seconds.
    pub took_s: f64,
}

impl Grade {
    /// The logarithm of what the run took over what was expected.
    #[must_use]
    pub fn log_ratio(&self) -> f64 {
        (self.took_s / self.predicted_s).ln()
    }

    /// Whether the interval held what the run took.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        (self.low_s..=self.high_s).contains(&self.took_s)
    }

    /// Whether its numbers can be computed with.
    fn is_sound(&self) -> bool {
        let times = [self.predicted_s, self.low_s, self.high_s, self.took_s];
        times.iter().all(|time| time.is_finite() && *time > 0.0) && self.width.is_finite()
    }
}

/// All forecasts of this machine that are kept.
#[derive(Clone, Debug)]
pub struct ForecastRecord {
    path: PathBuf,
}

impl ForecastRecord {
    /// The record in a folder, which need not exist yet.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { path: folder.join(FILE) }
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every grade, oldest first; a line that is none is passed over.
    #[must_use]
    pub fn read(&self) -> Vec<Grade> {
        File::open(&self.path).map(|file| grades(&file)).unwrap_or_default()
    }

    /// Adds grades; where the file has grown large the older half goes.
    ///
    /// # Errors
    /// What the system says.
    pub fn append(&self, grades: &[Grade]) -> io::Result<()> {
        if grades.is_empty() {
            return Ok(());
        }
        self.path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = OpenOptions::new().create(true).append(true).read(true).open(&self.path)?;
        // Two runs that end together must not tear each other's lines, nor drop them.
        file.lock()?;
        if file.metadata()?.len() > MOST_BYTES {
            let kept = self.read();
            file.set_len(0)?;
            file.write_all(&lines(&kept[kept.len() / 2..])?)?;
        }
        file.write_all(&lines(grades)?)
    }
}

fn grades(file: &File) -> Vec<Grade> {
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    let grade = |line: Vec<u8>| serde_json::from_slice(&line).ok().filter(Grade::is_sound);
    lines.filter(|line| line.len() <= LONGEST_LINE).filter_map(grade).collect()
}

/// The grades as lines; one begins before them, for a file whose last line is torn.
fn lines(grades: &[Grade]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for grade in grades {
        bytes.push(b'\n');
        serde_json::to_writer(&mut bytes, grade)?;
    }
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grade(took_s: f64) -> Grade {
        let (run, name) = ("20261116T000000Z-0badcafe".to_owned(), "train.py".to_owned());
        let (at_s, mark, seen_s, width) = (1_790_000_000.0, 0.05, 5.0, 0.06);
        let (predicted_s, low_s, high_s) = (100.0, 95.0, 106.0);
        Grade { at_s, run, name, mark, seen_s, predicted_s, low_s, high_s, width, calibrated: false, took_s }
    }

    #[test]
    fn what_was_added_is_read_in_order_and_bad_lines_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let record = ForecastRecord::at(&folder.path().join("a/b"));
        assert!(record.read().is_empty());
        record.append(&[grade(100.0)]).unwrap();
        let mut file = OpenOptions::new().append(true).open(record.path()).unwrap();
        file.write_all(b"{\"at_s\": 1, torn").unwrap();
        record.append(&[grade(102.0), grade(f64::NAN), grade(107.0)]).unwrap();
        let read = record.read();
        assert_eq!(read.iter().map(|grade| grade.took_s).collect::<Vec<_>>(), [100.0, 102.0, 107.0]);
        assert!(read[1].is_covered() && !read[2].is_covered());
        assert!((read[2].log_ratio() - 1.07_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn the_file_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let record = ForecastRecord::at(folder.path());
        let many: Vec<Grade> = (1..=500).map(|took| grade(f64::from(took))).collect();
        for _ in 0..20 {
            record.append(&many).unwrap();
        }
        assert!(fs::metadata(record.path()).unwrap().len() < 2 * MOST_BYTES);
        assert_eq!(record.read().last().unwrap().took_s, 500.0);
    }
}
