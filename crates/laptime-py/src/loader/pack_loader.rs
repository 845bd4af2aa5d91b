//! An open pack, and the passes over it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use laptime_load::loader::LoaderOptions;
use laptime_load::pack::Pack;
use pyo3::prelude::*;

use super::batches::PackBatches;
use super::engine::{Engine, lock, open_pack};
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
}

/// Of an array of a batch: its name, the type of its numbers, and the shape of one sample, where it has one of its own.
type Layout = (String, &'static str, Vec<Option<usize>>);

/// What an engine is opened with. The pack is opened once: when another takes its name, every pass, also in the child
/// of a fork, goes on with the old one.
pub(super) struct Source {
    pack: Arc<Pack>,
    options: LoaderOptions,
}

impl Source {
    pub(super) fn open(&self, py: Python<'_>) -> PyResult<Arc<Engine>> {
        Engine::open(py, &self.pack, &self.options)
    }
}

/// What a pass gives next: the batch of this number, of this epoch.
#[derive(Default)]
pub(super) struct Position {
    epoch: AtomicU64,
    batch: AtomicU64,
}

impl Position {
    fn new((epoch, batch): (u64, u64)) -> Self {
        Self { epoch: AtomicU64::new(epoch), batch: AtomicU64::new(batch) }
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
        let options = options.engine()?;
        let source = Arc::new(Source { pack: open_pack(py, path)?, options });
        let engine = source.open(py)?;
        let (rows, batches, columns) = engine.look(|loader| {
            let columns = loader.columns().iter();
            let columns = columns.map(|it| (it.name.clone(), it.element.name(), it.shape.clone()));
            (loader.samples(), loader.batches(), columns.collect())
        });
        let (engine, position) = (Mutex::new(engine), Mutex::default());
        Ok(Self { source, output, engine, position, rows, batches, columns })
    }

    /// Begins a pass with a batch of an epoch.
    fn begin(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<PackBatches> {
        let engine = self.idle_engine(py)?;
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
    fn idle_engine(&self, py: Python<'_>) -> PyResult<Arc<Engine>> {
        let engine = lock(&self.engine).clone();
        // One reference is ours here, one is kept.
        if !engine.is_foreign() && Arc::strong_count(&engine) <= 2 {
            return Ok(engine);
        }
        let opened = self.source.open(py)?;
        *lock(&self.engine) = opened.clone();
        if engine.is_foreign() {
            // Its threads cannot be ended here: they are the parent's.
            std::mem::forget(engine);
        }
        Ok(opened)
    }
}
