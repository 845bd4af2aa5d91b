//! Spans in the order of their begins, though they are on record in the order of their ends.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::mem;

use laptime_core::{StageId, Ticks};

/// Spans held back of each lane. Only a span with more than so many within it comes too late to be put in its place,
/// so there are few of those, and a first reading finds them.
const HELD: usize = 4096;

/// A stretch of a stage; one without an end was open when the log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) start: Ticks,
    pub(super) end: Option<Ticks>,
    pub(super) stage: StageId,
}

/// By begin; of those that begin together the longest first, and of equal ones the last on record, which is around the
/// others.
type Key = (Ticks, Reverse<Ticks>, Reverse<u64>);

/// Sorts the spans of one lane in bounded memory.
#[derive(Default)]
pub(super) struct InOrder {
    held: BinaryHeap<Reverse<(Key, StageId)>>,
    given: u64,
    /// What was passed on last.
    passed: Option<Key>,
    /// Those that come too late, the next one last.
    late: Vec<(Key, Stretch)>,
    /// What those are known by when they come.
    early: HashSet<(Ticks, StageId)>,
}

impl InOrder {
    /// Takes the next span of the first reading.
    pub(super) fn scan(&mut self, span: Stretch) {
        let key = self.next_key(&span);
        if self.passed.is_some_and(|passed| key < passed) {
            self.late.push((key, span));
            return;
        }
        self.held.push(Reverse((key, span.stage)));
        if self.held.len() > HELD {
            self.passed = self.held.pop().map(|Reverse((key, _))| key);
        }
    }

    /// Ends the first reading; `open` are the stages that never ended, from the outermost.
    pub(super) fn scanned(&mut self, open: &[Stretch]) {
        let mut late = mem::take(&mut self.late);
        for span in open.iter().rev() {
            late.push((self.next_key(span), *span));
        }
        late.sort_by(|(a, _), (b, _)| b.cmp(a));
        let early = late.iter().map(|(_, span)| (span.start, span.stage)).collect();
        *self = Self { late, early, ..Self::default() };
    }

    /// Takes the next span of the second reading, and gives those that are next in order.
    pub(super) fn take(&mut self, span: Stretch, sink: &mut dyn FnMut(Stretch)) {
        let key = self.next_key(&span);
        if !self.early.is_empty() && self.early.contains(&(span.start, span.stage)) {
            return;
        }
        self.held.push(Reverse((key, span.stage)));
        if self.held.len() > HELD {
            self.pass(sink);
        }
    }

    /// Gives what is left.
    pub(super) fn finish(&mut self, sink: &mut dyn FnMut(Stretch)) {
        while !self.held.is_empty() {
            self.pass(sink);
        }
        while let Some((_, late)) = self.late.pop() {
            sink(late);
        }
    }

    fn pass(&mut self, sink: &mut dyn FnMut(Stretch)) {
        let Some(Reverse((key, stage))) = self.held.pop() else { return };
        while let Some((_, late)) = self.late.pop_if(|(late, _)| *late < key) {
            sink(late);
        }
        let (start, Reverse(end), _) = key;
        sink(Stretch { start, end: Some(end), stage });
    }

    fn next_key(&mut self, span: &Stretch) -> Key {
        self.given += 1;
        (span.start, Reverse(span.end.unwrap_or(Ticks(u64::MAX))), Reverse(self.given))
    }
}
