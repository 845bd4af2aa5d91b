//! The Loader: batches of a pack as fast as memory allows, in one process.
//!
//! A batch is a function of seed, epoch and number (`recipe`), so it does not matter who makes it: cheap batches are
//! made when they are asked for, others ahead by threads (`workers`). Resuming costs nothing.
//!
//! ```no_run
//! use laptime_load::loader::{Loader, LoaderOptions, Shuffle};
//!
//! let options = LoaderOptions { batch_size: 256, shuffle: Shuffle::Exact, ..LoaderOptions::default() };
//! let mut loader = Loader::open("train.pack", options)?;
//! for _epoch in 0..10 {
//!     while let Some(batch) = loader.next()? {
//!         let features = &batch.arrays[0];
//!         assert_eq!(features.shape[0], 256);
//!     }
//! }
//! # Ok::<(), laptime_load::loader::LoaderError>(())
//! ```

mod batch;
mod column_layout;
mod epoch_order;
mod error;
mod gather;
mod memory;
mod options;
mod permutation;
mod recipe;
mod sequence;
mod shard;
mod state;
mod stopwatch;
mod workers;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use batch::{BatchArray, LoadedBatch};
pub use column_layout::ColumnLayout;
pub use epoch_order::Shuffle;
pub use error::LoaderError;
pub use memory::{ALIGNMENT, AlignedMemory};
pub use options::{LoaderOptions, Subset};
pub use state::LoaderState;

use crate::pack::Pack;
use column_layout::{Way, layouts, plans};
use memory::Pool;
use recipe::{Recipe, Ticket, Workspace};
use stopwatch::{LOOK, Stopwatch};
use workers::{Limits, Waited, Workers};

/// Nanoseconds below which a batch is made when it is asked for: handing it from thread to thread would cost as much.
const CHEAP_NS: u64 = 20_000;

/// A cheap batch that took longer was not in memory: its record batches had to be read, and checked.
const QUICK: Duration = Duration::from_millis(1);

/// Loads the samples of a pack in batches, epoch after epoch.
///
/// The order is the same for any number of threads. It does not pause between epochs: batches of the next one are made
/// ahead as well. In a child of a fork it goes on where the parent was, with threads of its own.
pub struct Loader {
    recipe: Arc<Recipe>,
    options: LoaderOptions,
    layouts: Vec<ColumnLayout>,
    pool: Arc<Pool>,
    limits: Limits,
    cheap: bool,
    /// Whether the last batch came out of memory, as far as was looked.
    quick: bool,
    position: Ticket,
    /// Whether the end of the epoch is due: its last batch was handed out, but not yet the news.
    at_end: bool,
    engine: Engine,
    /// For how long the next batch has been waited for.
    waited: Stopwatch,
}

enum Engine {
    /// Batches are made when they are asked for.
    Inline(Box<Workspace>),
    /// Batches are made ahead; `None` until the first is asked for.
    Threads(Option<Workers>),
}

/// What [`Loader::poll`] found.
#[derive(Debug)]
#[non_exhaustive]
pub enum Poll {
    /// The next batch.
    Batch(LoadedBatch),
    /// The end of the epoch.
    End,
    /// The batch is not there yet.
    Waiting {
        /// For how long it has been waited for.
        busy: Duration,
        /// Whether that is longer than [`LoaderOptions::warn_after`].
        late: bool,
    },
}

impl Loader {
    /// Opens a pack and gets ready to load. No sample is read before the first batch is asked for, but for the first of
    /// columns that may be images or texts.
    pub fn open(path: impl AsRef<Path>, options: LoaderOptions) -> Result<Self, LoaderError> {
        Self::over(Pack::open(path)?, options)
    }

    /// Loads from a pack that is open already; several loaders may share it.
    pub fn over(pack: impl Into<Arc<Pack>>, options: LoaderOptions) -> Result<Self, LoaderError> {
        let pack = pack.into();
        options.check(pack.rows())?;
        let columns = plans(&pack, &options)?;
        let layouts = layouts(&columns, &pack);
        let (mut cost, mut sample_bytes) = (Some(0), 0);
        let vary = columns.iter().any(|column| matches!(column.way, Way::Padded { .. }));
        for column in &columns {
            let (nanoseconds, bytes) = column.way.cost();
            cost = cost.and_then(|sum: u64| sum.checked_add(nanoseconds?));
            sample_bytes += bytes;
        }
        let rows = options.batch_size as u64;
        let cheap = pack.is_mapped() && cost.is_some_and(|cost| cost.saturating_mul(rows) < CHEAP_NS);
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.unwrap_or_else(|| if cheap { 0 } else { processors() });
        let bytes = options.prefetch_bytes;
        let limits = Limits { threads, bytes, batch_bytes: sample_bytes.saturating_mul(rows), vary };
        let recipe = Arc::new(Recipe::new(pack, columns, &options));
        Ok(Self::of(recipe, options, layouts, limits, cheap))
    }

