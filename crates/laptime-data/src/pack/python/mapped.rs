//! A function over the chunks of another source.

use std::sync::{Mutex, PoisonError};

use laptime_load::pack::{ColumnData, PackSchema, RowBlock};
use serde::{Deserialize, Serialize};

use super::columns::{WireColumn, schema_of};
use super::worker::{Worker, Workers};
use super::{PythonCommand, Task, split};
use crate::pack::error::SourceError;
use crate::pack::source::{BlockReader, PackSource};

/// A source whose blocks go through a function of the user, each in a worker process.
pub(crate) struct MappedSource {
    inner: Box<dyn PackSource>,
    workers: Workers,
    task: Task,
    schema: PackSchema,
    /// The worker that was shown the first block, and what became of it.
    first: Mutex<Option<(Worker, RowBlock)>>,
}

#[derive(Serialize)]
struct Chunk {
    rows: usize,
    lengths: Vec<usize>,
    bytes: usize,
}

#[derive(Deserialize)]
struct Answer {
    rows: usize,
    columns: Vec<WireColumn>,
}

impl MappedSource {
    /// Applies `file.py:function` to the first block, which tells the columns.
    pub(crate) fn open(
        inner: Box<dyn PackSource>,
        spec: &str,
        python: &PythonCommand,
    ) -> Result<Self, SourceError> {
        let workers = Workers::new(python)?;
        let mut task = Task::map(spec, inner.schema());
        let mut worker = workers.start(&task)?;
        let block = first_block(&*inner)?.ok_or_else(|| {
            SourceError::unfit(
                "there are no rows to apply a function to",
                "check that whatever writes the file has finished",
            )
        })?;
        let (answer, bytes) = apply(&mut worker, &block).map_err(|error| in_chunk(error, 0, block.rows))?;
        let schema = schema_of(&answer.columns)?;
        let first = split(&schema, answer.rows, &bytes)?;
        task.columns = Some(answer.columns);
        Ok(Self { inner, workers, task, schema, first: Mutex::new(Some((worker, first))) })
    }
}

/// The first block, however it has to be cut.
fn first_block(inner: &dyn PackSource) -> Result<Option<RowBlock>, SourceError> {
    let read = || inner.reader()?.read(0);
    match read() {
        Err(SourceError::CutAgain) => {
            inner.cut_again(0)?;
            read()
        }
        read => read,
    }
}

/// Says which chunk a function failed on.
fn in_chunk(error: SourceError, chunk: usize, rows: usize) -> SourceError {
    match error {
        SourceError::Python { problem, traceback } => {
            SourceError::Python { problem: format!("chunk {chunk} of {rows} rows: {problem}"), traceback }
        }
        other => other,
    }
}

fn apply(worker: &mut Worker, block: &RowBlock) -> Result<(Answer, Vec<u8>), SourceError> {
    let mut lengths = Vec::new();
    let mut ends_of = Vec::new();
    for column in &block.columns {
        match column {
            ColumnData::Fixed(bytes) => {
                lengths.push(bytes.len());
                ends_of.push(Vec::new());
            }
            ColumnData::Variable { ends, bytes } => {
                lengths.push(bytes.len());
                ends_of.push(ends.iter().flat_map(|end| end.to_le_bytes()).collect());
            }
        }
    }
    let buffers: Vec<&[u8]> = block
        .columns
        .iter()
        .zip(&ends_of)
        .flat_map(|(column, ends)| match column {
            ColumnData::Fixed(bytes) | ColumnData::Variable { bytes, .. } => [ends.as_slice(), bytes],
        })
        .collect();
    let bytes = buffers.iter().map(|buffer| buffer.len()).sum();
    worker.send(&Chunk { rows: block.rows, lengths, bytes }, &buffers)?;
    worker.receive()
}

impl PackSource for MappedSource {
    fn schema(&self) -> &PackSchema {
        &self.schema
    }

    fn blocks(&self) -> Option<usize> {
        self.inner.blocks()
    }

    /// A function may leave rows out.
    fn rows(&self) -> Option<u64> {
        None
    }

    fn rows_of(&self, _block: usize) -> Option<u64> {
        None
    }

    fn reader(&self) -> Result<Box<dyn BlockReader + '_>, SourceError> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (worker, done) = match first {
            Some((worker, block)) => (worker, Some(block)),
            None => (self.workers.start(&self.task)?, None),
        };
        Ok(Box::new(MappedReader { inner: self.inner.reader()?, source: self, worker, done }))
    }

    fn most_threads(&self) -> usize {
        self.inner.most_threads()
    }

    /// The workers ended when the first attempt did; more are started when they are asked for.
    fn cut_again(&self, block: usize) -> Result<(), SourceError> {
        self.workers.open_again();
        self.inner.cut_again(block)
    }

    fn cancel(&self) {
        self.workers.end();
        self.inner.cancel();
    }

    fn remarks(&self) -> Vec<String> {
        self.inner.remarks()
    }
}

struct MappedReader<'a> {
    inner: Box<dyn BlockReader + 'a>,
    source: &'a MappedSource,
    worker: Worker,
    /// What became of the first block.
    done: Option<RowBlock>,
}

impl BlockReader for MappedReader<'_> {
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError> {
        if let Some(done) = self.done.take().filter(|_| block == 0) {
            return Ok(Some(done));
        }
        let Some(read) = self.inner.read(block)? else { return Ok(None) };
        let rows = read.rows;
        let (answer, bytes) = apply(&mut self.worker, &read).map_err(|error| in_chunk(error, block, rows))?;
        split(&self.source.schema, answer.rows, &bytes).map(Some)
    }
}
