//! Fold: the boundaries of one device's streams as rows of its ledger.

use std::collections::{BTreeMap, VecDeque};

use laptime_core::{FIRST_USER_STAGE, StageId, Ticks};

use crate::device_rows::{DeviceRow, DeviceRows};

/// The least backlog that says that work was ahead of the device: an event and its reading take some of it.
const LEAST_BACKLOG_NS: f64 = 30_000.0;
/// The least backlog, as a part of the time that the host took to launch.
const LEAST_BACKLOG_PART: u64 = 10;
/// Pieces kept until a mark settles them; a mark may be recorded long after the moment that it is of.
const MOST_PIECES: usize = 65_536;

/// A boundary: the device had done all that it was given until `host` at `done`, and works for `stage` next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// What the host launches from here on.
    pub(crate) stage: StageId,
    /// When the host passed.
    pub(crate) host: Ticks,
    /// When the device did.
    pub(crate) done: Ticks,
}

/// One stream. Those beside the first one that never compute only copy.
#[derive(Clone, Copy, Debug)]
struct Stream {
    computes: bool,
    newest: Passed,
}

/// Some time of the device on one row.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: Ticks,
    end: Ticks,
    row: DeviceRow,
    /// Whether it is part of a step that was looked at.
    of_step: bool,
    /// When the host had launched all of it.
    launched: Ticks,
}

/// One device, folded.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceFold {
    streams: BTreeMap<u16, Stream>,
    /// The newest boundary of the streams that compute, which are one sequence.
    newest: Option<Passed>,
    /// When its first boundary was passed.
    first: Option<Ticks>,
    /// Whether the host waited for it since it last had work ahead, and whether it did so just before the newest
    /// boundary.
    synced: bool,
    waited: bool,
    /// Whether an epoch has ended and none has begun since.
    between_epochs: bool,
    pieces: VecDeque<Piece>,
    /// Copies on streams that only copy, in time order, none of them twice.
    copies: VecDeque<(Ticks, Ticks)>,
    copied_until: Ticks,
    side_copies: Ticks,
    exposed_copies: Ticks,
    rows: DeviceRows,
    looked: DeviceRows,
    /// Boundaries of streams that compute.
    pub(crate) boundaries: u64,
}

impl DeviceFold {
    /// Takes the next boundary of a stream; gives it back where the stream is one that computes.
    pub(crate) fn take(&mut self, number: u16, passed: Passed, ns_per_tick: f64) -> Option<Passed> {
        let known = self.streams.get(&number).copied();
        let computes = known.map_or(number == 0 && passed.stage != StageId::HOST_TO_DEVICE, |known| {
            known.computes || begins_to_compute(known.newest.stage, passed.stage)
        });
        self.streams.insert(number, Stream { computes, newest: passed });
        if !computes {
            if let Some(known) = known.filter(|known| known.newest.stage == StageId::HOST_TO_DEVICE) {
                self.take_copy(known.newest.done, passed.done);
            }
            return None;
        }
        Some(self.take_main(passed, ns_per_tick))
    }

    fn take_copy(&mut self, start: Ticks, end: Ticks) {
        let start = start.max(self.copied_until);
        if start < end {
            self.side_copies = self.side_copies.plus(end.since(start));
            self.copied_until = end;
            self.copies.push_back((start, end));
            if self.copies.len() > MOST_PIECES {
                self.copies.pop_front();
            }
        }
    }

    fn take_main(&mut self, passed: Passed, ns_per_tick: f64) -> Passed {
        self.boundaries += 1;
        let before = self.newest;
        // Streams that compute side by side are in order each; together they are read as one.
        let host = before.map_or(passed.host, |before| before.host.max(passed.host));
        let done = before.map_or(passed.done, |before| before.done.max(passed.done)).max(host);
        let next = Passed { host, done, ..passed };
        self.first.get_or_insert(done);
        if let Some(before) = before {
            self.label(before, next, ns_per_tick);
        }
        let least = least_ticks(ns_per_tick);
        if done.since(host) > least {
            self.synced = false;
        }
        self.waited = before.is_some_and(|before| before.stage == StageId::DEVICE_WAIT);
        self.synced |= next.stage == StageId::DEVICE_WAIT;
        self.newest = Some(next);
        next
    }

    /// What the device did between two boundaries.
    fn label(&mut self, from: Passed, to: Passed, ns_per_tick: f64) {
        let ahead = to.host <= from.done;
        let stage = from.stage;
        let mut push = |start: Ticks, end: Ticks, row| {
            if start < end {
                let of_step = is_of_steps(stage);
                self.pieces.push_back(Piece { start, end, row, of_step, launched: to.host });
            }
        };
        // A loss that was read has been computed: what is left of its stage launches nothing.
        let kind = if self.waited && stage == StageId::LOSS { Kind::Beside } else { kind(stage) };
        match kind {
            Kind::Is(row) => push(from.done, to.done, row),
            Kind::Launches => {
                let launching = to.host.since(from.host.max(from.done)).0;
                let least = least_ticks(ns_per_tick).max(Ticks(launching / LEAST_BACKLOG_PART));
                let busy = ahead || to.done.since(to.host) > least;
                let row = if busy { DeviceRow::Busy(stage) } else { DeviceRow::Drained(stage) };
                push(from.done, to.done, row);
            }
            Kind::Beside if ahead => push(from.done, to.done, DeviceRow::Busy(stage)),
            Kind::Beside => {
                let dry = to.host.min(to.done);
                let idle = if self.synced { DeviceRow::IdleSync } else { DeviceRow::IdleHost };
                push(from.done, dry, idle);
                push(dry, to.done, DeviceRow::Busy(stage));
            }
        }
        while self.pieces.len() > MOST_PIECES {
            let Some(oldest) = self.pieces.front().map(|piece| piece.end) else { break };
            self.advance(oldest);
        }
    }

