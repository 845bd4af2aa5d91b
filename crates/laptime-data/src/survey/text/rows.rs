//! How many rows text files have: counted where that is quick, else estimated from blocks spread over all of them.
//!
//! The bytes of all files are cut into equal strata and a block is read at a random place of each. What is
//! averaged is the density of record ends, so files whose rows grow or shrink are met fairly. Two neighbouring
//! strata differ little by where they are, so the differences of neighbours give the error.

use std::collections::HashMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::amount::{Amount, REACH};
use super::super::problem::{FileProblem, Troubles};
use super::super::sized_file::SizedFile;
use super::super::stored::{Stored, StoredFile};
use super::super::watch::Watch;
use super::block::records_ending_in;
use super::counter::RecordCounter;
use super::dialect::{Dialect, HEAD_BYTES};
use super::files::{TextFiles, Unit};

/// Text up to this size is counted: it takes about 10 ms.
const COUNTED_BYTES: u64 = 16 << 20;

/// The share of the bytes that may be read of anything larger, and the most in all.
const MOST_SHARE: u64 = 50;
const MOST_BYTES: u64 = 1 << 30;

/// A block of one page, or of sixteen rows where rows are long; so that a block has whole records in it.
const BLOCK_BYTES: u64 = 4 << 10;
const LARGEST_BLOCK: u64 = 128 << 10;
const ROWS_A_BLOCK: f64 = 16.0;
const FEWEST_BLOCKS: u64 = 32;

/// Blocks of the first round; every other round has twice as many as the one before.
const FIRST_ROUND: u64 = 64;

/// Enough is known when the interval reaches that far to both sides, as a share of the rows.
const GOOD_ENOUGH: f64 = 0.005;

/// Bytes read at a time when everything is counted.
const PIECE_BYTES: usize = 256 << 10;

/// What was found out about text files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRows {
    /// `None` when it was stopped before anything was known.
    pub(crate) rows: Option<Amount>,
    /// Numbers in a row and other columns beside them, by the first rows; `None` where lines have no columns.
    pub(crate) numbers_a_row: Option<f64>,
    pub(crate) other_columns: u64,
    pub(crate) read_bytes: u64,
}

/// Counts or estimates the rows of the files.
pub(crate) fn count_rows(files: &TextFiles, exact: bool, watch: &Watch, troubles: &mut Troubles) -> TextRows {
    let mut reading =
        Reading { files, watch, troubles, dialects: HashMap::new(), read_bytes: 0, quotes: false };
    let rows = if exact || files.bytes() <= COUNTED_BYTES {
        reading.count_all().map(Amount::counted)
    } else {
        reading.estimate()
    };
    let (numbers_a_row, other_columns) = reading.columns();
    TextRows { rows, numbers_a_row, other_columns, read_bytes: reading.read_bytes }
}

struct Reading<'a> {
    files: &'a TextFiles,
    watch: &'a Watch,
    troubles: &'a mut Troubles,
    /// How each file is written that was looked into; `None` for those that cannot be read.
    dialects: HashMap<usize, Option<Dialect>>,
    read_bytes: u64,
    /// Whether a quote was seen in any block.
    quotes: bool,
}

/// What one round of draws gave: the mean density of rows, and the square of its error.
#[derive(Clone, Copy, Debug)]
struct Round {
    draws: f64,
    density: f64,
    variance: f64,
}

impl Round {
    fn of(densities: &[f64]) -> Option<Self> {
        let draws = densities.len() as f64;
        let density = densities.iter().sum::<f64>() / draws;
        let steps: f64 = densities.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        (densities.len() > 1).then(|| Self {
            draws,
            density,
            variance: steps / (2.0 * (draws - 1.0)) / draws,
        })
    }

