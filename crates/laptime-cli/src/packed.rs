//! What was packed, as programs read it.

use laptime_load::pack::{Column, ColumnKind};
use serde::Serialize;

/// `laptime.pack/1`.
#[derive(Debug, Serialize)]
pub(crate) struct PackedDocument {
    pub(crate) schema: &'static str,
    pub(crate) pack: String,
    pub(crate) source: String,
    pub(crate) format: String,
    pub(crate) rows: u64,
    /// Rows that an earlier, interrupted command had written.
    pub(crate) resumed_rows: u64,
    pub(crate) columns: Vec<PackedColumn>,
    pub(crate) bytes: u64,
    pub(crate) parts: usize,
    pub(crate) source_bytes: u64,
    pub(crate) seconds: f64,
    pub(crate) remarks: Vec<String>,
}

impl PackedDocument {
    pub(crate) const SCHEMA: &'static str = "laptime.pack/1";
}

/// A column of a pack.
#[derive(Debug, Serialize)]
pub(crate) struct PackedColumn {
    pub(crate) name: String,
    /// `fixed`, `bytes` or `ragged`.
    pub(crate) kind: &'static str,
    pub(crate) dtype: &'static str,
    /// Shape of a sample, where all have the same.
    pub(crate) shape: Option<Vec<usize>>,
    pub(crate) feature_names: Vec<String>,
}

impl PackedColumn {
    pub(crate) fn of(column: &Column) -> Self {
        let (kind, shape) = match &column.kind {
            ColumnKind::Fixed { shape, .. } => ("fixed", Some(shape.clone())),
            ColumnKind::Bytes => ("bytes", None),
            ColumnKind::Ragged { .. } => ("ragged", None),
        };
        let dtype = column.kind.element().name();
        Self { name: column.name.clone(), kind, dtype, shape, feature_names: column.feature_names.clone() }
    }
}

/// What `--verify` found.
#[derive(Debug, Serialize)]
pub(crate) struct VerifiedDocument {
    pub(crate) schema: &'static str,
    pub(crate) pack: String,
    pub(crate) intact: bool,
    pub(crate) damage: Option<String>,
    pub(crate) rows: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) seconds: f64,
}
