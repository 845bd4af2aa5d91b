//! Slices in rows within which they nest.

use laptime_core::Ticks;

/// The rows of slices that come in the order of their begins.
#[derive(Default)]
pub(super) struct Nest {
    rows: Vec<NestRow>,
}

#[derive(Default)]
struct NestRow {
    /// Ends of the open slices, from the outermost; `None` of one that never ended.
    open: Vec<Option<Ticks>>,
    /// The newest instant of the row.
    newest: Ticks,
}

/// What happens in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The slice that was placed begins.
    Begin(Ticks),
    /// The innermost slice ends.
    End(Ticks),
}

impl Nest {
    /// Begins a slice in the first row where it is within what is open, after ending what ended before it.
    pub(super) fn place(&mut self, start: Ticks, end: Option<Ticks>, sink: &mut dyn FnMut(u16, Turn)) {
        let fits = |row: &mut NestRow, at: u16, sink: &mut dyn FnMut(u16, Turn)| {
            row.end_until(start, &mut |turn| sink(at, turn));
            row.newest <= start && row.open.last().is_none_or(|around| is_within(end, *around))
        };
        let found = (0_u16..).zip(&mut self.rows).find_map(|(at, row)| fits(row, at, sink).then_some(at));
        let at = found.unwrap_or_else(|| {
            self.rows.push(NestRow::default());
            u16::try_from(self.rows.len() - 1).unwrap_or(u16::MAX)
        });
        if let Some(row) = self.rows.get_mut(usize::from(at)) {
            row.open.push(end);
            row.newest = start;
            sink(at, Turn::Begin(start));
        }
    }

    /// Ends all that is open and has an end.
    pub(super) fn finish(&mut self, sink: &mut dyn FnMut(u16, Turn)) {
        for (at, row) in (0_u16..).zip(&mut self.rows) {
            row.end_until(Ticks(u64::MAX), &mut |turn| sink(at, turn));
        }
    }
}

impl NestRow {
    fn end_until(&mut self, until: Ticks, sink: &mut dyn FnMut(Turn)) {
        while let Some(Some(end)) = self.open.pop_if(|end| end.is_some_and(|end| end <= until)) {
            self.newest = self.newest.max(end);
            sink(Turn::End(end));
        }
    }
}

/// Whether a slice with that end is within one with another.
fn is_within(end: Option<Ticks>, around: Option<Ticks>) -> bool {
    match (end, around) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(end), Some(around)) => end <= around,
    }
}