    /// Both rounds as one: every draw counts the same.
    fn with(self, other: Self) -> Self {
        let draws = self.draws + other.draws;
        let (mine, its) = (self.draws / draws, other.draws / draws);
        Self {
            draws,
            density: mine * self.density + its * other.density,
            variance: mine.powi(2) * self.variance + its.powi(2) * other.variance,
        }
    }

    fn good_enough(&self) -> bool {
        REACH * self.variance.sqrt() <= GOOD_ENOUGH * self.density
    }
}

impl Reading<'_> {
    fn count_all(&mut self) -> Option<u64> {
        let mut rows = 0;
        for (index, file) in self.files.files().iter().enumerate() {
            if self.watch.stopped() {
                return None;
            }
            match self.count_file(index, file) {
                Ok(counted) => rows += counted?,
                Err(problem) => self.troubles.add(&file.path, &problem),
            }
        }
        Some(rows)
    }

    /// The rows of one file; `None` when it was stopped.
    fn count_file(&mut self, index: usize, file: &SizedFile) -> Result<Option<u64>, FileProblem> {
        let stored = StoredFile::open(&file.path)?;
        let dialect = read_dialect(&stored, self.files)?;
        self.dialects.insert(index, Some(dialect));
        let mut counter = RecordCounter::new(&dialect);
        let mut piece = vec![0; PIECE_BYTES.min(file.bytes as usize)];
        let mut position = u64::from(dialect.top);
        while position < file.bytes && !self.watch.stopped() {
            let left = usize::try_from(file.bytes - position).unwrap_or(usize::MAX);
            let part = &mut piece[..left.min(PIECE_BYTES)];
            stored.read_at(position, part)?;
            counter.feed(part);
            position += part.len() as u64;
            self.read(part.len() as u64);
        }
        Ok((position >= file.bytes).then(|| counter.finish().saturating_sub(u64::from(dialect.header))))
    }

    fn read(&mut self, bytes: u64) {
        self.read_bytes += bytes;
        self.watch.read(bytes);
    }

    fn estimate(&mut self) -> Option<Amount> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.files.bytes());
        let budget = (self.files.bytes() / MOST_SHARE).min(MOST_BYTES);
        let mut block_bytes = BLOCK_BYTES;
        let mut all = self.round(FIRST_ROUND, block_bytes, &mut rng)?;
        let mut draws = FIRST_ROUND;
        let fitting = fitting_block(all.density, budget.saturating_sub(self.read_bytes));
        if fitting > block_bytes {
            // Blocks of another size have another error: the first round has only shown the size.
            block_bytes = fitting;
            draws = (budget.saturating_sub(self.read_bytes) / (block_bytes + 1) / 4).min(FIRST_ROUND);
            all = self.round(draws, block_bytes, &mut rng).unwrap_or(all);
        }
        while !all.good_enough() {
            // With one byte in front of each, and what is looked at of files that are met for the first time.
            let heads = HEAD_BYTES.min(self.read_bytes / all.draws as u64).saturating_sub(block_bytes);
            draws = (draws * 2).min(budget.saturating_sub(self.read_bytes) / (block_bytes + 1 + heads));
            let Some(round) = self.round(draws, block_bytes, &mut rng) else { break };
            all = all.with(round);
        }
        let bytes = self.files.bytes() as f64;
        let headers = self.headers();
        Some(Amount::with_error(all.density * bytes - headers, all.variance.sqrt() * bytes, 0.0))
    }

    /// Headers of the files that are sampled, judged by those that were looked into.
    fn headers(&self) -> f64 {
        let known = || self.dialects.values().flatten();
        let share = known().filter(|dialect| dialect.header).count() as f64 / known().count().max(1) as f64;
        share * self.files.large_files() as f64
    }

    /// One block at a random place of each of so many strata; `None` when it was stopped or there are too few.
    fn round(&mut self, strata: u64, block_bytes: u64, rng: &mut ChaCha8Rng) -> Option<Round> {
        let stratum = self.files.bytes() / strata.max(1);
        let mut densities = Vec::with_capacity(strata as usize);
        for index in 0..strata {
            if self.watch.stopped() {
                return None;
            }
            let position = index * stratum + rng.next_u64() % stratum.max(1);
            let Some(unit) = self.files.unit_at(position, block_bytes) else { continue };
            match self.rows_of(unit) {
                Ok(Some(rows)) => densities.push(rows as f64 / unit.length as f64),
                Ok(None) => {}
                Err(problem) => {
                    let path = &self.files.files()[unit.file].path;
                    self.troubles.add(path, &problem);
                    self.dialects.insert(unit.file, None);
                }
            }
        }
        Round::of(&densities)
    }

    /// Records that end in a unit; `None` where the file cannot be read, which was reported before.
    fn rows_of(&mut self, unit: Unit) -> Result<Option<u64>, FileProblem> {
        let file = &self.files.files()[unit.file];
        if self.dialects.get(&unit.file) == Some(&None) {
            return Ok(None);
        }
        if unit.whole {
            return self.count_file(unit.file, file);
        }
        let stored = StoredFile::open_for_samples(&file.path)?;
        let mut dialect = self.dialect(unit.file, &stored)?;
        // One byte more in front, which shows whether the block begins with a record.
        let start = unit.start.saturating_sub(1);
        let text = stored.take(start, unit.start + unit.length - start)?;
        self.read(text.len() as u64);
        let (before, block) = text.split_at((unit.start - start) as usize);
        self.quotes |= block.contains(&b'"');
        dialect.quotes |= self.quotes;
        let before = before.first().copied().unwrap_or(b'\n');
        let mut rows = records_ending_in(block, before, &dialect);
        // The last record of a file may lack its line end.
        let ends_open = block.last().is_some_and(|byte| !matches!(byte, b'\n' | b'\r'));
        rows += u64::from(unit.start + unit.length == file.bytes && ends_open);
        Ok(Some(rows))
    }

    fn dialect(&mut self, index: usize, stored: &StoredFile) -> Result<Dialect, FileProblem> {
        if let Some(Some(known)) = self.dialects.get(&index) {
            return Ok(*known);
        }
        let dialect = read_dialect(stored, self.files)?;
        self.read(stored.bytes().min(HEAD_BYTES));
        self.dialects.insert(index, Some(dialect));
        Ok(dialect)
    }

    /// Numbers in a row, and the other columns, over the files that were looked into.
    fn columns(&self) -> (Option<f64>, u64) {
        let known: Vec<&Dialect> = self.dialects.values().flatten().collect();
        let numbers: Vec<u32> = known.iter().filter_map(|dialect| dialect.numeric_columns).collect();
        let others = known
            .iter()
            .filter_map(|dialect| Some(u64::from(dialect.columns?.saturating_sub(dialect.numeric_columns?))));
        let mean = numbers.iter().map(|numbers| f64::from(*numbers)).sum::<f64>() / numbers.len() as f64;
        ((!numbers.is_empty()).then_some(mean), others.max().unwrap_or(0))
    }
}

fn read_dialect(stored: &StoredFile, files: &TextFiles) -> Result<Dialect, FileProblem> {
    let head = stored.take(0, stored.bytes().min(HEAD_BYTES))?;
    Ok(Dialect::of(&head, files.format, stored.bytes() <= HEAD_BYTES))
}

/// The size of blocks that have about [`ROWS_A_BLOCK`] rows of this density, but small enough that what may still
/// be read makes some dozens.
fn fitting_block(density: f64, affordable_bytes: u64) -> u64 {
    let wanted = (ROWS_A_BLOCK / density).min(LARGEST_BLOCK as f64) as u64;
    let most = 1 << (affordable_bytes / FEWEST_BLOCKS).max(1).ilog2();
    wanted.next_power_of_two().min(LARGEST_BLOCK).min(most).max(BLOCK_BYTES)
}
