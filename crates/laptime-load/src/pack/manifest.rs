//! The manifest of a pack: all that a reader needs to know, and a checksum for every byte.
//!
//! Readers know the place of every buffer from here and never look into Arrow's own descriptions, so only this
//! file has to be distrusted. It begins with its format and a checksum of the rest.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::arrow::ALIGNMENT;
use super::element::Element;
use super::error::PackError;
use super::options::MOST_ROWS;
use super::provenance::Provenance;
use super::schema::{Column, ColumnKind, PackSchema};

/// The name within the folder. The underscore keeps `pyarrow.dataset` from taking it for data.
pub(super) const MANIFEST: &str = "_manifest.json";

const HEAD: &str = "{\"format\":\"laptime.pack/1\",\"checksum\":\"crc32c:";
const HEAD_END: &str = "\",";

/// Bytes of a file: offset, length, and the checksum of them with their padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Region(pub(super) u64, pub(super) u64, pub(super) u32);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchEntry {
    pub(super) rows: u64,
    /// The buffers with data in the order of the columns: of a fixed column one, of others offsets and values.
    pub(super) buffers: Vec<Region>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartEntry {
    pub(super) file: String,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    /// What lies between the buffers: before each record batch, and at the end of the file.
    pub(super) descriptions: Vec<Region>,
    pub(super) batches: Vec<BatchEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnEntry {
    name: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    element: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feature_names: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    rows: u64,
    batch_rows: u64,
    columns: Vec<ColumnEntry>,
    provenance: Provenance,
    parts: Vec<PartEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) rows: u64,
    /// Rows of every record batch but the last of the pack.
    pub(super) batch_rows: u64,
    pub(super) schema: PackSchema,
    pub(super) provenance: Provenance,
    pub(super) parts: Vec<PartEntry>,
}

/// The name of a part's file.
pub(super) fn part_name(part: usize) -> String {
    format!("part-{part:05}.arrow")
}

/// Bytes of a buffer with its padding.
pub(super) const fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

impl ColumnEntry {
    fn of(column: &Column) -> Self {
        let (kind, element, shape) = match &column.kind {
            ColumnKind::Fixed { element, shape } => ("fixed", Some(element.name()), Some(shape.clone())),
            ColumnKind::Bytes => ("bytes", None, None),
            ColumnKind::Ragged { element } => ("ragged", Some(element.name()), None),
        };
        Self {
            name: column.name.clone(),
            kind: kind.to_owned(),
            element: element.map(str::to_owned),
            shape,
            feature_names: column.feature_names.clone(),
        }
    }

    fn column(self) -> Result<Column, String> {
        let element = |name: Option<String>| {
            let name = name.unwrap_or_default();
            Element::named(&name).ok_or_else(|| format!("unknown element `{name}`"))
        };
        let kind = match (self.kind.as_str(), self.shape) {
            ("fixed", Some(shape)) => ColumnKind::Fixed { element: element(self.element)?, shape },
            ("bytes", None) if self.element.is_none() => ColumnKind::Bytes,
            ("ragged", None) => ColumnKind::Ragged { element: element(self.element)? },
            (kind, _) => return Err(format!("unknown kind of column `{kind}`")),
        };
        Ok(Column { name: self.name, kind, feature_names: self.feature_names })
    }
}

impl Manifest {
    /// The text of the file.
    pub(super) fn text(&self) -> Result<String, serde_json::Error> {
        let document = Document {
            rows: self.rows,
            batch_rows: self.batch_rows,
            columns: self.schema.columns.iter().map(ColumnEntry::of).collect(),
            provenance: self.provenance.clone(),
            parts: self.parts.clone(),
        };
        let document = serde_json::to_string(&document)?;
        let rest = format!("{}\n", document.get(1..).unwrap_or_default());
        let checksum = crc32c::crc32c(rest.as_bytes());
        Ok(format!("{HEAD}{checksum:08x}{HEAD_END}{rest}"))
    }

    /// Reads the text of a file and checks that all of it fits together.
    pub(super) fn parse(text: &[u8], path: &Path) -> Result<Self, PackError> {
        let bad = |problem: String| PackError::BadManifest { path: path.to_owned(), problem };
        let document = checked_rest(text)
            .and_then(|rest| {
                let whole = [b"{".as_slice(), rest].concat();
                serde_json::from_slice::<Document>(&whole).map_err(|error| error.to_string())
            })
            .map_err(bad)?;
        let columns: Result<_, _> = document.columns.into_iter().map(ColumnEntry::column).collect();
        let manifest = Self {
            rows: document.rows,
            batch_rows: document.batch_rows,
            schema: PackSchema { columns: columns.map_err(bad)? },
            provenance: document.provenance,
            parts: document.parts,
        };
        manifest.schema.check().map_err(|error| bad(error.to_string()))?;
        manifest.check_parts().map_err(bad)?;
        Ok(manifest)
    }

