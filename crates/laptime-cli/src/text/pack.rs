//! What was packed or verified, as text.

use laptime_load::pack::Pack;

use super::facts::labelled;
use super::shown;
use super::style::{Emphasis, Style};
use super::units;
use super::wrap::wrapped;
use crate::packed::{PackedColumn, PackedDocument};

/// Columns that are described one by one.
const MOST_COLUMNS: usize = 8;

/// A pack that was written, and what to type next.
pub(crate) fn packed_text(packed: &PackedDocument, style: &Style) -> String {
    let rows = units::counted(packed.rows, "sample");
    let heading =
        format!("{}: {rows} from {} ({})", shown(&packed.pack), shown(&packed.source), packed.format);
    let mut text = lines(&heading, style, Emphasis::Bold);
    text.push('\n');
    text += &labelled("columns", &columns(&packed.columns), style);
    text += &labelled("size", &size(packed), style);
    text += &labelled("time", &time(packed), style);
    if packed.resumed_rows > 0 {
        let rows = units::counted(packed.resumed_rows, "sample");
        text += &labelled("resumed", &format!("{rows} were packed before and not again"), style);
    }
    for remark in &packed.remarks {
        text += &labelled("note", remark, style);
    }
    text.push('\n');
    text + &next(&packed.pack, style)
}

/// A pack in which every byte is as it was written.
pub(crate) fn verified_text(path: &str, pack: &Pack, seconds: f64, style: &Style) -> String {
    let samples = units::counted(pack.rows(), "sample");
    let bytes = units::bytes(pack.bytes());
    let took = units::duration(seconds);
    let heading = format!("{}: intact, {samples}, {bytes} checked in {took}", shown(path));
    lines(&heading, style, Emphasis::Good) + &next(path, style)
}

fn lines(text: &str, style: &Style, paint: Emphasis) -> String {
    let lines = wrapped(text, style.width, "", "  ");
    lines.iter().map(|line| format!("{}\n", style.paint(&style.fitted(line), paint))).collect()
}

fn next(pack: &str, style: &Style) -> String {
    let call = format!("next: laptime.Loader(\"{}\", batch_size=256, shuffle=True)", shown(pack));
    lines(&call, style, Emphasis::Dim)
}

fn columns(columns: &[PackedColumn]) -> String {
    let mut described: Vec<String> = columns.iter().take(MOST_COLUMNS).map(column).collect();
    if columns.len() > MOST_COLUMNS {
        described.push(format!("and {} more", columns.len() - MOST_COLUMNS));
    }
    described.join(" · ")
}

fn column(column: &PackedColumn) -> String {
    let name = shown(&column.name);
    let classes = match (&column.shape, column.feature_names.len()) {
        (Some(shape), classes @ 1..) if shape.is_empty() => format!(", {}", classes_counted(classes)),
        _ => String::new(),
    };
    match &column.shape {
        Some(shape) if shape.is_empty() => format!("{name} {}{classes}", column.dtype),
        Some(shape) => format!("{name} {} {shape:?}", column.dtype),
        None if column.kind == "bytes" => format!("{name} bytes"),
        None => format!("{name} {} sequences", column.dtype),
    }
}

fn classes_counted(classes: usize) -> String {
    format!("{} {}", units::count(classes as u64), if classes == 1 { "class" } else { "classes" })
}

fn size(packed: &PackedDocument) -> String {
    let parts = units::counted(packed.parts as u64, "part");
    let size = format!("{} in {parts}", units::bytes(packed.bytes));
    match packed.source_bytes {
        0 => size,
        // Of code the length says nothing.
        _ if packed.format == "Python dataset" => size,
        bytes => format!("{size}; the source has {}", units::bytes(bytes)),
    }
}

fn time(packed: &PackedDocument) -> String {
    // What an earlier command packed took none of this one's time.
    let rows = packed.rows.saturating_sub(packed.resumed_rows) as f64;
    format!("{}, {}", units::duration(packed.seconds), units::rate(rows / packed.seconds))
}
