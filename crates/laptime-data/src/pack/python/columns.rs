//! The columns of a source as Python is told of them.

use laptime_load::pack::{Column, ColumnKind, Element, PackSchema};
use serde::{Deserialize, Serialize};

use crate::pack::error::SourceError;

/// A column as it is described to Python and by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireColumn {
    name: String,
    /// `fixed`, `bytes` or `ragged`.
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    element: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

pub(super) fn wire_columns(schema: &PackSchema) -> Vec<WireColumn> {
    let describe = |column: &Column| {
        let (kind, shape) = match &column.kind {
            ColumnKind::Fixed { shape, .. } => ("fixed", Some(shape.clone())),
            ColumnKind::Bytes => ("bytes", None),
            ColumnKind::Ragged { .. } => ("ragged", None),
        };
        let element = (kind != "bytes").then(|| column.kind.element().name().to_owned());
        WireColumn { name: column.name.clone(), kind: kind.to_owned(), element, shape, names: Vec::new() }
    };
    schema.columns.iter().map(describe).collect()
}

pub(super) fn schema_of(columns: &[WireColumn]) -> Result<PackSchema, SourceError> {
    let columns: Option<Vec<Column>> = columns.iter().map(column_of).collect();
    let columns = columns.ok_or_else(|| {
        SourceError::unfit(
            "Python described columns that no pack has",
            "report it with the command you typed",
        )
    })?;
    Ok(PackSchema { columns })
}

fn column_of(wire: &WireColumn) -> Option<Column> {
    let element = || wire.element.as_deref().and_then(Element::named);
    let kind = match wire.kind.as_str() {
        "fixed" => ColumnKind::Fixed { element: element()?, shape: wire.shape.clone()? },
        "ragged" => ColumnKind::Ragged { element: element()? },
        "bytes" => ColumnKind::Bytes,
        _ => return None,
    };
    let mut column = Column::new(wire.name.clone(), kind);
    column.feature_names.clone_from(&wire.names);
    Some(column)
}
