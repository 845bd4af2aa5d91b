//! What a dataset amounts to, as text.

use laptime_data::survey::{Amount, Compression, Format, Origin, Part, Split, Survey};

use super::facts::labelled;
use super::shown;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units;
use super::wrap::wrapped;

/// Troubles listed one by one; --json has more.
const MOST_TROUBLES: usize = 5;

/// Splits shown; --json has all.
const MOST_SPLITS: usize = 6;

/// Parts shown as rows; --json has all.
const MOST_PARTS: usize = 12;

/// The dataset: what it is, what an epoch moves, what limits it, and what to type next.
pub(crate) fn dataset_text(survey: &Survey, style: &Style) -> String {
    let mut text = heading(survey, style);
    if survey.files == 0 {
        text += &line("no files in it", style, Emphasis::Plain);
        return text + &troubles(survey, style);
    }
    let facts = [
        ("samples", Some(samples(survey))),
        ("declared", declared(survey)),
        ("size", Some(size(survey))),
        ("a sample", a_sample(survey)),
        ("an epoch", Some(an_epoch(survey))),
        ("memory", memory(survey)),
        ("disk", Some(disk(survey))),
        ("at least", at_least(survey)),
        ("all epochs", all_epochs(survey)),
    ];
    text.push('\n');
    for (label, fact) in facts {
        text.extend(fact.map(|fact| labelled(label, &fact, style)));
    }
    if survey.parts.len() > 1 {
        text = format!("{text}\n{}", parts(survey, style));
    }
    text += &troubles(survey, style);
    format!("{text}\n{}", next(survey, style))
}

pub(super) fn heading(survey: &Survey, style: &Style) -> String {
    let format = survey.format.map_or("no data", Format::name);
    let stopped = if survey.complete { "" } else { ", stopped early: what is known so far" };
    let lines = wrapped(&format!("{}: {format}{stopped}", shown(&survey.source)), style.width, "", "  ");
    lines.iter().map(|line| format!("{}\n", style.paint(&style.fitted(line), Emphasis::Bold))).collect()
}

pub(super) fn line(text: &str, style: &Style, paint: Emphasis) -> String {
    let lines = wrapped(text, style.width, "", "  ");
    lines.iter().map(|line| format!("{}\n", style.paint(&style.fitted(line), paint))).collect()
}

pub(super) fn samples(survey: &Survey) -> String {
    let Some(samples) = survey.samples else {
        let all_broken = survey.parts.iter().any(|part| part.broken > 0);
        return match (survey.complete, all_broken) {
            (false, _) => "unknown: stopped before",
            (true, true) => "cannot tell: no file could be read as what its name says",
            (true, false) => "cannot tell: only the bytes of this format are known",
        }
        .to_owned();
    };
    let what = match survey.format {
        Some(Format::Images) => "image",
        Some(Format::TfRecord) => "record",
        Some(Format::Tar) => "sample",
        _ => "row",
    };
    let counted = if samples.exact {
        units::counted(samples.mean.round() as u64, what)
    } else {
        format!("about {}", counted_in(&samples, what))
    };
    format!("{counted}{}", broken_images(survey).unwrap_or_default())
}

/// The splits that the dataset's own description has, as far as they fit a line or two.
fn declared(survey: &Survey) -> Option<String> {
    let first = survey.declared.first()?;
    let split = |split: &Split| format!("{} {}", shown(&split.name), units::count(split.rows));
    let listed: Vec<String> = survey.declared.iter().take(MOST_SPLITS).map(split).collect();
    let more = match survey.declared.len().saturating_sub(MOST_SPLITS) {
        0 => String::new(),
        more => format!(" and {} more", units::count(more as u64)),
    };
    Some(format!("{}{more} rows, by {}", listed.join(", "), shown(&first.file)))
}

/// How many files are no images although their names say so, as far as they were looked into.
fn broken_images(survey: &Survey) -> Option<String> {
    let images = |part: &&Part| part.format == Format::Images && part.broken > 0;
    let part = survey.parts.iter().find(images).filter(|_| survey.format == Some(Format::Images))?;
    let broken = units::count(part.broken);
    Some(match part.looked_into == part.files {
        true => format!("; {broken} more are broken"),
        false => {
            let verb = if part.broken == 1 { "is" } else { "are" };
            format!("; {broken} of the {} looked into {verb} broken", units::count(part.looked_into))
        }
    })
}

