//! The part of a dataset that is in one format.

use serde::Serialize;

use super::SurveyOptions;
use super::amount::Amount;
use super::compression::Compression;
use super::effort::Looking;
use super::format::Format;
use super::group::{Group, Kind};
use super::measured::{Together, Whole, measure_all};
use super::pictures::{Pictures, Sides, look_at_pictures};
use super::problem::Troubles;
use super::sized_file::SizedFile;
use super::text::{TextFiles, count_rows};

/// All files of one format; among those of no known format, of one ending.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The format.
    pub format: Format,
    /// How each file is packed as a whole; `None` where it is not.
    pub compression: Option<Compression>,
    /// The ending of the names, where the format is not known.
    pub ending: Option<String>,
    /// Files.
    pub files: u64,
    /// Of them, those whose headers or contents were looked into: all, or a fair sample.
    pub looked_into: u64,
    /// Of those, the ones that gave no answer.
    pub broken: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that storage delivers when all of them are read: whole pages, and none for holes.
    pub storage_bytes: u64,
    /// Rows or images; `None` where they are unknown.
    pub samples: Option<Amount>,
    /// Bytes in memory.
    pub decoded_bytes: Option<Amount>,
    /// Bytes of the numbers when they are moved to a device.
    pub device_bytes: Option<Amount>,
    /// Columns that hold something else than numbers, which are not counted among those bytes.
    pub other_columns: u64,
    /// Widths and heights of images.
    pub sides: Option<Sides>,
}

/// Looks into the files of a group.
pub(super) fn measure(kind: &Kind, group: Group, looking: Looking<'_>, troubles: &mut Troubles) -> Part {
    let (whole, options) = (group.sample.is_all(), looking.options);
    let files: Vec<SizedFile> = group.sample.into_kept();
    let plain = Part {
        format: kind.format,
        compression: kind.compression,
        ending: (kind.format == Format::Other).then(|| kind.ending.clone()),
        files: group.files,
        looked_into: 0,
        broken: 0,
        bytes: group.bytes,
        storage_bytes: group.storage_bytes,
        samples: None,
        decoded_bytes: None,
        device_bytes: None,
        other_columns: 0,
        sides: None,
    };
    match kind.format {
        Format::Other => plain,
        Format::Images => {
            let pictures = look_at_pictures(&files, plain.files, looking, troubles);
            images(plain, &pictures, options)
        }
        format if format.is_text() && kind.compression.is_none() => {
            text(plain, &TextFiles::new(format, files), whole, looking, troubles)
        }
        _ => {
            let all = Whole { kind, files: group.files, bytes: group.bytes };
            declared(plain, &measure_all(all, &files, looking, troubles), options)
        }
    }
}

/// What the files declare, or what unpacking them gave.
fn declared(part: Part, together: &Together, options: &SurveyOptions) -> Part {
    let part = Part { looked_into: together.looked_into, broken: together.broken, ..part };
    if !together.is_answer() {
        return part;
    }
    let known = match part.format {
        // Of a shard the images are known, where it has some.
        Format::Tar => together.numbers.mean > 0.0,
        Format::TfRecord | Format::JsonLines => false,
        _ => true,
    };
    let device_bytes = known.then(|| together.numbers.times(options.dtype.bytes() as f64));
    // Text that does not become numbers takes at least its own bytes.
    let decoded_bytes = match device_bytes {
        Some(bytes) if part.format.is_text() && together.other_columns == 0 => bytes,
        _ => together.decoded_bytes,
    };
    Part {
        samples: Some(together.rows),
        decoded_bytes: Some(decoded_bytes),
        device_bytes,
        other_columns: together.other_columns,
        ..part
    }
}

fn text(part: Part, files: &TextFiles, whole: bool, looking: Looking<'_>, troubles: &mut Troubles) -> Part {
    let looked_into = files.found();
    // Where there were too many files to keep, the rest is like those that were.
    let factor = if whole || files.bytes() == 0 { 1.0 } else { part.bytes as f64 / files.bytes() as f64 };
    let before = troubles.count;
    let found = count_rows(files, looking, troubles);
    let broken = troubles.count - before;
    let rows = found.rows.map(|rows| Amount { exact: rows.exact && whole, ..rows.times(factor) });
    let device = found.numbers_a_row.zip(rows).map(|(numbers, rows)| rows.times(numbers));
    let device_bytes = device.map(|numbers| numbers.times(looking.options.dtype.bytes() as f64));
    // Text that does not become numbers takes at least its own bytes.
    let decoded_bytes = match device_bytes {
        Some(bytes) if found.other_columns == 0 => Some(bytes),
        _ => Some(Amount { exact: false, ..Amount::counted(part.bytes) }),
    };
    let samples = rows.filter(|_| broken < part.files);
    let other_columns = found.other_columns;
    Part { looked_into, samples, decoded_bytes, device_bytes, other_columns, broken, ..part }
}

fn images(part: Part, pictures: &Pictures, options: &SurveyOptions) -> Part {
    let values = match options.size {
        Some(side) => {
            let pixels = (u64::from(side) * u64::from(side)) as f64;
            let sound = pictures.sound.map_or(0.0, |sound| sound.mean);
            pictures.channels.map(|channels| channels.times(pixels * sound))
        }
        None => pictures.values,
    };
    Part {
        broken: pictures.broken,
        looked_into: pictures.looked_into,
        samples: pictures.sound,
        decoded_bytes: pictures.decoded_bytes,
        device_bytes: values.map(|values| values.times(options.dtype.bytes() as f64)),
        sides: pictures.sides,
        ..part
    }
}

/// The sum over all parts that know it; `None` if none does.
pub(super) fn total(parts: &[Part], of: impl Fn(&Part) -> Option<Amount>) -> Option<Amount> {
    parts.iter().filter_map(of).reduce(Amount::plus)
}
