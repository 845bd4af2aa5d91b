//! What ratatui draws on: cells become the codes that every terminal knows.

use std::fmt::Write;
use std::io;

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

use super::tty::Tty;

/// A terminal that is written to in one piece.
pub(super) struct Ansi {
    tty: Tty,
    pending: String,
    cursor: Position,
}

impl Ansi {
    pub(super) fn on(tty: Tty) -> Self {
        Self { tty, pending: String::new(), cursor: Position::ORIGIN }
    }

    pub(super) fn tty(&self) -> &Tty {
        &self.tty
    }
}

impl Backend for Ansi {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        put(content, &mut self.pending);
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        // It is hidden as long as the page is there.
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.pending.push_str("\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let (width, height) = self.tty.size();
        Ok(Size { width, height })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = match self.pending.is_empty() {
            true => Ok(()),
            false => self.tty.write(self.pending.as_bytes()),
        };
        self.pending.clear();
        written
    }
}

/// The codes that bring cells onto the screen.
fn put<'a>(cells: impl Iterator<Item = (u16, u16, &'a Cell)>, out: &mut String) {
    let mut next = None;
    let mut painted = (Color::Reset, Modifier::empty());
    for (x, y, cell) in cells {
        if next != Some((x, y)) {
            let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
        }
        if painted != (cell.fg, cell.modifier) {
            painted = (cell.fg, cell.modifier);
            paint(painted, out);
        }
        out.push_str(cell.symbol());
        // How wide a terminal draws other letters is known to the terminal alone.
        let is_narrow =
            cell.symbol().chars().all(|letter| letter.is_ascii() || ('─'..='▟').contains(&letter));
        next = is_narrow.then_some((x + 1, y));
    }
    out.push_str("\x1b[0m");
}

fn paint((color, modifier): (Color, Modifier), out: &mut String) {
    out.push_str("\x1b[0");
    for (one, code) in [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2")] {
        out.push_str(if modifier.contains(one) { code } else { "" });
    }
    match color {
        Color::Red => out.push_str(";31"),
        Color::Green => out.push_str(";32"),
        Color::Yellow => out.push_str(";33"),
        Color::Indexed(number) => {
            let _ = write!(out, ";38;5;{number}");
        }
        _ => {}
    }
    out.push('m');
}

#[cfg(test)]
mod tests {
    use ratatui_core::buffer::Buffer;
    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    use super::*;

    #[test]
    fn neighbours_need_no_move_and_a_colour_is_set_once() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 2));
        buffer.set_string(1, 1, "ab漢", Style::new().fg(Color::Indexed(74)));
        let cells: Vec<_> = (1..4_u16).map(|x| (x, 1, &buffer[(x, 1)])).collect();
        let mut out = String::new();
        put(cells.into_iter(), &mut out);
        assert_eq!(out, "\x1b[2;2H\x1b[0;38;5;74mab漢\x1b[0m");
    }
}
