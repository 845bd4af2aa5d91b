//! Threads that make batches ahead, in order, as long as they take no more memory than was allowed.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::batch::LoadedBatch;
use super::error::LoaderError;
use super::memory::Pool;
use super::recipe::{Recipe, Ticket, Workspace};

/// How long dropping waits for threads. A thread that reads from a disk that does not answer is left behind; it ends
/// by itself when the read does.
const FAREWELL: Duration = Duration::from_secs(2);

/// Threads that make batches ahead.
#[derive(Debug)]
pub(super) struct Workers {
    shared: Arc<Shared>,
    /// A child of a fork has none of the threads.
    process: u32,
}

#[derive(Debug)]
struct Shared {
    recipe: Arc<Recipe>,
    pool: Arc<Pool>,
    limits: Limits,
    queue: Mutex<Queue>,
    /// Something to do, or the end.
    work: Condvar,
    /// A batch is done, or a thread has ended.
    done: Condvar,
}

/// What may be made ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads: usize,
    pub(super) bytes: u64,
    /// Bytes of a batch as far as they are known beforehand.
    pub(super) batch_bytes: u64,
    /// Whether batches differ in length, so that one must be made before it is known how many there is room for.
    pub(super) vary: bool,
}

#[derive(Debug)]
struct Queue {
    /// The batches that are made or being made; the first is the one that is handed out next.
    slots: VecDeque<Slot>,
    /// The number of the first slot; numbers are never used twice.
    first: u64,
    next: Ticket,
    largest_bytes: u64,
    alive: usize,
    ending: bool,
}

#[derive(Debug)]
enum Slot {
    Working,
    Done(Result<LoadedBatch, LoaderError>),
}

/// What waiting for a batch came to.
pub(super) enum Waited {
    Batch(Result<LoadedBatch, LoaderError>),
    /// Not yet.
    Busy,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing panics while it has the lock, and if so the queue is still a queue.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Most batches that may be there, made or being made.
    fn room(&self, queue: &Queue) -> usize {
        if self.limits.vary && queue.largest_bytes == 0 {
            return 1;
        }
        let bytes = queue.largest_bytes.max(self.limits.batch_bytes).max(1);
        usize::try_from(self.limits.bytes / bytes).unwrap_or(usize::MAX).clamp(1, 4 * self.limits.threads)
    }

    fn work(&self) {
        let mut workspace = Workspace::ahead();
        let mut queue = self.queue();
        loop {
            while !queue.ending && queue.slots.len() >= self.room(&queue) {
                queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.ending {
                break;
            }
            let (ticket, number) = (queue.next, queue.first + queue.slots.len() as u64);
            queue.next = self.recipe.after(ticket);
            queue.slots.push_back(Slot::Working);
            drop(queue);
            let made = self.make(ticket, &mut workspace);
            queue = self.queue();
            let was_unmeasured = queue.largest_bytes == 0;
            queue.put(number, made);
            self.done.notify_one();
            if was_unmeasured {
                // Now it is known how many there is room for.
                self.work.notify_all();
            }
        }
        queue.alive -= 1;
        drop(queue);
        self.done.notify_one();
    }

    fn make(&self, ticket: Ticket, workspace: &mut Workspace) -> Result<LoadedBatch, LoaderError> {
        let making = AssertUnwindSafe(|| self.recipe.make(ticket, &self.pool, workspace));
        catch_unwind(making).unwrap_or_else(|panic| {
            // What it was doing is half done.
            *workspace = Workspace::ahead();
            let Ticket { epoch, batch, .. } = ticket;
            Err(LoaderError::Panicked { epoch, batch, message: message(&*panic) })
        })
    }
}

impl Queue {
    fn put(&mut self, number: u64, made: Result<LoadedBatch, LoaderError>) {
        if let Ok(batch) = &made {
            let bytes = batch.arrays.iter().map(|array| array.bytes() as u64).sum();
            self.largest_bytes = self.largest_bytes.max(bytes);
        }
        // A batch from before a jump to another place is wanted no more.
        let slot = number.checked_sub(self.first).and_then(|place| self.slots.get_mut(place as usize));
        if let Some(slot) = slot {
            *slot = Slot::Done(made);
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("for an unknown reason").to_owned()
}

impl Workers {
    pub(super) fn start(
        recipe: &Arc<Recipe>,
        pool: &Arc<Pool>,
        limits: Limits,
        next: Ticket,
    ) -> Result<Self, LoaderError> {
        let limits = Limits { threads: limits.threads.max(1), ..limits };
        let slots = VecDeque::new();
        let queue = Queue { slots, first: 0, next, largest_bytes: 0, alive: 0, ending: false };
        let shared = Arc::new(Shared {
            recipe: Arc::clone(recipe),
            pool: Arc::clone(pool),
            limits,
            queue: Mutex::new(queue),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        let workers = Self { shared, process: std::process::id() };
        for number in 0..limits.threads {
            let shared = Arc::clone(&workers.shared);
            workers.shared.queue().alive += 1;
            let started = Builder::new().name(format!("laptime-load-{number}")).spawn(move || shared.work());
            if let Err(source) = started {
                workers.shared.queue().alive -= 1;
                if number == 0 {
                    return Err(LoaderError::NoThread { source });
                }
                // Fewer threads are slower, but give the same batches.
                break;
            }
        }
        Ok(workers)
    }

    #[cfg(test)]
    pub(super) fn made_ahead(&self) -> usize {
        self.shared.queue().slots.len()
    }

    pub(super) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Forgets what was made ahead and goes on from another batch.
    pub(super) fn jump(&self, to: Ticket) {
        let mut queue = self.shared.queue();
        queue.first += queue.slots.len() as u64;
        // Batches are dropped only after the lock is released.
        let old = std::mem::take(&mut queue.slots);
        queue.next = to;
        drop(queue);
        drop(old);
        self.shared.work.notify_all();
    }

    /// The next batch, if it is there within this time.
    pub(super) fn wait(&self, patience: Duration) -> Waited {
        let deadline = Instant::now().checked_add(patience);
        let mut queue = self.shared.queue();
        loop {
            if let Some(Slot::Done(_)) = queue.slots.front() {
                let slot = queue.slots.pop_front();
                queue.first += 1;
                drop(queue);
                self.shared.work.notify_one();
                return match slot {
                    Some(Slot::Done(made)) => Waited::Batch(made),
                    _ => Waited::Busy,
                };
            }
            let left = deadline.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Waited::Busy;
            }
            let left = left.min(Duration::from_secs(3600));
            let waited = self.shared.done.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets go of threads that are in another process: nothing of theirs may be touched, not even a lock.
    pub(super) fn abandon(self) {
        std::mem::forget(self);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if !self.is_of_this_process() {
            // The lock may be held for ever by a thread that is not here; the memory is leaked, once in a child's life.
            std::mem::forget(Arc::clone(&self.shared));
            return;
        }
        let end = Instant::now() + FAREWELL;
        let mut queue = self.shared.queue();
        queue.ending = true;
        self.shared.work.notify_all();
        while queue.alive > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.done.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