    /// Another loader of the same open pack with the same options, at its first batch: the same samples also when
    /// another pack has taken the name.
    #[must_use]
    pub fn another(&self) -> Self {
        let (recipe, options) = (Arc::clone(&self.recipe), self.options.clone());
        Self::of(recipe, options, self.layouts.clone(), self.limits, self.cheap)
    }

    fn of(
        recipe: Arc<Recipe>,
        options: LoaderOptions,
        layouts: Vec<ColumnLayout>,
        limits: Limits,
        cheap: bool,
    ) -> Self {
        let engine = match limits.threads {
            0 => Engine::Inline(Box::default()),
            _ => Engine::Threads(None),
        };
        let position = Ticket { seed: options.seed, epoch: 0, batch: 0 };
        let pool = new_pool(&layouts, limits);
        let (quick, at_end, waited) = (!recipe.is_unseen(), false, Stopwatch::default());
        Self { recipe, options, layouts, pool, limits, cheap, quick, position, at_end, engine, waited }
    }

    /// Batches of this rank in an epoch.
    pub fn batches(&self) -> u64 {
        self.recipe.shard.batches()
    }

    /// Samples of the epoch, of all ranks together.
    pub fn samples(&self) -> u64 {
        self.recipe.shard.length
    }

    /// What the arrays of a batch are.
    pub fn columns(&self) -> &[ColumnLayout] {
        &self.layouts
    }

    /// How it was asked to load.
    pub const fn options(&self) -> &LoaderOptions {
        &self.options
    }

    /// The pack it loads from.
    pub fn pack(&self) -> &Pack {
        &self.recipe.pack
    }

    /// Whether the next batch is likely made in a few microseconds when it is asked for, so that no other thread gains by
    /// it: not while batches have to be read from the disk, and checked, for the first time.
    pub const fn is_cheap(&self) -> bool {
        self.cheap && self.quick
    }

    /// Threads that make batches ahead; none if batches are made when they are asked for.
    pub const fn threads(&self) -> usize {
        self.limits.threads
    }

    /// The next batch; `None` ends the epoch, and the call after it begins the next one.
    #[expect(clippy::should_implement_trait, reason = "one loader has many ends, an iterator one")]
    pub fn next(&mut self) -> Result<Option<LoadedBatch>, LoaderError> {
        loop {
            match self.poll(self.options.fail_after)? {
                Poll::Batch(batch) => return Ok(Some(batch)),
                Poll::End => return Ok(None),
                Poll::Waiting { .. } => {}
            }
        }
    }

    /// The next batch if it is there within `patience`, so that a caller can look after other things while it waits.
    pub fn poll(&mut self, patience: Duration) -> Result<Poll, LoaderError> {
        if self.at_end || self.batches() == 0 {
            self.at_end = false;
            return Ok(Poll::End);
        }
        let batch = match &mut self.engine {
            Engine::Inline(workspace) => {
                let began = self.recipe.is_unseen().then(Instant::now);
                let made = self.recipe.make(self.position, &self.pool, workspace);
                self.quick = began.is_none_or(|began| began.elapsed() < QUICK);
                made?
            }
            Engine::Threads(_) => match self.wait(patience)? {
                Some(made) => made.inspect_err(|_| {
                    // The same batch again, should somebody ask.
                    self.jump();
                })?,
                None => return Ok(self.waiting()),
            },
        };
        let next = self.recipe.after(self.position);
        self.at_end = next.batch == 0;
        self.position = next;
        Ok(Poll::Batch(batch))
    }

