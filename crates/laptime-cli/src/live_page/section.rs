//! Sections: the parts of the page, each some lines with a heading.

use ratatui_core::style::{Color, Modifier, Style as Paint};
use ratatui_core::text::{Line, Span};

use crate::text::{Emphasis, Style};

/// A part of the page.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    /// Where there is no room for all, those with the lowest rank go.
    pub(super) rank: u8,
    pub(super) lines: Vec<Line<'static>>,
}

impl Section {
    /// A part with a heading; `None` where it has nothing to show.
    pub(super) fn new(rank: u8, heading: &str, lines: Vec<Line<'static>>, style: Style) -> Option<Self> {
        if lines.is_empty() {
            return None;
        }
        let heading = Line::from(painted(heading, Emphasis::Bold, style));
        Some(Self { rank, lines: std::iter::once(heading).chain(lines).collect() })
    }
}

/// A piece of text as the rest of laptime paints it.
pub(super) fn painted(text: &str, emphasis: Emphasis, style: Style) -> Span<'static> {
    Span::styled(style.fitted(text), paint(emphasis, style))
}

fn paint(emphasis: Emphasis, style: Style) -> Paint {
    let plain = Paint::new();
    if !style.color {
        return plain;
    }
    match emphasis {
        Emphasis::Plain => plain,
        Emphasis::Bold => plain.add_modifier(Modifier::BOLD),
        Emphasis::Dim => plain.add_modifier(Modifier::DIM),
        Emphasis::Good => plain.fg(Color::Green),
        Emphasis::Bad => plain.fg(Color::Red),
        Emphasis::Notice => plain.fg(Color::Yellow),
        Emphasis::Color(number) => plain.fg(Color::Indexed(number)),
    }
}

/// Amounts as letters of rising height, the highest of them as high as they go.
pub(super) fn heights(amounts: &[f64], style: Style) -> String {
    let highest = amounts.iter().copied().fold(0.0, f64::max);
    amounts.iter().map(|amount| height(amount / highest, style)).collect()
}

/// A letter as high as a share of a line.
pub(super) fn height(share: f64, style: Style) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 9] = [' ', '.', '.', ':', ':', '+', '+', '#', '#'];
    let letters = if style.unicode { BLOCKS } else { ASCII };
    let least = if share > 0.0 { 1 } else { 0 };
    let at = (share.clamp(0.0, 1.0) * 8.0).round() as usize;
    letters[at.clamp(least, 8)]
}
