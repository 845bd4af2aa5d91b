//! How many rows text files have: counted where that is quick, else estimated from blocks spread over all of them.
//!
//! The bytes of all files are cut into equal strata and a block is read at a random place of each. What is
//! averaged is the density of record ends, so files whose rows grow or shrink are met fairly. Two neighbouring
//! strata differ little by where they are, so the differences of neighbours give the error. Where a read is a way
//! through a network many are asked for at a time, and what has taken long enough ends.

use std::collections::HashMap;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::amount::Amount;
use super::super::density::Round;
use super::super::effort::{Effort, Looking};
use super::super::looking::{Patience, look_into};
use super::super::problem::{FileProblem, Troubles};
use super::super::sized_file::SizedFile;
use super::block::records_ending_in;
use super::counter::RecordCounter;
use super::dialect::{Dialect, HEAD_BYTES, top_of};
use super::files::{TextFiles, Unit};

/// Text up to this size is counted in any case: on this machine it takes about 10 ms, elsewhere a read.
const ALWAYS_COUNTED: u64 = 16 << 20;
const ALWAYS_COUNTED_FAR: u64 = PIECE_BYTES;

/// Text up to this size is counted if it looks as if that takes no longer than a person waits.
const COUNTED_IF_QUICK: u64 = 256 << 20;

/// The share of the bytes that may be read of anything larger, and the most in all: on this machine and elsewhere.
const MOST_SHARE: u64 = 50;
const MOST_BYTES: u64 = 1 << 30;
const MOST_FAR_BYTES: u64 = 64_000_000;

/// A block of one page, or of sixteen rows where rows are long; so that a block has whole records in it.
const BLOCK_BYTES: u64 = 4 << 10;
const LARGEST_BLOCK: u64 = 128 << 10;
const ROWS_A_BLOCK: f64 = 16.0;
const FEWEST_BLOCKS: u64 = 32;

/// Blocks of the first round; every other round has twice as many as the one before.
const FIRST_ROUND: u64 = 64;

/// Fewer blocks than this are not worth a round.
const LEAST_ROUND: u64 = 8;

/// Bytes read at a time when everything is counted.
const PIECE_BYTES: u64 = 256 << 10;

/// Reads that are asked for together.
const BATCH: usize = 64;

/// What was found out about text files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRows {
    /// `None` when it was stopped before anything was known.
    pub(crate) rows: Option<Amount>,
    /// Numbers in a row and other columns beside them, by the first rows; `None` where lines have no columns.
    pub(crate) numbers_a_row: Option<f64>,
    pub(crate) other_columns: u64,
}

/// Counts or estimates the rows of the files.
pub(crate) fn count_rows(files: &TextFiles, looking: Looking<'_>, troubles: &mut Troubles) -> TextRows {
    let effort = looking.effort(1);
    let mut reading =
        Reading { files, looking, effort, troubles, dialects: HashMap::new(), read_bytes: 0, quotes: false };
    let rows = match reading.count_all() {
        Counted::All(rows) => Some(Amount::counted(rows)),
        Counted::Stopped => None,
        Counted::TooLong => reading.estimate(),
    };
    let (numbers_a_row, other_columns) = reading.columns();
    TextRows { rows, numbers_a_row, other_columns }
}

struct Reading<'a> {
    files: &'a TextFiles,
    looking: Looking<'a>,
    effort: Effort,
    troubles: &'a mut Troubles,
    /// How each file is written that was looked into; `None` for those that cannot be read.
    dialects: HashMap<usize, Option<Dialect>>,
    read_bytes: u64,
    /// Whether a quote was seen in any block.
    quotes: bool,
}

/// What became of counting everything.
enum Counted {
    All(u64),
    /// It would take longer than a person waits.
    TooLong,
    Stopped,
}

/// A file that is being counted.
struct Counting {
    file: usize,
    header: bool,
    counter: RecordCounter,
}

impl Counting {
    fn finish(self) -> u64 {
        self.counter.finish().saturating_sub(u64::from(self.header))
    }
}

