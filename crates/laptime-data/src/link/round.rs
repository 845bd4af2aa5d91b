//! A round of measuring: so many sessions fetch at the same time, and the bytes are read off as they arrive.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::remote::{Opening, Protocol, Session};
use crate::source::{Object, SourceError};
use crate::survey::Watch;

use super::curve::{Mark, is_steady};
use super::streams::Seen;

/// How often bytes are read off.
const READ_OFF: Duration = Duration::from_millis(5);

/// How long sessions may take to be opened and to send a first byte.
const LONGEST_OPENING: Duration = Duration::from_secs(10);

/// What a round may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    pub(super) bytes: u64,
    pub(super) time: Duration,
    /// How many times that it may take where the rate is not steady yet.
    pub(super) patience: f64,
}

/// The objects of a place, fetched one after the other and again from the first.
pub(super) struct Work<'a> {
    objects: &'a [Object],
    next: AtomicUsize,
}

impl<'a> Work<'a> {
    pub(super) fn new(objects: &'a [Object]) -> Self {
        Self { objects, next: AtomicUsize::new(0) }
    }

    /// The next object and the part of it that is fetched: of a large one, from somewhere within to its end.
    fn next(&self, enough: u64) -> Option<(&'a str, Range<u64>)> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let object = self.objects.get(turn % self.objects.len().max(1))?;
        let bytes = object.bytes?;
        let spare = bytes.saturating_sub(enough);
        // Steps of the golden ratio spread the beginnings, whatever their number.
        let share = (turn as f64 * 0.618_034).fract();
        let start = if spare > enough { (spare as f64 * share) as u64 } else { 0 };
        Some((&object.name, start..bytes))
    }
}

/// What came of a round.
pub(super) struct Round {
    pub(super) seen: Seen,
    pub(super) openings: Vec<Opening>,
    pub(super) first_bytes: Vec<Duration>,
    pub(super) bytes: u64,
    pub(super) took: Duration,
    /// Some of the first bytes that came.
    pub(super) sample: Vec<u8>,
    pub(super) error: Option<SourceError>,
}

impl Board<'_> {
    fn most_bytes(&self) -> u64 {
        (self.allowance.bytes as f64 * self.allowance.patience) as u64
    }
}

/// What the sessions of a round write to.
struct Board<'a> {
    work: &'a Work<'a>,
    allowance: Allowance,
    over: AtomicBool,
    bytes: AtomicU64,
    busy: AtomicUsize,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    openings: Vec<Opening>,
    first_bytes: Vec<Duration>,
    objects: u64,
    sample: Vec<u8>,
    error: Option<SourceError>,
}

/// Bytes kept to see how small they can be made.
pub(super) const SAMPLE: usize = 1 << 20;

/// Fetches with so many sessions until the allowance is used up.
pub(super) fn round(
    protocol: &dyn Protocol,
    work: &Work<'_>,
    streams: u32,
    allowance: Allowance,
    watch: &Watch,
) -> Round {
    let board = Board {
        work,
        allowance,
        over: AtomicBool::new(false),
        bytes: AtomicU64::new(0),
        busy: AtomicUsize::new(streams as usize),
        found: Mutex::default(),
    };
    let started = Instant::now();
    let marks = thread::scope(|scope| {
        for _ in 0..streams {
            let fetcher = || {
                fetch(protocol, &board);
                board.busy.fetch_sub(1, Ordering::AcqRel);
            };
            if thread::Builder::new().spawn_scoped(scope, fetcher).is_err() {
                board.busy.fetch_sub(1, Ordering::AcqRel);
            }
        }
        let marks = read_off(&board, started, watch);
        board.over.store(true, Ordering::Release);
        marks
    });
    let took = Duration::from_secs_f64(marks.last().map_or(0.0, |mark| mark.seconds));
    let bytes = board.bytes.load(Ordering::Acquire);
    let found = board.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Round {
        seen: Seen { marks, objects: found.objects },
        openings: found.openings,
        first_bytes: found.first_bytes,
        bytes,
        took,
        sample: found.sample,
        error: found.error,
    }
}

/// Reads off the bytes until enough of them or of time is over.
fn read_off(board: &Board<'_>, started: Instant, watch: &Watch) -> Vec<Mark> {
    let mut marks = vec![Mark { seconds: 0.0, bytes: 0.0 }];
    let allowance = board.allowance;
    let (mut share, mut flows_since) = (1.0, None);
    loop {
        thread::sleep(READ_OFF);
        let (bytes, time) = (board.bytes.load(Ordering::Acquire), started.elapsed());
        marks.push(Mark { seconds: time.as_secs_f64(), bytes: bytes as f64 });
        if bytes > 0 && flows_since.is_none() {
            flows_since = Some(time);
        }
        // Being let in has limits of its own and no part in the time.
        let flows = flows_since.map_or(time.saturating_sub(LONGEST_OPENING), |since| time - since);
        let enough = bytes as f64 >= share * allowance.bytes as f64 || flows >= allowance.time.mul_f64(share);
        // Once nobody fetches any more, marks without bytes would look like a rate of nothing.
        let over = board.over.load(Ordering::Acquire) || board.busy.load(Ordering::Acquire) == 0;
        if over || watch.stopped() || (enough && (share >= allowance.patience || is_steady(&marks))) {
            return marks;
        }
        // A stream that started slowly, or lost too much at once, needs longer to show its rate.
        if enough {
            share = (1.2 * share).min(allowance.patience);
        }
    }
}

fn fetch(protocol: &dyn Protocol, board: &Board<'_>) {
    let fetch_all = || {
        let mut session = protocol.open()?;
        found(board).openings.push(session.opening());
        let mut idle = 0;
        while !board.over.load(Ordering::Acquire) && idle < 100 {
            let Some((name, range)) = board.work.next(board.most_bytes()) else { break };
            idle = if fetch_one(&mut *session, name, range, board)? { 0 } else { idle + 1 };
        }
        Ok(())
    };
    let result: Result<(), SourceError> = fetch_all();
    if let Err(error) = result {
        found(board).error.get_or_insert(error);
    }
}

/// Fetches an object; whether anything came of it.
fn fetch_one(
    session: &mut dyn Session,
    name: &str,
    range: Range<u64>,
    board: &Board<'_>,
) -> Result<bool, SourceError> {
    let mut sample = Vec::new();
    let room = SAMPLE.saturating_sub(found(board).sample.len());
    let fetched = session.fetch(name, range, &mut |piece| {
        let bytes = board.bytes.fetch_add(piece.len() as u64, Ordering::AcqRel);
        // Who reads off may be late; what was allowed is not exceeded for that.
        if bytes > board.most_bytes() {
            board.over.store(true, Ordering::Release);
        }
        let wanted = room.saturating_sub(sample.len()).min(piece.len());
        sample.extend_from_slice(&piece[..wanted]);
        if board.over.load(Ordering::Acquire) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let mut found = found(board);
    if found.sample.len() < SAMPLE {
        found.sample.append(&mut sample);
    }
    match fetched {
        Ok(fetched) => {
            found.objects += 1;
            found.first_bytes.push(fetched.first_byte);
            Ok(fetched.bytes > 0)
        }
        // An object that went away says nothing about the link.
        Err(SourceError::NotFound | SourceError::Denied(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

fn found<'a>(board: &'a Board<'_>) -> std::sync::MutexGuard<'a, Found> {
    board.found.lock().unwrap_or_else(PoisonError::into_inner)
}
