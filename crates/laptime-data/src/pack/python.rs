//! Python in worker processes: datasets, functions over chunks, and tables that pyarrow reads.

mod columns;
mod mapped;
mod worker;

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use laptime_load::pack::{ColumnData, PackSchema, RowBlock};
use serde::{Deserialize, Serialize};

use super::error::SourceError;
use super::npy::block_range;
use super::source::{BlockReader, PackSource};

use columns::{WireColumn, schema_of, wire_columns};
use worker::{Worker, Workers};

pub(super) use mapped::MappedSource;

/// How Python is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonCommand {
    /// The interpreter; `None` when none was found.
    pub program: Option<OsString>,
}

/// What a worker is asked to do.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Task {
    task: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_element: Option<&'static str>,
    allow_nan: bool,
    /// Columns of the source that a function is applied to.
    #[serde(skip_serializing_if = "Option::is_none")]
    inner: Option<Vec<WireColumn>>,
    /// What the first worker found, for the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<WireColumn>>,
}

impl Task {
    pub(super) fn dataset(spec: &str) -> Self {
        Self { task: "dataset", spec: Some(spec.to_owned()), ..Self::default() }
    }

    pub(super) fn table(files: Vec<String>, table: &super::csv::TableOptions) -> Self {
        let target_element = match table.target_type {
            super::csv::TargetType::Float32 => "float32",
            super::csv::TargetType::Int64 => "int64",
        };
        Self {
            task: "table",
            files,
            target: table.target.clone(),
            target_element: Some(target_element),
            allow_nan: table.allow_nan,
            ..Self::default()
        }
    }

    fn map(spec: &str, inner: &PackSchema) -> Self {
        Self { task: "map", spec: Some(spec.to_owned()), inner: Some(wire_columns(inner)), ..Self::default() }
    }
}

/// What the first worker says of a dataset.
#[derive(Debug, Deserialize)]
struct Found {
    columns: Vec<WireColumn>,
    rows: Option<u64>,
    block_rows: Option<u64>,
    counts: Option<Vec<u64>>,
}

/// How rows are asked for.
#[derive(Debug)]
enum Cut {
    /// So many at a time.
    Equal(u64),
    /// As they are stored: row groups, record batches.
    Stored(Vec<u64>),
}

/// A Python dataset, or a table that Python reads.
pub(super) struct PythonSource {
    workers: Workers,
    task: Task,
    schema: PackSchema,
    rows: Option<u64>,
    cut: Cut,
    /// The worker that found this out, for the first thread.
    first: Mutex<Option<Worker>>,
}

impl PythonSource {
    pub(super) fn open(python: &PythonCommand, mut task: Task) -> Result<Self, SourceError> {
        let workers = Workers::new(python)?;
        let mut first = workers.start_on(&task)?;
        let (found, _): (Found, _) = first.receive()?;
        let schema = schema_of(&found.columns)?;
        let cut = match (found.counts, found.block_rows) {
            (Some(counts), _) => Cut::Stored(counts),
            (None, rows) => Cut::Equal(rows.unwrap_or(1).max(1)),
        };
        task.columns = Some(found.columns);
        Ok(Self { workers, task, schema, rows: found.rows, cut, first: Mutex::new(Some(first)) })
    }
}

impl PackSource for PythonSource {
    fn schema(&self) -> &PackSchema {
        &self.schema
    }

    fn blocks(&self) -> Option<usize> {
        match &self.cut {
            Cut::Equal(block_rows) => self.rows.map(|rows| rows.div_ceil(*block_rows) as usize),
            Cut::Stored(counts) => Some(counts.len()),
        }
    }

    fn rows(&self) -> Option<u64> {
        self.rows
    }

    fn rows_of(&self, block: usize) -> Option<u64> {
        match &self.cut {
            Cut::Equal(block_rows) => {
                block_range(self.rows?, *block_rows, block).map(|(_, rows)| rows as u64)
            }
            Cut::Stored(counts) => counts.get(block).copied(),
        }
    }

    fn reader(&self) -> Result<Box<dyn BlockReader + '_>, SourceError> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let worker = match first {
            Some(worker) => worker,
            None => self.workers.start(&self.task)?,
        };
        Ok(Box::new(PythonReader { source: self, worker }))
    }

    /// What is gone through once is gone through by one.
    fn most_threads(&self) -> usize {
        if self.rows.is_some() { usize::MAX } else { 1 }
    }

    fn cancel(&self) {
        self.workers.end();
    }
}

#[derive(Serialize)]
struct Request {
    start: u64,
    stop: u64,
    block: usize,
    bytes: usize,
}

#[derive(Deserialize)]
struct Answer {
    rows: usize,
}

struct PythonReader<'a> {
    source: &'a PythonSource,
    worker: Worker,
}

impl BlockReader for PythonReader<'_> {
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError> {
        let (start, stop) = match (&self.source.cut, self.source.rows) {
            (Cut::Equal(block_rows), Some(rows)) => match block_range(rows, *block_rows, block) {
                Some((start, count)) => (start, start + count as u64),
                None => return Ok(None),
            },
            (Cut::Equal(block_rows), None) => (block as u64 * block_rows, (block as u64 + 1) * block_rows),
            (Cut::Stored(counts), _) if block >= counts.len() => return Ok(None),
            (Cut::Stored(_), _) => (0, 0),
        };
        self.worker.send(&Request { start, stop, block, bytes: 0 }, &[])?;
        let (answer, bytes): (Answer, _) = self.worker.receive()?;
        let expected = self.source.rows_of(block);
        if answer.rows == 0 && expected.is_none_or(|rows| rows > 0) {
            return Ok(None);
        }
        split(&self.source.schema, answer.rows, &bytes).map(Some)
    }
}

/// Cuts what a worker sent into columns.
fn split(schema: &PackSchema, rows: usize, bytes: &[u8]) -> Result<RowBlock, SourceError> {
    let mut rest = bytes;
    let columns: Option<Vec<ColumnData>> = schema
        .columns
        .iter()
        .map(|column| match column.kind.row_bytes() {
            Some(row) => {
                take(&mut rest, row.checked_mul(rows)?).map(|taken| ColumnData::Fixed(taken.to_vec()))
            }
            None => {
                let ends: Vec<u64> = take(&mut rest, rows.checked_mul(8)?)?
                    .chunks_exact(8)
                    .map(|end| end.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
                    .collect();
                let last = usize::try_from(ends.last().copied().unwrap_or(0)).ok()?;
                let taken = take(&mut rest, last.checked_mul(column.kind.element().bytes())?)?;
                Some(ColumnData::Variable { ends, bytes: taken.to_vec() })
            }
        })
        .collect();
    let whole = columns.filter(|_| rest.is_empty());
    let columns = whole.ok_or_else(|| {
        SourceError::unfit(
            "a Python worker sent rows of another size than it announced",
            "pack again with --threads 1",
        )
    })?;
    Ok(RowBlock { rows, columns })
}

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(taken)
}
