//! Reading blocks in parallel and writing them in order.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use laptime_load::pack::{ColumnData, PackSchema, PackSummary, PackWriter, RowBlock};

use super::error::SourceError;
use super::source::PackSource;
use super::watch::PackWatch;

/// Blocks a thread may be ahead of the writer: one in the making and one that waits.
const AHEAD: usize = 2;

/// How long a wait may be before the wish to stop is looked at again.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

type Outcome = Result<Option<RowBlock>, SourceError>;

/// Reads a source with so many threads and writes all its rows, in their order, whatever thread read them. Rows that
/// the writer has from an earlier attempt are not written again.
///
/// # Errors
/// The first trouble in the order of the rows. What was written stays beside the target.
pub fn write_pack(
    source: &dyn PackSource,
    writer: PackWriter,
    threads: usize,
    watch: &PackWatch,
) -> Result<PackSummary, SourceError> {
    let mut rows = Unwritten::new(writer.resumed_rows());
    watch.set_rows(writer.resumed_rows());
    let first = rows.skip_known(source);
    let mut hand = Hand { rows, writer, watch, block: first };
    // A thread without a block would still start what it reads with, such as a Python.
    let most = source.most_threads().min(source.blocks().unwrap_or(usize::MAX)).max(1);
    let threads = threads.clamp(1, most);
    loop {
        match hand.write_from_here(source, threads) {
            Err(SourceError::CutAgain) => source.cut_again(hand.block)?,
            result => break result?,
        }
    }
    Ok(hand.writer.finish()?)
}

/// The writing side: what is done, and what comes next.
struct Hand<'a> {
    rows: Unwritten,
    writer: PackWriter,
    watch: &'a PackWatch,
    /// The block to write next.
    block: usize,
}

impl Hand<'_> {
    fn write_from_here(&mut self, source: &dyn PackSource, threads: usize) -> Result<(), SourceError> {
        let desk = Desk::new(self.block);
        thread::scope(|scope| {
            // Whatever ends the writing ends the reading too.
            let _closing = Closing { desk: &desk, source };
            for _ in 0..threads {
                thread::Builder::new()
                    .name("laptime-pack".into())
                    .spawn_scoped(scope, || read_blocks(source, &desk, threads * AHEAD))
                    .map_err(|source| laptime_load::LoadError::NoThread { source })?;
            }
            while source.blocks().is_none_or(|blocks| self.block < blocks) {
                let Some(read) = desk.take(self.block, self.watch)? else { break };
                write_rest(&mut self.rows, source.schema(), read, &mut self.writer)?;
                self.block += 1;
                self.watch.set_rows(self.rows.seen.max(self.rows.written));
                self.watch.set_done(self.block as u64, source.blocks().unwrap_or(0) as u64);
            }
            Ok(())
        })
    }
}

fn write_rest(
    rows: &mut Unwritten,
    schema: &PackSchema,
    block: RowBlock,
    writer: &mut PackWriter,
) -> Result<(), SourceError> {
    let count = block.rows as u64;
    let known = rows.written.saturating_sub(rows.seen).min(count);
    rows.seen += count;
    if known == count {
        return Ok(());
    }
    let block = if known == 0 { block } else { without_first(block, known as usize, schema) };
    Ok(writer.write(&block)?)
}

/// Which rows an earlier attempt has written.
struct Unwritten {
    written: u64,
    seen: u64,
}

impl Unwritten {
    fn new(written: u64) -> Self {
        Self { written, seen: 0 }
    }

    /// Passes over whole blocks that need not be read, and says which is the first that must.
    fn skip_known(&mut self, source: &dyn PackSource) -> usize {
        let mut block = 0;
        while source.blocks().is_none_or(|blocks| block < blocks) {
            match source.rows_of(block) {
                Some(rows) if self.seen + rows <= self.written => self.seen += rows,
                _ => break,
            }
            block += 1;
        }
        block
    }
}

/// The block without its first rows.
fn without_first(block: RowBlock, rows: usize, schema: &PackSchema) -> RowBlock {
    let cut = |(data, column): (ColumnData, &laptime_load::pack::Column)| match data {
        ColumnData::Fixed(mut bytes) => {
            bytes.drain(..rows * column.kind.row_bytes().unwrap_or(0));
            ColumnData::Fixed(bytes)
        }
        ColumnData::Variable { mut ends, mut bytes } => {
            let start = rows.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0);
            ends.drain(..rows);
            ends.iter_mut().for_each(|end| *end -= start);
            bytes.drain(..start as usize * column.kind.element().bytes());
            ColumnData::Variable { ends, bytes }
        }
    };
    let columns = block.columns.into_iter().zip(&schema.columns).map(cut).collect();
    RowBlock { rows: block.rows - rows, columns }
}

/// Where readers put blocks and the writer takes them.
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The block that the next free reader reads.
    next: usize,
    /// The block that the writer waits for.
    wanted: usize,
    read: BTreeMap<usize, Outcome>,
    closed: bool,
}

/// Closes the desk when the writer leaves, however it leaves.
struct Closing<'a> {
    desk: &'a Desk,
    source: &'a dyn PackSource,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.desk.lock().closed = true;
        self.desk.changed.notify_all();
        self.source.cancel();
    }
}

impl Desk {
    fn new(first: usize) -> Self {
        let state = State { next: first, wanted: first, read: BTreeMap::new(), closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half-done while it is locked, so a panic elsewhere does not matter.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, LOOK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0
    }

    /// The next block to read, as soon as it is not too far ahead; `None` when no more is wanted.
    fn assign(&self, window: usize) -> Option<usize> {
        let mut state = self.lock();
        while !state.closed && state.next >= state.wanted + window {
            state = self.wait(state);
        }
        let block = state.next;
        state.next += 1;
        (!state.closed).then_some(block)
    }

    fn put(&self, block: usize, outcome: Outcome) {
        self.lock().read.insert(block, outcome);
        self.changed.notify_all();
    }

    /// The block, once it is read.
    fn take(&self, block: usize, watch: &PackWatch) -> Outcome {
        let mut state = self.lock();
        state.wanted = block;
        self.changed.notify_all();
        loop {
            if watch.stopped() {
                return Err(SourceError::Stopped);
            }
            if let Some(outcome) = state.read.remove(&block) {
                return outcome;
            }
            state = self.wait(state);
        }
    }
}

/// What a reading thread does.
fn read_blocks(source: &dyn PackSource, desk: &Desk, window: usize) {
    let mut reader = None;
    while let Some(block) = desk.assign(window) {
        let read = || {
            if reader.is_none() {
                reader = Some(source.reader()?);
            }
            reader.as_mut().map_or(Ok(None), |reader| reader.read(block))
        };
        let outcome = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
            let problem = format!("reading block {block} failed by a bug of laptime");
            Err(SourceError::unfit(
                problem,
                "pack with --threads 1, and report it with the command you typed",
            ))
        });
        let is_last = !matches!(outcome, Ok(Some(_)));
        desk.put(block, outcome);
        if is_last {
            return;
        }
    }
}
