//! How long steps take: a histogram.

use laptime_core::units;
use ratatui_core::text::Line;

use super::drawing::Shown;
use super::section::{Section, height, painted};
use crate::text::Emphasis;

/// Lines that the bars are high.
const HEIGHT: usize = 4;

pub(super) fn section(page: &Shown<'_>, width: usize) -> Option<Section> {
    let histogram = page.pulse.steps.as_ref()?;
    // Bars as wide as there is room for, up to two letters.
    let wide = (width / histogram.counts.len().max(1)).clamp(1, 2);
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let row = |row: usize| {
        let share = |count: u64| count as f64 / most * HEIGHT as f64 - row as f64;
        let letter = |count: &u64| height(share(*count), page.style).to_string().repeat(wide);
        let bars: String = histogram.counts.iter().map(letter).collect();
        Line::from(painted(&bars, Emphasis::Color(74), page.style))
    };
    let mut lines: Vec<Line<'static>> = (0..HEIGHT).rev().map(row).collect();
    let (low, high) = (histogram.edges_s.first()?, histogram.edges_s.last()?);
    let (low, high) = (units::duration(*low), units::duration(*high));
    let room = (histogram.counts.len() * wide).saturating_sub(low.chars().count() + high.chars().count());
    let axis = format!("{low}{}{high}", " ".repeat(room.max(1)));
    lines.push(Line::from(painted(&axis, Emphasis::Dim, page.style)));
    Section::new(6, &heading(page), lines, page.style)
}

fn heading(page: &Shown<'_>) -> String {
    match page.report.steps {
        Some(steps) => format!(
            "step time: median {}, p95 {}",
            units::duration(steps.p50_s),
            units::duration(steps.p95_s)
        ),
        None => "step time".to_owned(),
    }
}
