//! Bytes a second by link, CPU, memory and devices: how much now, and how that came.

use laptime_analyse::pulse::Level;
use laptime_core::units;
use ratatui_core::text::Line;

use super::drawing::Shown;
use super::section::{Section, heights, painted};
use crate::text::Emphasis;

/// Columns of a name and of an amount.
const NAME: usize = 17;
const AMOUNT: usize = 13;
/// The longest course worth drawing.
const LONGEST: usize = 40;

/// An amount in words.
type Show = fn(f64) -> String;

/// Bytes that move.
pub(super) fn links(page: &Shown<'_>, width: usize) -> Option<Section> {
    let rate = |bytes: f64| format!("{}/s", units::bytes(bytes as u64));
    let lines = page.pulse.links.iter().map(|link| line(page, link, rate, width)).collect();
    Section::new(5, "bytes moved", lines, page.style)
}

/// What it has of the machine.
pub(super) fn resources(page: &Shown<'_>, width: usize) -> Option<Section> {
    let pulse = page.pulse;
    let bytes = |bytes: f64| units::bytes(bytes as u64);
    let rows: [(&Option<Level>, Show); 5] = [
        (&pulse.busy_cpus, |cpus| format!("{} CPUs", units::three_digits(cpus))),
        (&pulse.resident_bytes, bytes),
        (&pulse.device_busy, units::percent),
        (&pulse.device_bytes, bytes),
        (&pulse.device_watts, |watts| format!("{} W", units::three_digits(watts))),
    ];
    let lines = rows.into_iter().filter_map(|(level, show)| Some(line(page, level.as_ref()?, show, width)));
    Section::new(7, "machine", lines.collect(), page.style)
}

fn line(page: &Shown<'_>, level: &Level, show: impl Fn(f64) -> String, width: usize) -> Line<'static> {
    let room = width.saturating_sub(NAME + AMOUNT + 2).min(LONGEST);
    let course = level.course.get(level.course.len().saturating_sub(room)..).unwrap_or_default();
    Line::from(vec![
        painted(
            &format!("{:<NAME$} {:>AMOUNT$} ", name(level), show(level.now)),
            Emphasis::Plain,
            page.style,
        ),
        painted(&heights(course, page.style), Emphasis::Color(71), page.style),
    ])
}

fn name(level: &Level) -> String {
    match level.name {
        "busy_cpus" => "CPU".to_owned(),
        "resident_bytes" => "memory".to_owned(),
        "device_bytes" => "device memory".to_owned(),
        "device_watts" => "device power".to_owned(),
        other => other.replace('_', " "),
    }
}
