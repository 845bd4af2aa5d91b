//! The stages of one lane, as rows in time order.

use laptime_core::{LaneState, Ticks};

use super::in_order::{InOrder, Stretch};
use super::nest::{Nest, Turn};
use super::{Row, Slice, What};

/// The stages of one lane.
#[derive(Default)]
pub(super) struct LaneRows {
    order: InOrder,
    nest: Nest,
    /// Where it stood last in the first reading.
    state: Option<LaneState>,
}

/// Takes what happens in a row of a lane.
pub(super) type Sink<'s> = dyn FnMut(Row, Ticks, What) + 's;

impl LaneRows {
    pub(super) fn scan(&mut self, span: Stretch) {
        self.order.scan(span);
    }

    pub(super) fn scan_state(&mut self, state: &LaneState) {
        self.state = Some(state.clone());
    }

    /// Ends the first reading; what was open when the log ended never ends.
    pub(super) fn scanned(&mut self, has_ended: bool) {
        let open = self.state.take().filter(|_| !has_ended).map(|state| state.open).unwrap_or_default();
        // The outermost is what the time belongs to that no stage claims.
        let open =
            open.iter().skip(1).map(|open| Stretch { start: open.start, end: None, stage: open.stage });
        self.order.scanned(&open.collect::<Vec<_>>());
    }

    pub(super) fn take(&mut self, lane: u32, span: Stretch, sink: &mut Sink<'_>) {
        let Self { order, nest, .. } = self;
        order.take(span, &mut |span| place(nest, lane, span, sink));
    }

    pub(super) fn finish(&mut self, lane: u32, sink: &mut Sink<'_>) {
        let Self { order, nest, .. } = self;
        order.finish(&mut |span| place(nest, lane, span, sink));
        nest.finish(&mut |beside, turn| turned(Row::Stages { lane, beside }, turn, None, sink));
    }
}

fn place(nest: &mut Nest, lane: u32, span: Stretch, sink: &mut Sink<'_>) {
    let slice = Some(Slice::Stage(span.stage));
    nest.place(span.start, span.end, &mut |beside, turn| {
        turned(Row::Stages { lane, beside }, turn, slice, sink);
    });
}

/// Passes on what happened in a row; `slice` is what begins.
pub(super) fn turned(row: Row, turn: Turn, slice: Option<Slice>, sink: &mut Sink<'_>) {
    match (turn, slice) {
        (Turn::Begin(at), Some(slice)) => sink(row, at, What::Begin(slice)),
        (Turn::Begin(_), None) => {}
        (Turn::End(at), _) => sink(row, at, What::End),
    }
}
