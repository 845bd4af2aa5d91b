//! Packs: samples on disk as training reads them.
//!
//! A pack is a folder: `_manifest.json`, and parts that are plain Arrow IPC files which pandas, polars and
//! pyarrow open as they are. A sample of a fixed shape lies in one piece, so that it is gathered with one copy.
//!
//! ```
//! use laptime_load::pack::{Column, ColumnData, ColumnKind, Element, Pack, PackOptions, PackSchema};
//! use laptime_load::pack::{PackWriter, Provenance, RowBlock};
//!
//! # let folder = tempfile::tempdir()?;
//! # let target = folder.path().join("numbers.pack");
//! let x = Column::new("x", ColumnKind::Fixed { element: Element::U8, shape: vec![2] });
//! let schema = PackSchema { columns: vec![x] };
//! let mut writer = PackWriter::create(&target, schema, Provenance::default(), PackOptions::default())?;
//! writer.write(&RowBlock { rows: 2, columns: vec![ColumnData::Fixed(vec![1, 2, 3, 4])] })?;
//! writer.finish()?;
//! assert_eq!(Pack::open(&target)?.rows(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrow;
mod block;
mod element;
mod error;
mod flatbuffer;
mod manifest;
mod open_pack;
mod options;
mod part_file;
mod part_writer;
mod provenance;
mod schema;
mod writer;

pub use block::{ColumnData, RowBlock};
pub use element::Element;
pub use error::PackError;
pub use open_pack::Pack;
pub(crate) use open_pack::Place;
pub use options::PackOptions;
pub use provenance::Provenance;
pub use schema::{Column, ColumnKind, PackSchema};
pub use writer::{PackSummary, PackWriter};

#[cfg(test)]
mod damaged_packs;
