//! An open pack, and the passes over it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use laptime_load::loader::Loader;
use laptime_load::pack::Pack;
use pyo3::prelude::*;

use super::batches::PackBatches;
use super::engine::{Engine, lock, open};
use super::options::Options;
use super::output::Output;

/// An open pack; `laptime.Loader` says what it is for.
#[pyclass(module = "laptime._native", frozen)]
pub(crate) struct PackLoader {
    source: Arc<Source>,
    output: Arc<Output>,
    /// The engine of the newest pass; one that is still under way keeps it for itself.
    engine: Mutex<Arc<Engine>>,
    position: Mutex<Arc<Position>>,
    rows: u64,
    batches: u64,
    columns: Vec<Layout>,
    pack: String,
}

/// Of an array of a batch: its name, the type of its numbers, and the shape of one sample, where it has one of its own.
type Layout = (String, &'static str, Vec<Option<usize>>);

/// What engines are made of: a loader that loads nothing itself. It has the pack open that every pass reads, whatever
/// takes the pack's name meanwhile; and no thread holds its lock while another one forks.
pub(super) struct Source(Mutex<Loader>);

impl Source {
    pub(super) fn engine(&self) -> Arc<Engine> {
        Engine::over(lock(&self.0).another())
    }
}

/// What a pass gives next: the batch of this number, of this epoch.
#[derive(Default)]
pub(super) struct Position {
    start: (u64, u64),
    epoch: AtomicU64,
    batch: AtomicU64,
}

impl Position {
    fn new(start: (u64, u64)) -> Self {
        Self { start, epoch: AtomicU64::new(start.0), batch: AtomicU64::new(start.1) }
    }

    // Of one thread at a time, which Python's own lock sees to.
    pub(super) fn get(&self) -> (u64, u64) {
        (self.epoch.load(Ordering::Relaxed), self.batch.load(Ordering::Relaxed))
    }

    pub(super) fn advance(&self) {
        self.batch.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        self.batch.store(0, Ordering::Relaxed);
    }
}

#[pymethods]
impl PackLoader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, options: Options<'_>) -> PyResult<Self> {
        let output = Arc::new(Output::named(py, &options.output)?);
        let loader = open(py, path, options.engine()?)?;
        let columns = loader.columns().iter();
        let columns = columns.map(|it| (it.name.clone(), it.element.name(), it.shape.clone())).collect();
        let (rows, batches, pack) = (loader.samples(), loader.batches(), described(loader.pack()));
        let source = Arc::new(Source(Mutex::new(loader)));
        let (engine, position) = (Mutex::new(source.engine()), Mutex::default());
        Ok(Self { source, output, engine, position, rows, batches, columns, pack })
    }

    /// Begins a pass with a batch of an epoch.
    fn begin(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<PackBatches> {
        let engine = self.idle_engine();
        engine.seek(py, epoch, batch)?;
        let position = Arc::new(Position::new((epoch, batch)));
        *lock(&self.position) = position.clone();
        Ok(PackBatches::new(self.source.clone(), engine, self.output.clone(), position))
    }

    /// What the newest pass gives next: an epoch, and the number of a batch.
    #[getter]
    fn position(&self) -> (u64, u64) {
        lock(&self.position).get()
    }

    /// Whether the newest pass is gone without having given a batch.
    #[getter]
    fn is_unused(&self) -> bool {
        let position = lock(&self.position);
        Arc::strong_count(&position) == 1 && position.get() == position.start
    }

    /// What the order of the rows depends on of the pack itself.
    #[getter]
    fn pack(&self) -> &str {
        &self.pack
    }

    /// Rows that every epoch visits, of all ranks together.
    #[getter]
    fn rows(&self) -> u64 {
        self.rows
    }

    /// Batches of an epoch, of this rank.
    #[getter]
    fn batches(&self) -> u64 {
        self.batches
    }

    /// Name, type and shape of the arrays of a batch, in their order.
    #[getter]
    fn columns(&self) -> Vec<Layout> {
        self.columns.clone()
    }
}

impl PackLoader {
    /// An engine that no pass has: the newest one, unless its pass goes on or it is on the other side of a fork.
    fn idle_engine(&self) -> Arc<Engine> {
        let engine = lock(&self.engine).clone();
        // One reference is ours here, one is kept.
        if !engine.is_foreign() && Arc::strong_count(&engine) <= 2 {
            return engine;
        }
        let opened = self.source.engine();
        *lock(&self.engine) = opened.clone();
        if engine.is_foreign() {
            // Its threads cannot be ended here: they are the parent's.
            std::mem::forget(engine);
        }
        opened
    }
}

/// A pack's samples and their layout in words, which stay the same when it is copied, moved or made again.
fn described(pack: &Pack) -> String {
    let (rows, batch_rows, bytes) = (pack.rows(), pack.batch_rows(), pack.bytes());
    format!("{rows} samples, {batch_rows} in a record batch, {bytes} bytes")
}