    /// Settles what lies before an instant: no mark will come before it. The rows are then those at the instant.
    pub(crate) fn advance(&mut self, until: Ticks) {
        while let Some(piece) = self.pieces.front().copied().filter(|piece| piece.start < until) {
            let end = piece.end.min(until);
            self.settle(Piece { end, ..piece });
            match self.pieces.front_mut() {
                Some(front) if end < front.end => front.start = end,
                _ => drop(self.pieces.pop_front()),
            }
        }
    }

    /// An epoch has begun, or ended, where the device was last advanced to.
    pub(crate) fn mark(&mut self, between_epochs: bool) {
        self.between_epochs = between_epochs;
    }

    fn settle(&mut self, piece: Piece) {
        // Between epochs there are no steps that were not looked at: until the host launched something it was idle.
        if piece.row == DeviceRow::Unseen && self.between_epochs && piece.launched > piece.start {
            let dry = piece.launched.min(piece.end);
            self.settle(Piece { end: dry, row: DeviceRow::IdleHost, ..piece });
            return self.settle(Piece { start: dry, launched: dry, ..piece });
        }
        let copied = if piece.row.is_idle() { self.copied(piece.start, piece.end) } else { Ticks(0) };
        let rest = piece.end.since(piece.start).since(copied);
        self.exposed_copies = self.exposed_copies.plus(copied);
        for (row, length) in [(DeviceRow::Copy, copied), (piece.row, rest)] {
            self.rows.add(row, length);
            if piece.of_step {
                self.looked.add(row, length);
            }
        }
    }

    /// How much of a time side streams copied in; times are asked for in order.
    fn copied(&mut self, start: Ticks, end: Ticks) -> Ticks {
        while self.copies.front().is_some_and(|copy| copy.1 <= start) {
            self.copies.pop_front();
        }
        let overlaps = self.copies.iter().take_while(|copy| copy.0 < end);
        overlaps.fold(Ticks(0), |sum, copy| sum.plus(copy.1.min(end).since(copy.0.max(start))))
    }

    /// Its rows up to the instant it was last advanced to.
    pub(crate) fn rows(&self) -> &DeviceRows {
        &self.rows
    }

    /// The same of the steps that were looked at alone.
    pub(crate) fn looked(&self) -> &DeviceRows {
        &self.looked
    }

    /// Copies on streams that only copy while something else was done.
    pub(crate) fn overlapped_copies(&self) -> Ticks {
        self.side_copies.since(self.exposed_copies)
    }

    /// From its first boundary to its newest.
    pub(crate) fn extent(&self) -> Option<(Ticks, Ticks)> {
        Some((self.first?, self.newest?.done))
    }
}

/// Whether a stream computes from this label on: the one after a copy or a wait only says that it has ended.
fn begins_to_compute(before: StageId, stage: StageId) -> bool {
    let computing = [StageId::FORWARD, StageId::BACKWARD, StageId::OPTIMIZER];
    // A compiled function or a captured step is a stage of its own.
    let computes = computing.contains(&stage) || stage.0 >= FIRST_USER_STAGE;
    computes && ![StageId::HOST_TO_DEVICE, StageId::DEVICE_WAIT].contains(&before)
}

fn least_ticks(ns_per_tick: f64) -> Ticks {
    let ns_per_tick = if ns_per_tick > 0.0 { ns_per_tick } else { 1.0 };
    Ticks((LEAST_BACKLOG_NS / ns_per_tick) as u64)
}

/// What a stage of the host means for a device.
enum Kind {
    /// Always the same.
    Is(DeviceRow),
    /// The host launches work.
    Launches,
    /// The host does something else, with little for the device to do.
    Beside,
}

fn kind(stage: StageId) -> Kind {
    match stage {
        StageId::UNACCOUNTED => Kind::Is(DeviceRow::Unseen),
        StageId::HOST_TO_DEVICE => Kind::Is(DeviceRow::Copy),
        StageId::COMMUNICATION => Kind::Is(DeviceRow::Communication),
        StageId::DATA_WAIT => Kind::Is(DeviceRow::IdleData),
        StageId::DEVICE_WAIT => Kind::Is(DeviceRow::IdleSync),
        StageId::PREPARE
        | StageId::AFTER_UPDATE
        | StageId::CALLBACKS
        | StageId::CHECKPOINT
        | StageId::GARBAGE_COLLECTION
        | StageId::BETWEEN_EPOCHS
        | StageId::START_UP
        | StageId::IMPORTS
        | StageId::TEAR_DOWN => Kind::Beside,
        _ => Kind::Launches,
    }
}

/// Whether a step that was not looked at may have it.
fn is_of_steps(stage: StageId) -> bool {
    const BESIDE: [StageId; 7] = [
        StageId::UNACCOUNTED,
        StageId::EVALUATE,
        StageId::CHECKPOINT,
        StageId::BETWEEN_EPOCHS,
        StageId::START_UP,
        StageId::IMPORTS,
        StageId::TEAR_DOWN,
    ];
    !BESIDE.contains(&stage)
}
