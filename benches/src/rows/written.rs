//! Random text files of many kinds, whose rows are known because they were written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How the lines of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Numbers of about the same length.
    Numbers,
    /// Any length between two.
    Uniform,
    /// Mostly short, some long.
    Lognormal,
    /// A few are very long: the tail of a power law.
    HeavyTail,
    /// Lines grow fourfold from the first to the last.
    Growing,
    /// The second half has lines three times as long.
    Step,
    /// Stretches of long lines between stretches of short ones.
    Bursts,
    /// A text column with line ends and doubled quotes in its quotes.
    QuotedNewlines,
    /// Texts of any length in quotes; some hundred are longer than a block.
    LongQuotes,
    /// Tabs between the fields.
    Tabs,
    /// A JSON object a line.
    JsonLines,
    /// Rows of ten kilobytes, as of embeddings written as text.
    LongRows,
}

impl Family {
    pub(crate) const ALL: [Self; 12] = [
        Self::Numbers,
        Self::Uniform,
        Self::Lognormal,
        Self::HeavyTail,
        Self::Growing,
        Self::Step,
        Self::Bursts,
        Self::QuotedNewlines,
        Self::LongQuotes,
        Self::Tabs,
        Self::JsonLines,
        Self::LongRows,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Uniform => "uniform",
            Self::Lognormal => "log-normal",
            Self::HeavyTail => "heavy tail",
            Self::Growing => "growing",
            Self::Step => "a step",
            Self::Bursts => "bursts",
            Self::QuotedNewlines => "quoted newlines",
            Self::LongQuotes => "long quotes",
            Self::Tabs => "tabs",
            Self::JsonLines => "JSON lines",
            Self::LongRows => "long rows",
        }
    }

    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Tabs => "tsv",
            Self::JsonLines => "jsonl",
            _ => "csv",
        }
    }
}

/// Random numbers for a file.
struct Dice(ChaCha8Rng);

impl Dice {
    /// From 0 to below 1.
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> usize {
        (low + (high - low) * self.share()) as usize
    }

    /// A standard normal number.
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Writes a file of about so many bytes; returns its rows.
pub(crate) fn write(path: &Path, family: Family, seed: u64, bytes: u64) -> io::Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
    // Files differ in the scale of their lines too.
    let scale = 0.5 + dice.share();
    let mut line = Vec::new();
    let (mut rows, mut written) = (0, 0);
    if !matches!(family, Family::JsonLines | Family::LongRows | Family::Numbers) {
        let delimiter = if family == Family::Tabs { "\t" } else { "," };
        writeln!(out, "id{delimiter}text{delimiter}score")?;
    }
    while written < bytes {
        line.clear();
        let progress = written as f64 / bytes as f64;
        make_line(&mut line, family, &mut dice, progress, scale);
        out.write_all(&line)?;
        written += line.len() as u64;
        rows += 1;
    }
    out.flush()?;
    Ok(rows)
}

fn make_line(line: &mut Vec<u8>, family: Family, dice: &mut Dice, progress: f64, scale: f64) {
    let id = dice.between(0.0, 1e6);
    let length = scale * length(family, dice, progress);
    // Writing to memory cannot fail.
    let _ = match family {
        Family::Numbers => {
            writeln!(line, "{id},{:.4},{:.4},{:.4}", dice.share(), dice.normal(), dice.share())
        }
        Family::Tabs => writeln!(line, "{id}\t{}\t{:.3}", words(dice, length as usize, false), dice.share()),
        Family::JsonLines => {
            writeln!(line, "{{\"id\": {id}, \"text\": \"{}\\n\"}}", words(dice, length as usize, false))
        }
        Family::QuotedNewlines | Family::LongQuotes => {
            writeln!(line, "{id},\"{}\",{:.3}", words(dice, length as usize, true), dice.share())
        }
        Family::LongRows => {
            let numbers: Vec<String> = (0..1_000).map(|_| format!("{:.5}", dice.normal())).collect();
            writeln!(line, "{}", numbers.join(","))
        }
        _ => writeln!(line, "{id},{},{:.3}", words(dice, length as usize, false), dice.share()),
    };
}

/// Letters of the text column.
fn length(family: Family, dice: &mut Dice, progress: f64) -> f64 {
    match family {
        Family::Uniform | Family::Tabs => dice.between(1.0, 80.0) as f64,
        Family::Lognormal | Family::JsonLines => (3.0 + dice.normal()).exp().min(20_000.0),
        // A power law of exponent 1.7: its variance has no bound but the longest line.
        Family::HeavyTail => (8.0 * (1.0 - dice.share()).powf(-1.0 / 1.7)).min(20_000.0),
        Family::Growing => 20.0 + 60.0 * progress,
        Family::Step if progress > 0.5 => dice.between(60.0, 120.0) as f64,
        Family::Step => dice.between(20.0, 40.0) as f64,
        Family::Bursts if ((progress * 37.0) as u64).is_multiple_of(2) => dice.between(80.0, 160.0) as f64,
        Family::Bursts => dice.between(5.0, 20.0) as f64,
        Family::QuotedNewlines => dice.between(1.0, 120.0) as f64,
        Family::LongQuotes if dice.share() < 0.0001 => dice.between(4_000.0, 9_000.0) as f64,
        Family::LongQuotes => (3.4 + dice.normal()).exp(),
        Family::Numbers | Family::LongRows => 0.0,
    }
}

/// Text of about that length; in quotes it may have line ends, commas and doubled quotes.
fn words(dice: &mut Dice, length: usize, quoted: bool) -> String {
    let mut text = String::with_capacity(length + 2);
    while text.len() < length {
        let word = ["lap", "time", "of", "the", "epoch", "data", "a", "wait"][dice.between(0.0, 8.0)];
        text.push_str(word);
        text.push_str(match dice.between(0.0, 40.0) {
            0 | 1 if quoted => "\n",
            2 if quoted => ", ",
            3 if quoted => "\"\"",
            _ => " ",
        });
    }
    text
}