    /// What the threads have made of the next batch, if it is there within `patience`.
    fn wait(&mut self, patience: Duration) -> Result<Option<Result<LoadedBatch, LoaderError>>, LoaderError> {
        let mut now = Instant::now();
        let deadline = now.checked_add(patience);
        loop {
            let busy = self.waited.look(now);
            if busy >= self.options.fail_after {
                return Err(self.give_up(busy));
            }
            let left = deadline.map_or(LOOK, |end| end.saturating_duration_since(now));
            let left = left.min(LOOK).min(self.options.fail_after);
            if let Waited::Batch(made) = self.workers()?.wait(left) {
                self.waited = Stopwatch::default();
                return Ok(Some(made));
            }
            now = Instant::now();
            if deadline.is_some_and(|end| end <= now) {
                return Ok(None);
            }
        }
    }

    fn waiting(&mut self) -> Poll {
        let busy = self.waited.look(Instant::now());
        Poll::Waiting { busy, late: busy >= self.options.warn_after }
    }

    fn give_up(&mut self, waited: Duration) -> LoaderError {
        let (Ticket { epoch, batch, .. }, path) = (self.position, self.recipe.pack.path().to_owned());
        // The threads may hang for ever; should somebody ask again, others try.
        self.engine = Engine::Threads(None);
        self.waited = Stopwatch::default();
        LoaderError::Stuck { path, epoch, batch, waited }
    }

    fn workers(&mut self) -> Result<&Workers, LoaderError> {
        let Engine::Threads(workers) = &mut self.engine else {
            return Err(LoaderError::options("this loader has no threads"));
        };
        if workers.as_ref().is_some_and(|workers| !workers.is_of_this_process()) {
            if let Some(others) = workers.take() {
                others.abandon();
            }
            self.pool = new_pool(&self.layouts, self.limits);
        }
        match workers {
            Some(workers) => Ok(workers),
            none => Ok(none.insert(Workers::start(&self.recipe, &self.pool, self.limits, self.position)?)),
        }
    }

    /// Tells the threads that another batch is next than they assume.
    fn jump(&self) {
        if let Engine::Threads(Some(workers)) = &self.engine
            && workers.is_of_this_process()
        {
            workers.jump(self.position);
        }
    }

    fn go_to(&mut self, position: Ticket) {
        self.at_end = false;
        if position != self.position {
            self.position = position;
            self.waited = Stopwatch::default();
            self.jump();
        }
    }

    /// Goes to the beginning of an epoch. Where that is the next batch anyway, what was made ahead is kept.
    pub fn set_epoch(&mut self, epoch: u64) {
        self.go_to(Ticket { epoch, batch: 0, ..self.position });
    }

    /// Where it is: of which epoch which batch is next.
    pub fn state(&self) -> LoaderState {
        let mut position = self.position;
        if self.at_end {
            // The end of an epoch belongs to it.
            position.epoch = position.epoch.wrapping_sub(1);
            position.batch = self.batches();
        }
        LoaderState {
            seed: position.seed,
            epoch: position.epoch,
            batch: position.batch,
            samples: self.samples(),
            batch_size: self.options.batch_size as u64,
            world: self.options.world,
            drop_last: self.options.drop_last,
            shuffle: self.options.shuffle,
        }
    }

    /// Goes to where another loader of the same pack was, in no time.
    pub fn restore(&mut self, state: &LoaderState) -> Result<(), LoaderError> {
        state.check(&self.state(), self.batches())?;
        self.go_to_batch(Ticket { seed: state.seed, epoch: state.epoch, batch: state.batch });
        Ok(())
    }

    /// Goes to a batch of an epoch; after its last batch, to its end. What was made ahead is kept where it fits.
    pub fn seek(&mut self, epoch: u64, batch: u64) {
        self.go_to_batch(Ticket { epoch, batch, ..self.position });
    }

    fn go_to_batch(&mut self, position: Ticket) {
        let at_end = position.batch >= self.batches() && position.batch > 0;
        let next = Ticket { epoch: position.epoch.wrapping_add(1), batch: 0, ..position };
        self.go_to(if at_end { next } else { position });
        self.at_end = at_end;
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Loader").field("options", &self.options).field("position", &self.position).finish()
    }
}

/// Room for the arrays of all batches that can be on their way, and of two that are in use.
fn new_pool(layouts: &[ColumnLayout], limits: Limits) -> Arc<Pool> {
    let bytes = limits.bytes.saturating_add(limits.batch_bytes.saturating_mul(2));
    Pool::new(layouts.len() * (4 * limits.threads + 4), bytes)
}

#[cfg(test)]
mod epochs;