impl Reading<'_> {
    fn count_all(&mut self) -> Counted {
        let bytes = self.files.bytes();
        let always = if self.effort.far { ALWAYS_COUNTED_FAR } else { ALWAYS_COUNTED };
        let surely = self.effort.exact || bytes <= always;
        if !surely && (bytes > COUNTED_IF_QUICK || self.looking.options.patience.is_zero()) {
            return Counted::TooLong;
        }
        let (started, mut done, mut rows) = (Instant::now(), 0_u64, 0);
        let mut current: Option<Counting> = None;
        let mut pieces = self.files.pieces(PIECE_BYTES);
        loop {
            let batch: Vec<Unit> = pieces.by_ref().take(self.batch()).collect();
            if batch.is_empty() {
                return Counted::All(rows + current.map_or(0, Counting::finish));
            }
            for (unit, text) in batch.iter().zip(self.fetch(&batch)) {
                let Some(text) = text else { return Counted::Stopped };
                done += unit.length;
                rows += self.count_piece(*unit, text, &mut current);
            }
            let expected = started.elapsed().as_secs_f64() * bytes as f64 / done.max(1) as f64;
            if !surely && expected > self.looking.options.patience.as_secs_f64() {
                return Counted::TooLong;
            }
        }
    }

    /// Counts on; gives the rows of the file before where this piece begins another.
    fn count_piece(
        &mut self,
        unit: Unit,
        text: Result<Vec<u8>, FileProblem>,
        current: &mut Option<Counting>,
    ) -> u64 {
        let mut finished = 0;
        match text {
            Ok(text) => {
                if unit.start == 0 {
                    let dialect = self.learn(unit, &text);
                    let counter = RecordCounter::new(&dialect);
                    let next = Counting { file: unit.file, header: dialect.header, counter };
                    finished = current.replace(next).map_or(0, Counting::finish);
                }
                let top = if unit.start == 0 { top_of(&text) } else { 0 };
                // A file whose beginning could not be read is not counted from its middle.
                if let Some(counting) = current.as_mut().filter(|counting| counting.file == unit.file) {
                    counting.counter.feed(&text[top..]);
                }
            }
            Err(problem) => {
                if let Some(before) = current.take_if(|counting| counting.file != unit.file) {
                    finished = before.finish();
                }
                *current = None;
                self.give_up(unit.file, &problem);
            }
        }
        finished
    }

    /// Learns from its first bytes how a file is written.
    fn learn(&mut self, unit: Unit, text: &[u8]) -> Dialect {
        let head = &text[..text.len().min(HEAD_BYTES as usize)];
        let whole = self.files.files()[unit.file].bytes <= HEAD_BYTES;
        let dialect = Dialect::of(head, self.files.format, whole);
        self.dialects.insert(unit.file, Some(dialect));
        dialect
    }

    /// Reports a file that cannot be read, once.
    fn give_up(&mut self, file: usize, problem: &FileProblem) {
        if self.dialects.insert(file, None) != Some(None) {
            self.troubles.add(&self.files.files()[file].path, problem);
        }
    }

    /// Reads that are made together: one after the other on this machine, where they are no wait.
    fn batch(&self) -> usize {
        if self.effort.far { BATCH } else { 1 }
    }

    /// The bytes of each unit; `None` for those that nobody waits for any more.
    fn fetch(&mut self, units: &[Unit]) -> Vec<Option<Result<Vec<u8>, FileProblem>>> {
        let (files, place) = (self.files.files(), self.looking.place);
        let threads = if self.effort.far { place.threads() } else { 1 };
        let read = |unit: &Unit| {
            let file: &SizedFile = &files[unit.file];
            let whole = unit.length == file.bytes || unit.length == PIECE_BYTES;
            let stored = if whole { place.open(file)? } else { place.open_for_samples(file)? };
            stored.take(unit.start, unit.length)
        };
        let fetched = look_into(units, threads, Patience::ENDLESS, self.looking.watch, read);
        self.read_bytes += units.iter().map(|unit| unit.length).sum::<u64>();
        fetched
    }

    fn estimate(&mut self) -> Option<Amount> {
        let (started, patience) = (Instant::now(), self.effort.looking);
        let mut rng = ChaCha8Rng::seed_from_u64(self.files.bytes());
        let most = if self.effort.far { MOST_FAR_BYTES } else { MOST_BYTES };
        let budget = (self.files.bytes() / MOST_SHARE).min(most);
        self.read_bytes = 0;
        let mut block_bytes = BLOCK_BYTES;
        let mut all = self.round(FIRST_ROUND, block_bytes, &mut rng)?;
        let (mut draws, mut drawn) = (FIRST_ROUND, FIRST_ROUND);
        let fitting = fitting_block(all.density, budget.saturating_sub(self.read_bytes));
        if fitting > block_bytes {
            // Blocks of another size have another error: the first round has only shown the size.
            block_bytes = fitting;
            draws = (budget.saturating_sub(self.read_bytes) / (block_bytes + 1) / 4).min(FIRST_ROUND);
            all = self.round(draws, block_bytes, &mut rng).unwrap_or(all);
            drawn += draws;
        }
        while !all.good_enough() {
            // With one byte in front of each, and what is looked at of files that are met for the first time.
            let heads = HEAD_BYTES.min(self.read_bytes / all.draws as u64).saturating_sub(block_bytes);
            draws = (draws * 2).min(budget.saturating_sub(self.read_bytes) / (block_bytes + 1 + heads));
            if self.effort.far {
                let each = started.elapsed().as_secs_f64() / drawn as f64;
                draws = draws.min((patience.left_s() / each) as u64);
                if draws < LEAST_ROUND {
                    break;
                }
            }
            let Some(round) = self.round(draws, block_bytes, &mut rng) else { break };
            all = all.with(round);
            drawn += draws;
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
        let places = (0..strata).map(|index| index * stratum + rng.next_u64() % stratum.max(1));
        let units: Vec<Unit> = places.filter_map(|place| self.files.unit_at(place, block_bytes)).collect();
        let mut densities = Vec::with_capacity(units.len());
        for batch in units.chunks(self.batch()) {
            self.learn_heads(batch)?;
            let with_one_before: Vec<Unit> = batch.iter().map(Unit::with_byte_before).collect();
            for (unit, text) in batch.iter().zip(self.fetch(&with_one_before)) {
                let rows = self.rows_of(*unit, text?);
                densities.extend(rows.map(|rows| rows as f64 / unit.length as f64));
            }
        }
        Round::of(&densities)
    }

    /// Looks at the beginnings of the files that are met for the first time; `None` when it was stopped.
    fn learn_heads(&mut self, units: &[Unit]) -> Option<()> {
        let mut heads: Vec<Unit> = Vec::new();
        for unit in units.iter().filter(|unit| !unit.whole) {
            let is_new = !self.dialects.contains_key(&unit.file);
            if is_new && heads.iter().all(|head| head.file != unit.file) {
                heads.push(Unit { start: 0, length: HEAD_BYTES, ..*unit });
            }
        }
        for (head, text) in heads.iter().zip(self.fetch(&heads)) {
            match text? {
                Ok(text) => drop(self.learn(*head, &text)),
                Err(problem) => self.give_up(head.file, &problem),
            }
        }
        Some(())
    }

    /// Records that end in a unit; `None` where the file cannot be read.
    fn rows_of(&mut self, unit: Unit, text: Result<Vec<u8>, FileProblem>) -> Option<u64> {
        let text = match text {
            Ok(text) => text,
            Err(problem) => {
                self.give_up(unit.file, &problem);
                return None;
            }
        };
        if unit.whole {
            let dialect = self.learn(unit, &text);
            let mut counter = RecordCounter::new(&dialect);
            counter.feed(&text[top_of(&text)..]);
            return Some(counter.finish().saturating_sub(u64::from(dialect.header)));
        }
        let mut dialect = (*self.dialects.get(&unit.file)?)?;
        let (before, block) = text.split_at(usize::from(unit.start > 0));
        self.quotes |= block.contains(&b'"');
        dialect.quotes |= self.quotes;
        let before = before.first().copied().unwrap_or(b'\n');
        let rows = records_ending_in(block, before, &dialect);
        // The last record of a file may lack its line end.
        let ends_open = block.last().is_some_and(|byte| !matches!(byte, b'\n' | b'\r'));
        let is_last = unit.start + unit.length == self.files.files()[unit.file].bytes;
        Some(rows + u64::from(is_last && ends_open))
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

/// The size of blocks that have about [`ROWS_A_BLOCK`] rows of this density, but small enough that what may still
/// be read makes some dozens.
fn fitting_block(density: f64, affordable_bytes: u64) -> u64 {
    let wanted = (ROWS_A_BLOCK / density).min(LARGEST_BLOCK as f64) as u64;
    let most = 1 << (affordable_bytes / FEWEST_BLOCKS).max(1).ilog2();
    wanted.next_power_of_two().min(LARGEST_BLOCK).min(most).max(BLOCK_BYTES)
}