/// Three digits and what is counted, with the interval: `1,230,000 rows (1,220,000–1,240,000)`.
fn counted_in(estimate: &Amount, what: &str) -> String {
    // A step below the width of the interval: more digits would claim to know them.
    let width = (estimate.high - estimate.low).max(1.0);
    let step = 10_f64.powf((width / 20.0).log10().floor()).max(1.0);
    let rounded = |number: f64| units::count(((number / step).round() * step) as u64);
    format!("{} {what}s ({}–{})", rounded(estimate.mean), rounded(estimate.low), rounded(estimate.high))
}

pub(super) fn size(survey: &Survey) -> String {
    let files = units::counted(survey.files, "file");
    let stored = format!("{} in {files}", units::bytes(survey.bytes));
    match survey.decoded_bytes {
        Some(bytes) => format!("{stored}; {} decoded", amount(&bytes)),
        None => stored,
    }
}

/// Bytes, marked where they are an estimate.
fn amount(bytes: &Amount) -> String {
    let about = if bytes.exact { "" } else { "about " };
    format!("{about}{}", units::bytes(bytes.mean.round() as u64))
}

pub(super) fn a_sample(survey: &Survey) -> Option<String> {
    let whole = |bytes: f64| units::bytes(bytes.round() as u64);
    let stored = format!("{} stored", whole(survey.sample_bytes_stored?));
    let decoded = survey.sample_bytes_decoded.map(|bytes| format!(", {} decoded", whole(bytes)));
    let sides = survey.parts.iter().find_map(|part| part.sides).map(|sides| {
        let ((w0, h0), (w1, h1)) = (sides.smallest, sides.largest);
        if (w0, h0) == (w1, h1) {
            format!("; {w0} × {h0} pixels")
        } else {
            format!("; {w0} × {h0} to {w1} × {h1} pixels")
        }
    });
    Some([Some(stored), decoded, sides].into_iter().flatten().collect())
}

fn an_epoch(survey: &Survey) -> String {
    epoch_of(survey, &format!("reads {} from storage", units::bytes(survey.epoch_bytes.storage)))
}

/// What an epoch moves of data that lie elsewhere.
pub(super) fn all_of(survey: &Survey) -> String {
    epoch_of(survey, &format!("fetches {}", units::bytes(survey.epoch_bytes.files)))
}

fn epoch_of(survey: &Survey, read: &str) -> String {
    let epoch = &survey.epoch_bytes;
    let Some(device) = &epoch.host_to_device else {
        return format!("{read}; what it moves to a device is unknown");
    };
    let images = survey.parts.iter().any(|part| part.format == Format::Images);
    let side = survey.size.filter(|_| images).map(|side| format!(" of {side} × {side}")).unwrap_or_default();
    let moved = format!("moves {} to the device as {}{side}", amount(device), survey.dtype.name());
    let left_out = survey.parts.iter().map(|part| part.other_columns).max().unwrap_or(0);
    let without = if left_out > 0 {
        format!(", without {}", units::counted(left_out, "column").replace("column", "text column"))
    } else {
        String::new()
    };
    format!("{read}, {moved}{without}")
}

pub(super) fn memory(survey: &Survey) -> Option<String> {
    let memory = survey.memory?;
    let room = format!("{} free", units::bytes(memory.available_bytes));
    let group = if memory.limited_by_cgroup { ", limited by the control group" } else { "" };
    let fits = |bytes: f64| bytes <= memory.available_bytes as f64;
    let verdict = match survey.decoded_bytes {
        Some(bytes) if fits(bytes.high) => "fits, also decoded".to_owned(),
        Some(_) if fits(survey.bytes as f64) => "fits as it is stored, not decoded".to_owned(),
        Some(_) => "does not fit".to_owned(),
        None if fits(survey.bytes as f64) => "fits as it is stored".to_owned(),
        None => "does not fit".to_owned(),
    };
    Some(format!("{verdict}: {room}{group}"))
}

/// Two ends of an interval, the unit said once where both have the same.
fn interval(low: &str, high: &str) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

fn disk(survey: &Survey) -> String {
    let Some(link) = survey.link else {
        // Below a mebibyte there is too little to measure a rate.
        let little = survey.bytes < 1 << 20;
        return if little { "not measured: there is too little to read" } else { "not measured" }.to_owned();
    };
    let per_second = |rate: f64| format!("{}/s", units::bytes(rate as u64));
    let rate = &link.bytes_per_s;
    let interval = interval(&per_second(rate.low), &per_second(rate.high));
    let streams = match link.streams {
        1 => "one read at a time".to_owned(),
        more => format!("{more} reads at a time"),
    };
    let latency = link.latency_s.map(|seconds| format!("; {} for 4 KiB", units::duration(seconds)));
    let origin = match link.origin {
        Origin::Storage => "measured past the page cache",
        Origin::Network => "over the network",
        Origin::Memory => "this file system lives in memory",
        _ => "cannot tell whether a cache had it",
    };
    let latency = latency.unwrap_or_default();
    format!("{} ({interval}), {streams}{latency}; {origin}", per_second(rate.mean))
}

