//! What training reads inside the user's process: CSV and NPY files, held in memory or streamed, in batches.
//!
//! A file has its target in the last column. What fits [`Limits::in_memory_bytes`] is read whole, and with it
//! every bad cell is found before training starts; anything larger is streamed by a prefetch thread that holds
//! a few chunks at a time, however large the file is.
//!
//! ```
//! use laptime_load::{Dataset, Order, Table};
//!
//! let table = Table::new(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![0.0, 1.0, 0.0]);
//! let dataset = Dataset::from_table(table);
//! for batch in dataset.batches(2, Order::Shuffled { seed: 7, epoch: 0 }) {
//!     let batch = batch?;
//!     assert_eq!(batch.features.len(), batch.rows * batch.width);
//! }
//! # Ok::<(), laptime_load::LoadError>(())
//! ```

mod batch;
mod batches;
mod chunks;
mod csv_file;
mod csv_header;
mod csv_numbers;
mod csv_records;
mod data_file;
mod dataset;
mod dtype;
mod error;
pub mod image;
mod limits;
pub mod loader;
mod npy_file;
mod npy_header;
mod order;
pub mod pack;
mod pack_file;
mod pass;
mod prefetch;
mod record_scanner;
mod source;
mod table;

#[cfg(test)]
mod allocation;
#[cfg(test)]
mod damaged_files;
#[cfg(test)]
mod mutation;

pub use batch::Batch;
pub use batches::Batches;
pub use csv_header::is_header;
pub use csv_numbers::parse_cell;
pub use data_file::DataFile;
pub use dataset::Dataset;
pub use error::{LoadError, shown_text};
pub use limits::Limits;
pub use npy_header::{Dtype, NpyHeader, parse_header};
pub use order::Order;
pub use record_scanner::{Mark, RecordScanner};
pub use table::Table;
