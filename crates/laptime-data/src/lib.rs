//! Datasets for training, from CSV and NPY files: held in memory or streamed, and delivered in batches.
//! [`survey`] tells what any dataset on disk amounts to.
//!
//! A file has its target in the last column. What fits [`Limits::in_memory_bytes`] is read whole, and with it
//! every bad cell is found before training starts; anything larger is streamed by a prefetch thread that holds
//! a few chunks at a time, however large the file is.
//!
//! ```
//! use laptime_data::{Dataset, Order, Table};
//!
//! let table = Table::new(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![0.0, 1.0, 0.0]);
//! let dataset = Dataset::from_table(table);
//! for batch in dataset.batches(2, Order::Shuffled { seed: 7, epoch: 0 }) {
//!     let batch = batch?;
//!     assert_eq!(batch.features.len(), batch.rows * batch.width);
//! }
//! # Ok::<(), laptime_data::DataError>(())
//! ```

mod batch;
mod batches;
mod chunks;
mod csv_file;
mod csv_row;
mod data_file;
mod dataset;
mod dtype;
mod error;
mod limits;
mod npy_file;
mod npy_header;
mod order;
mod pass;
mod prefetch;
mod record_scanner;
mod source;
pub mod survey;
mod table;

#[cfg(test)]
mod allocation;
#[cfg(test)]
mod mutation;

pub use batch::Batch;
pub use batches::Batches;
pub use dataset::Dataset;
pub use error::DataError;
pub use limits::Limits;
pub use order::Order;
pub use table::Table;