    fn check_parts(&self) -> Result<(), String> {
        if self.batch_rows == 0 {
            return Err("record batches without rows".to_owned());
        }
        if self.batch_rows > MOST_ROWS {
            return Err("record batches of too many rows".to_owned());
        }
        let mut rows = 0_u64;
        for (number, part) in self.parts.iter().enumerate() {
            if part.file != part_name(number) {
                return Err(format!("part {number} has the wrong name"));
            }
            let wrong = |problem: &str| format!("{}: {problem}", part.file);
            let first = rows;
            for batch in &part.batches {
                // Only the very last may be shorter.
                if !rows.is_multiple_of(self.batch_rows) || batch.rows == 0 || batch.rows > self.batch_rows {
                    return Err(wrong("a record batch has the wrong number of rows"));
                }
                rows = rows.checked_add(batch.rows).ok_or_else(|| wrong("too many rows"))?;
            }
            if part.rows != rows - first || part.batches.is_empty() {
                return Err(wrong("the rows of its record batches are not its rows"));
            }
            check_layout(part, &self.schema).map_err(wrong)?;
        }
        if rows != self.rows {
            return Err("the rows of the parts are not the rows of the pack".to_owned());
        }
        Ok(())
    }
}

/// The text after the head, if its checksum is that in the head.
fn checked_rest(text: &[u8]) -> Result<&[u8], String> {
    let rest = text.strip_prefix(HEAD.as_bytes()).ok_or("it does not begin as a manifest of version 1")?;
    let (checksum, rest) = rest.split_at_checked(8).ok_or("it is cut off")?;
    let rest =
        rest.strip_prefix(HEAD_END.as_bytes()).ok_or("it does not begin as a manifest of version 1")?;
    if format!("{:08x}", crc32c::crc32c(rest)).as_bytes() != checksum {
        return Err("its checksum does not fit".to_owned());
    }
    Ok(rest)
}

/// Whether descriptions and buffers lie one behind the other and fill the file, each buffer as long as it must.
fn check_layout(part: &PartEntry, schema: &PackSchema) -> Result<(), &'static str> {
    if part.descriptions.len() != part.batches.len() + 1 {
        return Err("a description is missing");
    }
    // No file is longer, and sums of lengths cannot overflow.
    if i64::try_from(part.bytes).is_err() {
        return Err("it is impossibly long");
    }
    let mut at = 0_u64;
    let mut pass = |region: &Region, bytes: u64| -> Result<(), &'static str> {
        let end = (region.0 == at).then(|| at.checked_add(bytes)).flatten();
        at = end.filter(|end| *end <= part.bytes).ok_or("its regions do not lie one behind the other")?;
        Ok::<(), &str>(())
    };
    let mut descriptions = part.descriptions.iter();
    for batch in &part.batches {
        let description = descriptions.next().ok_or("a description is missing")?;
        pass(description, description.1)?;
        check_buffers(batch, schema)?;
        for buffer in &batch.buffers {
            if !buffer.0.is_multiple_of(ALIGNMENT) || buffer.1 > part.bytes {
                return Err("a buffer is not aligned or too long");
            }
            pass(buffer, padded(buffer.1))?;
        }
    }
    if let Some(last) = descriptions.next() {
        pass(last, last.1)?;
    }
    if at == part.bytes { Ok(()) } else { Err("its regions do not fill it") }
}

fn check_buffers(batch: &BatchEntry, schema: &PackSchema) -> Result<(), &'static str> {
    const WRONG: &str = "a buffer has the wrong length";
    let mut buffers = batch.buffers.iter();
    let mut next = || buffers.next().map(|region| region.1).ok_or("a buffer is missing");
    for column in &schema.columns {
        if let Some(row) = column.kind.row_bytes() {
            if (row as u64).checked_mul(batch.rows) != Some(next()?) {
                return Err(WRONG);
            }
        } else {
            let offsets = batch.rows.checked_add(1).and_then(|rows| rows.checked_mul(8));
            let (found, values) = (next()?, next()?);
            if offsets != Some(found) || !values.is_multiple_of(column.kind.element().bytes() as u64) {
                return Err(WRONG);
            }
        }
    }
    if buffers.next().is_some() { Err("it has too many buffers") } else { Ok(()) }
}
