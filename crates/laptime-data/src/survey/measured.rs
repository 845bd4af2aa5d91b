//! What the files of one format hold together, by what each of them declares: all, or a fair sample.

use super::amount::Amount;
use super::columnar::{Contents, Measured, measure_arrow, measure_npy, measure_npz, measure_parquet};
use super::compressed::measure_compressed;
use super::effort::{Effort, Looking};
use super::format::Format;
use super::group::Kind;
use super::looking::{Patience, look_into};
use super::pairs::count_pairs_once;
use super::problem::{FileProblem, Troubles};
use super::records::measure_records;
use super::sized_file::SizedFile;

/// What all files of one kind hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Together {
    pub(crate) looked_into: u64,
    pub(crate) broken: u64,
    pub(crate) rows: Amount,
    pub(crate) decoded_bytes: Amount,
    pub(crate) numbers: Amount,
    pub(crate) other_columns: u64,
}

impl Together {
    /// Whether any file gave an answer.
    pub(crate) fn is_answer(&self) -> bool {
        self.looked_into > self.broken
    }
}

/// All files of a kind, of which some are looked into.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Looks into files in a fair order until it has taken long enough.
pub(crate) fn measure_all(
    whole: Whole<'_>,
    files: &[SizedFile],
    looking: Looking<'_>,
    troubles: &mut Troubles,
) -> Together {
    let effort = looking.effort(files.len());
    let patience = if effort.exact { Patience::ENDLESS } else { effort.looking };
    let seen = look_into(files, looking.place.threads(), patience, looking.watch, |file| {
        measure(file, whole.kind, looking, effort)
    });
    let mut looked: Vec<(&SizedFile, Contents)> = Vec::new();
    let (mut looked_into, mut broken) = (0, 0);
    for (file, seen) in files.iter().zip(seen) {
        let Some(seen) = seen else { continue };
        looked_into += 1;
        let problem = match seen {
            Ok(measured) => {
                looked.push((file, measured.contents));
                measured.missing
            }
            Err(problem) => {
                broken += 1;
                looked.push((file, Contents { decoded_exactly: true, ..Contents::default() }));
                Some(problem)
            }
        };
        if let Some(problem) = problem {
            troubles.add(&file.path, &problem);
        }
    }
    if whole.kind.format == Format::Npy {
        count_pairs_once(&mut looked);
    }
    let all = looked_into == whole.files;
    let sum = |of: fn(&Contents) -> Value| total(&looked, whole, all, of);
    let exactly = looked.iter().all(|(_, contents)| contents.decoded_exactly);
    let decoded = sum(|contents| (contents.decoded_bytes as f64, contents.decoded_error));
    Together {
        looked_into,
        broken,
        rows: sum(|contents| (contents.rows as f64, contents.relative_error)),
        decoded_bytes: Amount { exact: decoded.exact && exactly, ..decoded },
        numbers: sum(|contents| (contents.numbers as f64, contents.decoded_error)),
        other_columns: looked.iter().map(|(_, contents)| contents.other_columns).max().unwrap_or(0),
    }
}

fn measure(
    file: &SizedFile,
    kind: &Kind,
    looking: Looking<'_>,
    effort: Effort,
) -> Result<Measured, FileProblem> {
    let Looking { place, watch, .. } = looking;
    if let Some(compression) = kind.compression {
        return measure_compressed(&*place.open(file)?, kind.format, compression, effort, watch);
    }
    let stored = &*place.open_for_samples(file)?;
    match kind.format {
        Format::Parquet => measure_parquet(stored),
        Format::Arrow => measure_arrow(stored),
        Format::Npy => measure_npy(stored),
        Format::Npz => measure_npz(stored),
        format => measure_records(stored, format, effort, watch),
    }
}

/// A number, and its standard error as a share of it.
type Value = (f64, f64);

/// The sum over all files, by the bytes of those that were looked into; a broken one adds nothing and stands for
/// others like it. The error is that of a ratio among files drawn without putting back, and that within files.
fn total(
    looked: &[(&SizedFile, Contents)],
    whole: Whole<'_>,
    all: bool,
    of: fn(&Contents) -> Value,
) -> Amount {
    let seen: f64 = looked.iter().map(|(_, contents)| of(contents).0).sum();
    let error_of = |contents: &Contents| of(contents).0 * of(contents).1;
    let within: f64 = looked.iter().map(|(_, contents)| error_of(contents).powi(2)).sum();
    if all {
        let error = within.sqrt();
        return Amount { exact: error == 0.0, ..Amount::with_error(seen, error, 0.0) };
    }
    let seen_bytes: f64 = looked.iter().map(|(file, _)| file.bytes as f64).sum();
    let (count, files) = (looked.len() as f64, whole.files as f64);
    let ratio = seen / seen_bytes.max(1.0);
    let factor = whole.bytes as f64 / seen_bytes.max(1.0);
    let squares: f64 =
        looked.iter().map(|(file, contents)| (of(contents).0 - ratio * file.bytes as f64).powi(2)).sum();
    let between = files.powi(2) * (1.0 - count / files) / count * squares / (count - 1.0).max(1.0);
    let least = if within == 0.0 { seen } else { 0.0 };
    Amount::with_error(seen * factor, (between + factor.powi(2) * within).sqrt(), least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(count: u64, rows: impl Fn(u64) -> u64) -> Vec<(SizedFile, Contents)> {
        let one = |index: u64| {
            let file = SizedFile { path: index.to_string().into(), bytes: 1_000 + index };
            (file, Contents { rows: rows(index), ..Contents::default() })
        };
        (0..count).map(one).collect()
    }

    fn rows_of(looked: &[(SizedFile, Contents)], files: u64, bytes: u64) -> Amount {
        let kind = Kind { format: Format::Parquet, compression: None, ending: String::new() };
        let borrowed: Vec<_> = looked.iter().map(|(file, contents)| (file, *contents)).collect();
        let all = files == looked.len() as u64;
        total(&borrowed, Whole { kind: &kind, files, bytes }, all, |contents| (contents.rows as f64, 0.0))
    }

    #[test]
    fn what_all_files_declare_is_counted() {
        let looked = looked(3, |index| index * 10);
        assert_eq!(rows_of(&looked, 3, 3_003), Amount::counted(30));
    }

    #[test]
    fn some_files_stand_for_all_by_their_bytes() {
        let looked = looked(100, |index| 100 + index % 7);
        let bytes: u64 = (0..1_000).map(|index| 1_000 + index % 100).sum();
        let rows = rows_of(&looked, 1_000, bytes);
        let truth: u64 = (0..1_000).map(|index| 100 + index % 100 % 7).sum();
        assert!(!rows.exact && (rows.low..=rows.high).contains(&(truth as f64)), "{rows:?}");
        assert!(rows.high / rows.low < 1.03, "{rows:?}");
    }
}