/// The time below which no epoch can go.
fn at_least(survey: &Survey) -> Option<String> {
    let least = &survey.least;
    let first = format!("{} for an epoch from disk", units::duration(least.first_epoch_s?));
    Some(match (least.cached_share, least.later_epoch_s) {
        (Some(1.0), _) => format!("{first}; later ones can come from memory"),
        (Some(_), Some(seconds)) => format!("{first}; {} for each later one", units::duration(seconds)),
        _ => first,
    })
}

fn all_epochs(survey: &Survey) -> Option<String> {
    let least = &survey.least;
    let whole = |bytes: f64| units::bytes(bytes.round() as u64);
    let read =
        format!("{} read {} from storage at least", units::count(survey.epochs), whole(least.storage_bytes));
    let moved = least.device_bytes.map(|bytes| format!(", move {} to the device", whole(bytes)));
    let time = least.total_s.map(|seconds| format!("; {} at least", units::duration(seconds)));
    (survey.epochs > 1).then(|| [Some(read), moved, time].into_iter().flatten().collect())
}

fn parts(survey: &Survey, style: &Style) -> String {
    let mut table = Table::new(vec![
        Column::new("format", Align::Left).shrinks_to(10),
        Column::new("files", Align::Right),
        Column::new("samples", Align::Right),
        Column::new("stored", Align::Unit),
        Column::new("decoded", Align::Unit).importance(2),
        Column::new("to device", Align::Unit).importance(1),
    ]);
    for part in survey.parts.iter().take(MOST_PARTS) {
        table.row(cells(part));
    }
    let more = survey.parts.len().saturating_sub(MOST_PARTS);
    if more > 0 {
        table.line(format!("and {more} more kinds of files (--json has all)"), Emphasis::Dim);
    }
    table.drawn(style)
}

fn cells(part: &Part) -> Vec<Cell> {
    let bytes = |estimate: Option<Amount>| {
        units::or_unknown(estimate, |bytes| units::bytes(bytes.mean.round() as u64))
    };
    vec![
        part_name(part).into(),
        units::count(part.files).into(),
        units::or_unknown(part.samples, |samples| units::count(samples.mean.round() as u64)).into(),
        units::bytes(part.bytes).into(),
        bytes(part.decoded_bytes).into(),
        bytes(part.device_bytes).into(),
    ]
}

fn part_name(part: &Part) -> String {
    match part.ending.as_deref() {
        None if part.compression.is_some() => {
            let ending = part.compression.map_or("", Compression::ending);
            format!("{} .{ending}", part.format.name())
        }
        None => part.format.name().to_owned(),
        Some("") => "no ending".to_owned(),
        Some(ending) => format!(".{}", shown(ending)),
    }
}

pub(super) fn troubles(survey: &Survey, style: &Style) -> String {
    if survey.trouble_count == 0 {
        return String::new();
    }
    let count = units::counted(survey.trouble_count, "problem");
    let mut text = format!("\n{}", line(&format!("{count}:"), style, Emphasis::Notice));
    for trouble in survey.troubles.iter().take(MOST_TROUBLES) {
        let path = shown(&trouble.path);
        let problem = format!("{path} {}", shown(&trouble.problem));
        let lines = wrapped(&problem, style.width, "  ", "    ");
        text.extend(lines.iter().map(|line| format!("{}\n", style.fitted(line))));
    }
    let listed = survey.troubles.len().min(MOST_TROUBLES) as u64;
    let more = survey.trouble_count.saturating_sub(listed);
    if more > 0 {
        text += &line(
            &format!("  and {} more (--json has the first 100)", units::count(more)),
            style,
            Emphasis::Dim,
        );
    }
    text
}

fn next(survey: &Survey, style: &Style) -> String {
    let sampled = survey.samples.is_some_and(|samples| !samples.exact);
    let hint = match (survey.complete, sampled) {
        (false, _) => "next: without Ctrl-C it ends by itself",
        (true, true) if survey.format == Some(Format::Images) => {
            "next: `laptime data --exact …` looks into every image"
        }
        (true, true) => "next: `laptime data --exact …` counts every row",
        (true, false) => "next: `laptime run -- python train.py` shows what an epoch really takes",
    };
    line(hint, style, Emphasis::Dim)
}
